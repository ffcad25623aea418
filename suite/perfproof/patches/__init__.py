"""The patches, as plugins of vLLM.

One patch a file; each ends in a `register` function that `pyproject.toml` lists under
`vllm.general_plugins`, and goes through `guard.Patch.apply`. Nothing here imports the rest of the
suite: the folder travels alone into interpreters that are not ours. Module tops import neither
vLLM nor torch.
"""
