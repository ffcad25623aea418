"""Servers under load: `vllm serve` measured by `vllm bench serve`, its result file, its requests and output lengths accounted for.

How a server is launched and watched is in `run.servers`: other kinds need it too.
"""
