"""perfproof: proves vLLM performance patches, or finds them wanting.

A Scenario is planned into Trials, Trials leave Records, Records become Samples, two Samples make a
Comparison, a Comparison earns a Verdict; the Report shows it, the Gate acts on it. The rooms, from
the ground up: `model` (the nouns); `analysis`, `builds`, `store`, `importers`, `exporters`; `planning`,
`progress`, `run`, `report`, `gate` and `validation`, the proof of the statistics; `conduct`; `lanes` and
`calibrating`; `session`; `cli`. Apart stand `bench`, `patches` and `child`, which run inside the
interpreters under test and import nothing else of the suite.
"""

__version__ = "0.1.0"
