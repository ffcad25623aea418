"""A change to vLLM: which code it touches, which scenarios exercise that code, and what the change costs.

1. `change_files`: the paths of a change: Python that an overlay can apply, code that it can't, and files that need no measuring;
2. `selection_rules`: from functions that differ to the scenarios that exercise them, with reasons in words; pure, from texts alone;
3. `countable_functions`: which of these functions can be counted as they are called: where none was called, nothing was shown;
4. `scenario_selection`: the rules applied to the scenario files, sources and device that are there, and to what `observed/` knows of their
   calls;
5. `call_coverage`: which scenarios called the functions: they ran the change and so decide; and which answers were not tested;
6. `change_notes`: sentences beside the verdicts: how long it takes, and whether the changed code is known to have run;
7. `host_count`, with `count_sources`, `count_findings` and `count_words`: what the change costs vLLM's host, counted exactly;
   `count_command` is `perfproof count`;
8. `answer_budget` and `time_estimates`: how the minutes of `--budget` are divided, and what fits into them;
9. `change_builds`: the builds and arms of a change; `measure_change`: base against base plus the change, over these scenarios, and
   `change_answer`: the result as a pull request's text and exit code: `perfproof pr`.

The gate stands above and decides on changes; this room only measures. It never guesses: where no scenario exercises a change, it says so
and lists the nearest.
"""
