"""Runs git on a repository that somebody else may have made.

A repository's own configuration can name programs that git runs: a pager, a signature checker, a file watcher, a fetch for a partial clone,
hooks, filters and diff drivers. None of them runs here, and nothing is fetched. The user's own configuration (for example a filter of
git-lfs) still applies.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from perfproof.builds.processes import temp_files
from perfproof.builds.processes.supervised_process import inherited, run_to_end

TIME_LIMIT = 600.0
"""Seconds after which git is ended."""
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_SSH_COMMAND": "false",
    "GIT_ASKPASS": "false",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
"""No protocol is called `none`: so nothing is fetched, also by a git too old for `GIT_NO_LAZY_FETCH`."""
_OFF = (
    *("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.sshCommand=false", "core.gitProxy=", "core.askPass=", "core.editor=false"),
    *("core.attributesFile=/dev/null", "core.alternateRefsCommand=false", "credential.helper=", "log.showSignature=false"),
    *("gpg.program=false", "gpg.openpgp.program=false", "gpg.x509.program=false", "gpg.ssh.program=false", "gpg.ssh.defaultKeyCommand="),
    *("diff.renameLimit=10000", "gc.auto=0", "maintenance.auto=false"),
)
_NAMED = re.compile(r"(filter\..+\.(?:clean|smudge|process)|diff\..+\.(?:command|textconv)|hook\..+\.command)", re.IGNORECASE | re.DOTALL)
"""Programs under names that the configuration chooses itself: git has no single setting to turn them off."""


def git_text(repo: str | Path, *words: str, quote: bool = True, tree: bool = False) -> str | None:
    """git's output, with undecodable bytes as surrogates; None where it fails.

    `tree` says that files of a working tree are read or written, for which git would run filters; `quote` makes git quote paths that are
    not ASCII.
    """
    off = _named_programs(repo) if tree else ()
    return None if off is None else _text(repo, (*_OFF, f"core.quotePath={'true' if quote else 'false'}", *off), words)


def git_bytes(repo: str | Path, *words: str) -> bytes | None:
    """git's output about a repository's objects, byte for byte; None where it fails."""
    return _run(repo, _OFF, words)


def _named_programs(repo: str | Path) -> tuple[str, ...] | None:
    """The settings that turn off the programs of the repository's own configuration; None if one can't be turned off, or on a read
    error."""
    listings = [
        _text(repo, _OFF, ("config", scope, "--includes", "--name-only", "--null", "--list")) for scope in ("--local", "--worktree")
    ]
    names = sorted({name for name in f"{listings[0]}\0{listings[1]}".split("\0") if _NAMED.fullmatch(name)})
    if listings[0] is None or any("=" in name for name in names):  # `-c` can't set a name with an equals sign
        return None
    required = {f"{name.rpartition('.')[0]}.required=false" for name in names if name.startswith("filter.")}
    return (*(f"{name}=" for name in names), *sorted(required))


def _text(repo: str | Path, settings: tuple[str, ...], words: tuple[str, ...]) -> str | None:
    output = _run(repo, settings, words)
    return None if output is None else io.TextIOWrapper(io.BytesIO(output), encoding="utf-8", errors="surrogateescape").read()


def _run(repo: str | Path, settings: tuple[str, ...], words: tuple[str, ...]) -> bytes | None:
    with temp_files.directory() as folder:
        log = Path(folder) / "git.log"
        options = (word for setting in settings for word in ("-c", setting))
        command: list[str | Path] = ["git", *options, "--no-pager", "--no-optional-locks", "-C", Path(repo).absolute(), *words]
        done = run_to_end(command, environment={**inherited(), **_ENVIRONMENT}, log=log, timeout=TIME_LIMIT)
        return log.read_bytes() if done.ok else None
