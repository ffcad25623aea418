"""Trials without a server: `vllm bench latency` and `vllm bench throughput`, a new process per trial, and their result files.

Nothing here looks at answers.
"""
