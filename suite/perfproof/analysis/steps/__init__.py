"""Lasting changes of level in a series, and nothing else: few alarms, and correct ones.

A series has one value per group, and a group is a build: its measurements share the build's own luck, so their median is one point. Counts
of work go through `count_steps`: every change is a step. Timed series go, on logarithms, through

1. `rank_scan`: ranks before and after each split of many stretches: proposes, liberally;
2. `level_test`: each proposal against noise with the series' own autocorrelation; the weakest is dropped, its neighbours are fitted again;
3. `deviation_partition`: the best partition by absolute deviations must have the same step within two points;
4. `step_detection`: these in order, the least magnitude, the words;
5. `labelled_series`: the same for groups with names and environments: environments never mix, and a step between two of them says so.

A step needs at least four points on each side. A single point is an outlier and a wandering series is autocorrelated; neither is a step.
The caller keeps machines apart.
"""

from perfproof.analysis.steps.labelled_series import Group, Steps, steps
from perfproof.analysis.steps.step_detection import TOO_SHORT, Change, Changes, Kind, find

__all__ = ["TOO_SHORT", "Change", "Changes", "Group", "Kind", "Steps", "find", "steps"]
