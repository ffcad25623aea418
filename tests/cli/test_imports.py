"""What an answer to small input may import: the time of a start is the time of its imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("matplotlib", "pandas", "statsmodels", "torch", "vllm", "ruptures", "jinja2", "scipy.stats", "scipy.optimize", "scipy.sparse")
"""Each of these takes from a fifth of a second to two seconds."""
TRIALS = "block,arm,value\n" + "".join(f"{block},base,{10 + block % 3}\n{block},pr,{9 + block % 2}\n" for block in range(12))
RATES = "block,arm,errors,requests\n" + "".join(f"{block},base,{block % 2},100\n{block},pr,0,100\n" for block in range(8))
SERIES = "point,value\n" + "".join(f"0.{point}.0,{(10 if point < 12 else 12) + point % 3 / 50}\n" for point in range(24))
TABLE = "| metric | before | after |\n| --- | --- | --- |\n| Output token throughput (tok/s) | 1000.5 | 1042.1 |\n"
SCORES = """# main

|Tasks|Version|Filter|n-shot|Metric| |Value | |Stderr|
|-----|------:|------|-----:|------|-|-----:|-|-----:|
|gsm8k|      3|strict-match|5|exact_match|↑|0.7710|±|0.0116|

# this PR

|Tasks|Version|Filter|n-shot|Metric| |Value | |Stderr|
|-----|------:|------|-----:|------|-|-----:|-|-----:|
|gsm8k|      3|strict-match|5|exact_match|↑|0.7695|±|0.0116|
"""
COMMANDS = {
    "judge": (TRIALS, ["judge", "FILE", "--better", "lower"]),
    "judge --json": (TRIALS, ["judge", "FILE", "--better", "lower", "--json"]),
    "judge --explain": (TRIALS, ["judge", "FILE", "--better", "lower", "--explain"]),
    "judge, of rates": (RATES, ["judge", "FILE", "--better", "lower"]),
    "pasted, of speed": (TABLE, ["pasted", "FILE"]),
    "pasted, of scores": (SCORES, ["pasted", "FILE"]),
    "steps": (SERIES, ["steps", "FILE"]),
    "steps --json": (SERIES, ["steps", "FILE", "--json"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_answers_to_small_input_import_nothing_slow(name: str, tmp_path: Path) -> None:
    """`judge`, `pasted` and `steps` import no library that takes long and that they don't need."""
    text, words = COMMANDS[name]
    file = tmp_path / "input.txt"
    file.write_text(text)
    command = [sys.executable, "-X", "importtime", "-m", "perfproof", *(str(file) if word == "FILE" else word for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "perfproof.cli" in imported
    assert not imported & set(SLOW)
