"""Tracking: a single run compares two builds, this room many, and what was measured before with what is measured now.

1. `released_scenario`: a scenario as released, on one build of somebody's choice or on two; below everything else here;
2. `tracking_rounds`: scenarios over many builds, interleaved in rounds, and appended to a history: `perfproof track`;
3. `history_verbs`: the verbs of a history: points added and thinned out, steps found and acknowledged, its page; `history_tables` has its
   tables, `name_suggestions` what is asked for and is not there;
4. `confirm_step`: the two builds beside a step against each other, in pairs, before anybody is alarmed: `perfproof steps --confirm`;
5. `bisect_builds`: which build of a row brought a change: `perfproof bisect`;
6. `stored_baselines`: a baseline out of a history: how old, of which machine, and when it is refused;
7. `baseline_verdicts`: a results folder judged against such baselines, for a gate that has nothing else to compare with.

A history itself, its lines and series, is the room `history` below; how a step is told from noise is `analysis.steps`. Builds are named
by whoever asks, made when they are needed, and never guessed: what can't be made or measured is told and left out.
"""
