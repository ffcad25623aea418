"""The proof that the verdicts can be trusted: simulated under noise whose truth is known, and on a real machine.

`simulated` has the chapters of the simulation, which `proof_page` puts together; `real` injects known slowdowns on this machine; `planted`
puts patches that are wrong on purpose to the gates, `cost` tells what trials of servers cost; `tables` is what they share.

`python -m perfproof.validation` prints the page and writes it; nothing in it is typed by hand. Everything follows from one seed.
It refuses to judge itself kindly: a target that is missed is printed as missed, and the command then ends with 1.
"""
