"""Patches of Model Runner V2's host work.

As everywhere in `patches`: nothing here imports the rest of the suite, and module tops import neither vLLM nor torch.
"""
