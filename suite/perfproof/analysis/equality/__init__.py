"""Whether a candidate answers what the baseline answers: token by token, logprob by logprob, against the baseline's second run.

`equality_verdict` is the way in. This room does not score answers: `verdicts.accuracy_verdict` does.
"""
