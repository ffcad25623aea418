"""The proof that the verdicts can be trusted: the decision path of `suite.analysis` under noise whose truth is known.

1. `noise`     makes blocks: seven kinds of noise, a true effect, drift over the run, rounds inside a trial;
2. `paths`     takes simulated scenarios through the looks, the family of primary metrics and the stopping rule;
3. `tools`     asks the tools that people use today the same question, by their own code where it is installed;
4. `alarms`, `detection`, `coverage`, `agreement`, `contest`: a chapter each, a function of a seed and a number of runs, with the promises
   that it checked; `tables` is what they share;
5. `steps`     steps of series, with `detectors` that people use alone and `generated` series whose steps are known;
6. `page`      puts the chapters together.

`python -m suite.validation` prints the page and writes it; nothing in it is typed by hand. Everything follows from one seed.
It refuses to judge itself kindly: a target that is missed is printed as missed, and the command then ends with 1.
"""
