"""The nouns: Scenario, Arm, Build, Workload, Metric, Plan, Trial, Record.

Frozen dataclasses without behaviour beyond what follows from their own fields. A file becomes nouns in order: `plain` parses it
(the only place that reads YAML), `decode` merges the profile, `documents` say what it may hold (they and `decode` alone know
pydantic), and `decode` builds. All faults of a file are told at once. This package knows no clock, no process, no path but
those it is handed, and computes no statistics.
"""
