"""The verbs on results that other programs wrote: files of benchmarks, evaluations, and what is pasted into pull requests.

No vLLM is needed here. What runs or reads our own records is a floor below (`record_verdicts`) or beside.
"""
