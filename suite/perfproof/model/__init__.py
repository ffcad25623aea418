"""The nouns: Scenario, Arm, Build, Workload, Metric, Plan, Trial, Record, Verdict, Point.

Frozen dataclasses without behaviour beyond what follows from their own fields. Its rooms, from the ground up: `base`, what every noun
needs; `workloads`, what workloads of every kind are made of; `scenarios`, what is asked; `kinds`, each kind of workload: its noun, document
and traits; `records`, what a trial left; `verdicts`, what came out and what a gate makes of it; `history`, what is remembered over builds;
`documents`, what a file may say, and how it becomes nouns. This package knows no clock (but `base.clock`), no process, no path but those it
is handed, and computes no statistics.
"""
