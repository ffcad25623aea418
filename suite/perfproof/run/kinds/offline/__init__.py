"""Trials without a server: `vllm bench latency` and `vllm bench throughput`, a fresh process a trial, and what they wrote.

Nothing here looks at answers.
"""
