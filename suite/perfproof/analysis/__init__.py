"""From the values of trials to verdicts: pure statistics, usable on any numbers.

The way of a number through this package, one room per step, from the ground up:

1. `stats`      samples, intervals, power, the looks and their error, the decision rule: arrays in, numbers out;
2. `trials`     records become paired samples: which trials are comparable, which are invalid by rules fixed before the run, and which did
   other work;
3. `verdicts`   a sample gets a verdict: timed, counted exactly, by rates, by items of an evaluation; `calibration` and `explain`;
4. `equality`   answers compared token by token, against the baseline's second run;
5. `steps`      lasting changes of level in a series over builds;
6. `judging`    from a folder of records through all of the above to judged metrics, and a policy applied to the verdicts.

Internally everything is x = s log(candidate / baseline), s = +1 where lower is better and -1 where higher is better: x > 0 always
means worse. What is shown (`Comparison.effect`, `.interval`) is the relative change of the candidate against the baseline, as a fraction.

The unit of replication is the block; rounds and requests inside a trial are averaged before they come here and never raise n.
The margin comes from the caller, never from the noise. This package never drops an outlier, never calls a failed or missing trial anything
but *untestable*, never merges *equivalent* and *inconclusive*, and never looks at the data more often than the error allows.

Nothing here reads a clock, a file or argv, or prints. Wrong values come back as reasons in words, not as exceptions.
"""
