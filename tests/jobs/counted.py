"""A counted scenario that costs nothing: a command on two stand-ins for vLLM, one of which does more Python work."""

from __future__ import annotations

from pathlib import Path

from tests import toy

SCENARIO = """schema: 1
question: Does the change cost more Python?
workload:
  kind: command
  run: ["{{python}}", script.py]
  files: files
  metrics: {{latency: {{pattern: 'latency: ([0-9.]+) ms', unit: ms}}}}
  counts: {{items: {{pattern: 'items: (\\d+)'}}}}
  count_python: true
builds:
  one: {{kind: python, path: {one}}}
  two: {{kind: python, path: {two}}}
arms:
  before: {{baseline: true, build: one}}
  after: {{build: two}}
metrics:
  python_instructions: {{primary: true, margin: 0.005}}
  wall_time: {{}}
"""
SCRIPT = "import vllm\nvllm.work()\nprint('latency: 1.0 ms')\nprint('items: 3')\n"
WORK = "\n\ndef work():\n    total = 0\n    for number in range({turns}):\n        total += number\n    return total\n"


def scenario(folder: Path) -> Path:
    """The scenario's file, its script and its two interpreters, in a folder."""
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "script.py").write_text(SCRIPT)
    paths = {}
    for name, turns in (("one", 1000), ("two", 1100)):
        paths[name] = toy.interpreter(folder / name)
        package = next((folder / name).glob("lib/python*/site-packages/vllm/__init__.py"))
        package.write_text(package.read_text() + WORK.format(turns=turns))
    file = folder / "counted.yaml"
    file.write_text(SCENARIO.format(**paths))
    return file
