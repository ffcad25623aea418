"""Penalties without the cost that grows with the output: two patches, and the counts, kernel and ledger of one of them.

As everywhere in `patches`: nothing here imports the rest of the suite, and module tops import neither vLLM nor torch.
"""
