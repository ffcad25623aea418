"""A Build becomes a ready interpreter with a fingerprint.

A *release* is installed into a virtual environment of its own, named by a hash of what defines it,
made once and marked complete by the last file written; a half-made one is made again, and two runs
that want the same one wait for each other. A *python* build is a person's interpreter: it is asked
what it has, and nothing is ever written to it.

Beside the interpreter lies a side folder: the patches with their entry points and the benchmarks, copied so
that an edit does not change a trial that runs, and pytest where the interpreter has none.

`prepare` is the way in. Its rooms, from the ground up: `processes`, how a program is run at all; `install`, how an interpreter is made and
known again; `overlays`, how a change is laid over one. This room refuses to guess: what can't be made says which step failed, the last
lines of its output, and what to do.
"""
