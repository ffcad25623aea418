"""The decision path of `perfproof.analysis` under noise whose truth is known: a chapter a module, each a function of a seed and a number of
runs.

`noise` makes blocks, `simulated_runs` takes them through the looks, `other_tools` and `step_detectors` ask what people use today. Nothing
here measures anything, and no promise is made that its chapter does not check.
"""
