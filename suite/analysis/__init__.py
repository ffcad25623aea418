"""From the values of trials to verdicts: pure statistics, usable on anybody's numbers.

The way of a number through this package, one file a step:

1. `design`         who runs when: random order within a block, reversed in the next, so that drift cancels;
2. `work`, `invalidation`  what makes a block not comparable, or invalid, by rules fixed before the run; `twins`: means and medians that
                    contradict each other;
3. `samples`        observations become a paired sample: one value of each arm a block, and why the others are lost;
4. `intervals`      Student's interval and the robust companion, over arrays of many metrics at once;
5. `comparison`     effect, interval, spread and smallest detectable effect of one metric, in the metric's own direction;
6. `spending`       the looks at the data, and how much error each may spend;
7. `decision`       the rule: five outcomes from an interval, a mean and a margin, and the looks in their order;
8. `verdict`        the rule applied, with a reason in words; `witness` and `rates` are its exact and its counting forms;
9. `power`          what could have been seen, and how many blocks more would settle it;
10. `exploratory`   the metrics that never gate: estimates and q-values;
11. `calibration`   the baseline against itself: noise floor, order effect, autocorrelation, and whether to trust the machine;
12. `growth`        how a cost grows with a size, `sweeps`: the costs that were measured at several; `explain`: one verdict's whole
                    reasoning, each sentence with its number;
13. `trials`        each trial of a folder once, paired; `judge` is the road from there through all of the above, `selfcheck` that
                    of an A/A, to noise floors;
14. `foresight`     what a plan can see, from a noise floor; `single`: what one run a side could have seen;
15. `steps`         lasting changes of level in a series over builds;
16. `rulings`       verdicts under a policy: what fails, what warns, what is waived, and whose doing it is.

Internally everything is x = s log(candidate / baseline), s = +1 where lower is better and -1 where higher is better: x > 0 always
means worse. What is shown (`Comparison.effect`, `.interval`) is the relative change of the candidate against the baseline, as a fraction.

The unit of replication is the block; rounds and requests inside a trial are averaged before they come here and never raise n.
The margin comes from the caller, never from the noise. What this package refuses: to drop an outlier, to call a failed or missing
trial anything but *untestable*, to fold *equivalent* and *inconclusive* into one, to look at the data more often than was paid for.

Nothing here reads a clock, a file or argv, or prints. Values that are wrong come back as reasons in words, not as exceptions.
"""
