"""The gate: a change, or a folder of records, and a policy to a decision, told in every form that was asked for.

The way of a change through this room:

1. `gate_change`: the change against its base: what it touches, scenarios picked, both builds made, what fits the time measured, the
   decision. What goes wrong on the way is a decision too, and says whose doing it is;
2. `gate_budget`: how the time is spent: which scenarios a policy wants in any case, how many blocks of each, and what the budget leaves
   out;
3. `aa_precheck`: the base against itself first, where times decide: a machine that fails that judges no time;
4. `gate_outputs`: the decision on a folder of records, and its forms: terminal, JSON, JUnit, comment, step summary.

What a policy makes of verdicts is pure and lies below, in `analysis.judging.apply_policy`; the policy's own words are
`model.verdicts.policy`; what a change touches, and which scenarios that asks for, is the room `changes`, which `perfproof pr` shares.

It refuses to blame a change for a base that is broken, or a machine that is not quiet, and to pass where nothing that decides was tested.
"""
