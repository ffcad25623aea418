"""The proof that the verdicts can be trusted: simulated under noise whose truth is known, and on a real machine.

`simulated` has the chapters of the simulation, which `proof_page` puts together; `real` injects known slowdowns on this machine; `planted`
tests the gates with patches that are wrong on purpose; `cost` shows the overhead of server trials; they share `tables`.

`python -m perfproof.validation` prints the page and writes it; nothing in it is typed by hand. Everything follows from one seed. A missed
target is printed as missed, and the command then ends with 1.
"""
