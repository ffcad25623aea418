"""The panels of the page, one module each: a pure function `render(page) -> Markup` that knows no other panel.

A new panel is a file here, a template in `assets/`, and its place in `html.PANELS`.
"""
