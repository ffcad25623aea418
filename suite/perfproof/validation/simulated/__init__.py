"""The decision path of `perfproof.analysis` under noise whose truth is known: a chapter a module, each a function of a seed and a number of
runs.

`noise` makes blocks, `simulated_runs` takes them through the looks, `other_tools` and `step_detectors` run the tools in use today. Nothing
here measures anything, and every promise is checked by its chapter.
"""
