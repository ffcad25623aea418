"""The nouns: Scenario, Arm, Build, Workload, Metric, Plan, Trial, Record, Verdict, Point.

Frozen dataclasses whose methods depend only on their own fields. Its rooms, from the ground up: `base`, the common parts of all nouns;
`workloads`, the common parts of all kinds of workload; `scenarios`, questions; `kinds`, each kind of workload: its noun, document and
traits; `records`, the results of trials; `verdicts`, verdicts and gate decisions; `history`, points over many builds; `documents`, the
content of user files, and how it becomes nouns. This package uses no clock (except `base.clock`), no process, and only paths that it is
given, and computes no statistics.
"""
