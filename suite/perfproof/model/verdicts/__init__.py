"""Results: judged metrics, noise floors, details of accuracy, a gate's policy and its decision.

Nothing is computed here: `perfproof.analysis` fills these nouns, reports and gates read them.
"""
