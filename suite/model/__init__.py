"""The nouns: Scenario, Arm, Build, Workload, Metric, Plan, Trial, Record.

Frozen dataclasses without behaviour beyond what follows from their own fields. A file becomes
nouns in `decode` (the only place that knows pydantic) and in order: parse, merge the profile,
validate, build. All faults of a file are told at once. This package knows no clock, no process, no
path but those it is handed, and computes no statistics.
"""
