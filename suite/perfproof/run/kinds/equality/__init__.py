"""Answers that are compared: one process an arm, which answers the same prompts in the same batches.

Whether answers differ is judged in `perfproof.analysis.equality`, not here.
"""
