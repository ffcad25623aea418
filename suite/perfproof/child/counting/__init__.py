"""Counts what a piece of Python does, exactly: instructions, calls, C calls, PyTorch's operators, what a GPU is asked to do.

It runs inside the interpreter under test and needs the standard library alone, PyTorch only for operators. `Counter` counts what lies
between its `start` and its `stop` in all threads that it knows of, function by function; the `Tally` that `stop` gives says which threads
it could not see. `Operators` counts PyTorch's operators in a round of its own, for its hooks are Python as well; `Device` counts kernels,
copies and waits, in a third; `Outside` measures the seconds of a round that are not Python, roughly.
Counting slows Python about a hundredfold: nothing is ever timed meanwhile.
"""

from perfproof.child.counting.counter import Counter, NotCounting
from perfproof.child.counting.device import Device, has_device
from perfproof.child.counting.import_lines import ImportLines
from perfproof.child.counting.operators import Operators
from perfproof.child.counting.outside import Outside
from perfproof.child.counting.quiet import quiet, settle
from perfproof.child.counting.tally import Tally, equal, unsteady

VERSION = 1
"""Counts of two versions of the counter are never compared."""

__all__ = [
    "VERSION",
    "Counter",
    "Device",
    "ImportLines",
    "NotCounting",
    "Operators",
    "Outside",
    "Tally",
    "equal",
    "has_device",
    "quiet",
    "settle",
    "unsteady",
]
