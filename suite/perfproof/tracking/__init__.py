"""Tracking: many builds, and measurements of earlier days compared with those of today. (A single run compares two builds.)

1. `released_scenario`: a scenario as released, on one or two chosen builds; everything else here stands on it;
2. `tracking_rounds`: scenarios over many builds, interleaved in rounds and appended to a history: `perfproof track`;
3. `history_verbs`: the verbs of a history: add and prune points, find and acknowledge steps, write its page; `history_tables` has its
   tables, `name_suggestions` the close names for one that is not there;
4. `confirm_step`: a paired run of the two builds beside a step, before anybody is alarmed: `perfproof steps --confirm`;
5. `bisect_builds`: which build in a row brought a change: `perfproof bisect`;
6. `stored_baselines`: a baseline from a history: its age, its machine, and when it is refused;
7. `baseline_verdicts`: a results folder judged against such baselines, for a gate with nothing else to compare with.

The room `history` below has the history itself, its lines and series; `analysis.steps` tells steps from noise. The user names the builds;
they are made when they are needed, and never guessed. A build that can't be made or measured is reported and left out.
"""
