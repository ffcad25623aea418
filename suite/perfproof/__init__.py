"""perfproof: proves vLLM performance patches, or finds them wanting.

A Scenario is planned into Trials, Trials leave Records, Records become Samples, two Samples make a
Comparison, a Comparison gets a Verdict; the Report shows it, the Gate acts on it. The rooms, from
the ground up: `model` (the nouns); `analysis`, `builds`, `store`, `importers`; `planning`, `progress`,
`run`, `report` and `history`; `executor`; `runners`; `commands`; `tracking`, and `validation`, the proof
of the statistics; `changes`; `gate`; `cli`. docs/house.md says what each is for. Apart stand `bench`,
`patches` and `child`, which run inside the interpreters under test and import nothing else of the suite.
"""

__version__ = "0.1.0"
