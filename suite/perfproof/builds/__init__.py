"""Turns a Build into a ready interpreter with a fingerprint.

A *release* is installed into its own virtual environment, named by a hash of its definition, made once, and marked complete by the last
file written. A half-made environment is made again, and two runs that want the same one wait for each other. A *python* build is a user's
own interpreter: it is probed, and nothing is ever written to it.

Beside the interpreter lies a side folder: the patches with their entry points and the benchmarks, copied so that an edit does not change a
running trial, and pytest if the interpreter has none.

`prepare` is the entry point. Its rooms, from the ground up: `processes` runs programs; `install` makes and identifies interpreters;
`overlays` adds a change to one. Nothing is guessed: if a build can't be made, the error names the step, the last lines of its output, and a
remedy.
"""
