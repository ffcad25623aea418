"""Whether a candidate answers what the baseline answers: token by token, logprob by logprob, against the baseline's second run.

`equality_verdict` is the way in. Scores of answers are not looked at here: `verdicts.accuracy_verdict` judges those.
"""
