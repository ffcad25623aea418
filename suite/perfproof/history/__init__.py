"""The History remembers: one line a point, appended for ever, read back as series in the order of their builds.

1. `history_files`: the files, `results/history/MACHINE/SCENARIO.jsonl`: append, read, migrate, prune; the only reader and writer of them;
2. `points_from_records`: the records of a results folder become points;
3. `series`: points become series in the order of their builds, with what else changed between them, and their steps;
4. `point_table`: a million points as a table, for people;
5. `overlapping_points`: a run that went on left a point with fewer trials and one with more: the larger one stands.

A line is never rewritten. What is there twice falls away by its id on reading; what a crash cut off is told and passed over; lines of
an older schema are migrated on reading, lines of a newer one are told and left alone. `migrate` and `prune` write a new file beside the
old one and rename it. Points of different machines, workloads or arms never mix, and where the environment changed a step says so.
"""

from perfproof.history.history_files import EVERYTHING, History, Wanted, append, migrate, prune, read
from perfproof.history.points_from_records import entries_of, left_out
from perfproof.history.series import BuildPoints, Track, TrackSteps, steps_of, tracks

__all__ = [
    "EVERYTHING",
    "BuildPoints",
    "History",
    "Track",
    "TrackSteps",
    "Wanted",
    "append",
    "entries_of",
    "left_out",
    "migrate",
    "prune",
    "read",
    "steps_of",
    "tracks",
]
