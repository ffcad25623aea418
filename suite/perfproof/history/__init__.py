"""The History: one line per point, appended and never rewritten, read back as series in the order of their builds.

1. `history_files`: the files, `results/history/MACHINE/SCENARIO.jsonl`: append, read, migrate, prune; only this module reads and writes
them; 2. `points_from_records`: makes points of the records of a results folder; 3. `series`: makes series of points, in the order of their
builds, with other changes between them, and their steps; 4. `point_table`: a million points as a table, for people; 5.
`overlapping_points`: a continued run left a point with fewer trials and one with more: the larger one counts; 6. `contradictions`: what in
a line disagrees.

A line is never rewritten. On reading, a second line with the same id is dropped, an incomplete line after a crash and one that contradicts
itself are reported and skipped, lines of an older schema are migrated, and lines of a newer one are reported and skipped. `migrate` and
`prune` write a new file beside the old one and rename it. Points of different machines, workloads or arms never mix, and a step says if the
environment changed.
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
