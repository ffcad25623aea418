"""The patches, as plugins of vLLM.

There is one patch per file; each ends in a `register` function that `pyproject.toml` lists under
`vllm.general_plugins`, and uses `guard.Patch.apply`. Nothing here imports the rest of the suite: the
folder is copied alone beside interpreters that are not ours. No module imports vLLM or torch at its top.
"""
