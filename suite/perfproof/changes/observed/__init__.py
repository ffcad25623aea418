"""Which functions of vLLM a scenario's trials were seen to call: what ships for one release, what the builds folder knows of each base.

1. `call_table`: the table itself, function by function, and its file;
2. `observed_calls`: the entry point: what a scenario calls on a build, and how a count or a trial adds to what is known.

Nothing here chooses or judges: the rooms beside it do.
"""
