"""Servers under load: `vllm serve` measured by `vllm bench serve`; its result file, its requests and its output lengths.

`run.servers` launches and watches servers: other kinds need it too.
"""
