"""A change to vLLM: what it touches, which scenarios that asks for, and what it costs, as its author would ask.

1. `change_files`: the paths of a change: Python that an overlay can follow, code that it can't, and what needs no measuring;
2. `selection_rules`: from functions that differ to the scenarios that exercise them, with the reasons in words; pure, of texts alone;
3. `countable_functions`: which of these functions are counted as they are called: where none was, nothing was shown;
4. `scenario_selection`: the same with the scenario files, sources and device that are there;
5. `call_coverage`: which scenarios called them, as counted: who ran the change and so decides, and of what the answers were not tested;
6. `change_notes`: what is told beside the verdicts: how long it takes, and whether the changed code is known to have run;
7. `measure_change`: base against base plus the change, over these scenarios, to a pull request's text: `perfproof pr`.

The gate stands above and decides on changes; this room decides nothing by itself. It refuses to guess: what no scenario
exercises is said to be so, with the nearest that there are.
"""
