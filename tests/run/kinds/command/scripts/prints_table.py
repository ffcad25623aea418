"""Hashes blocks with vLLM's own function, and prints a table of times: a stand-in for the scripts of vllm/benchmarks, which do not ship."""

import argparse
import time

from rows import row, rule  # lies beside it, as their benchmark_utils does
from vllm.utils.hashing import sha256

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=200)
arguments = parser.parse_args()
print(rule(), row("Blocks", "Hash"), row("", "Avg (us)"), rule("="), sep="\n")
for blocks in (1, 8):
    block = tuple(range(blocks * 16))
    began = time.perf_counter()
    for _ in range(arguments.rounds):
        sha256(block)
    print(row(blocks, f"{(time.perf_counter() - began) / arguments.rounds * 1e6:.3f}"), rule(), sep="\n")
print(f"hashed: {2 * arguments.rounds}")
