"""Past one machine: the blocks of a plan as jobs of any queue, and their results folders joined again.

A block is one command, `perfproof run --block`, that needs nothing but one host. `job_list` makes the jobs of a plan, `emitted` writes
them for a queue, `slurm_engine` submits them in waves and looks between, `merge_folders` joins what they left. No queue is a dependency.
"""
