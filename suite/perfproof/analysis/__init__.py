"""From the values of trials to verdicts: pure statistics, usable on anybody's numbers.

The way of a number through this package, a room a step, from the ground up:

1. `stats`      samples, intervals, power, the looks and their error, the decision rule: arrays in, numbers out;
2. `trials`     records become paired samples: what may stand beside what, what is invalid by rules fixed before the run, what did other
   work;
3. `verdicts`   a sample earns a verdict: timed, counted exactly, by rates, by items of an evaluation; `calibration` and `explain`;
4. `equality`   answers compared token by token, against the baseline's second run;
5. `steps`      lasting changes of level in a series over builds;
6. `judging`    the road from a folder of records through all of the above, and what a policy makes of the verdicts.

Internally everything is x = s log(candidate / baseline), s = +1 where lower is better and -1 where higher is better: x > 0 always
means worse. What is shown (`Comparison.effect`, `.interval`) is the relative change of the candidate against the baseline, as a fraction.

The unit of replication is the block; rounds and requests inside a trial are averaged before they come here and never raise n.
The margin comes from the caller, never from the noise. What this package refuses: to drop an outlier, to call a failed or missing
trial anything but *untestable*, to fold *equivalent* and *inconclusive* into one, to look at the data more often than was paid for.

Nothing here reads a clock, a file or argv, or prints. Values that are wrong come back as reasons in words, not as exceptions.
"""
