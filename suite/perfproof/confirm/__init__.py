"""Is a nightly's red real? Two builds and a workload, measured in turns on one host, to one of a few answers.

`workloads` makes a scenario of what people have at hand, `answer` tells what the verdict means for the numbers that were claimed,
`confirm_red` measures in between.
"""
