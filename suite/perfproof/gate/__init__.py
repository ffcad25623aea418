"""The gate: from a change, or a folder of records, and a policy to a decision in every wanted form.

The way of a change through this room:

1. `gate_change`: the change against its base, from its files to the decision. A fault on the way is a decision too, and says whose fault it
   is. `gate_request` is the request, `gate_state` a gate at work, `trusted_files` the files that judge, which the change can't alter;
2. `gate_builds`: the files of the change, and both builds; `gate_scenarios`: the scenarios to measure, and whether the change ran;
3. `gate_budget`: how the time is spent: the scenarios that a policy always measures, the blocks of each, and what the budget leaves out;
4. `aa_precheck`: the base against itself first, where times decide: a machine that fails it can't judge times;
5. `gate_outputs`: the decision on a folder of records, and its forms: terminal, JSON, JUnit, comment, step summary.

Below lie `analysis.judging.apply_policy`, pure rules from verdicts to rulings, `model.verdicts.policy`, the policy itself, and the room
`changes`, which `perfproof pr` shares: what a change touches, and which scenarios exercise that.

The gate never blames a change for a broken base or a busy machine, and never passes where no deciding metric was tested.
"""
