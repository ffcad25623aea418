"""One panel of the page a module, each a pure function `render(page) -> Markup` that knows nothing of the others.

A new panel is a file here, a template in `assets/`, and its place in `html.PANELS`.
"""
