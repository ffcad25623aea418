"""Git, asked about a repository that somebody else may have made.

A repository's own configuration can name programs that git runs: a pager, a signature checker, a watcher of files, a way to fetch what a
partial clone lacks, hooks, filters and drivers for diffs. None of them is run here, and nothing is fetched. What the user's own
configuration says (a filter of git-lfs, say) holds.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from perfproof.builds.processes import temp_files
from perfproof.builds.processes.supervised_process import inherited, run_to_end

TIME_LIMIT = 600.0
"""Seconds after which git is given up."""
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
"""No protocol is called `none`: what is not there is not fetched, also by a git too old for `GIT_NO_LAZY_FETCH`."""
_OFF = (
    *("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.sshCommand=false", "core.gitProxy=", "core.askPass=", "core.editor=false"),
    *("core.attributesFile=/dev/null", "core.alternateRefsCommand=false", "credential.helper=", "log.showSignature=false"),
    *("gpg.program=false", "gpg.openpgp.program=false", "gpg.x509.program=false", "gpg.ssh.program=false", "gpg.ssh.defaultKeyCommand="),
    *("diff.renameLimit=10000", "gc.auto=0", "maintenance.auto=false"),
)
_NAMED = re.compile(r"(filter\..+\.(?:clean|smudge|process)|diff\..+\.(?:command|textconv)|hook\..+\.command)", re.IGNORECASE | re.DOTALL)
"""Programs that a configuration names by a name of its own: git has no one setting that turns them off."""


def asked(repo: str | Path, *words: str, quote: bool = True, tree: bool = False) -> str | None:
    """What git prints, undecodable bytes as surrogates; None where it fails.

    `tree` says that files of a working tree are read or written, for which git would run filters; `quote` has paths quoted that are not
    ASCII.
    """
    off = _named_programs(repo) if tree else ()
    return None if off is None else _text(repo, (*_OFF, f"core.quotePath={'true' if quote else 'false'}", *off), words)


def asked_bytes(repo: str | Path, *words: str) -> bytes | None:
    """What git prints of a repository's objects, byte for byte; None where it fails."""
    return _run(repo, _OFF, words)


def _named_programs(repo: str | Path) -> tuple[str, ...] | None:
    """The settings that turn off what the repository's own configuration names; None where one can't be turned off, or none be read."""
    found = [_text(repo, _OFF, ("config", scope, "--includes", "--name-only", "--null", "--list")) for scope in ("--local", "--worktree")]
    names = sorted({name for name in f"{found[0]}\0{found[1]}".split("\0") if _NAMED.fullmatch(name)})
    if found[0] is None or any("=" in name for name in names):  # no `-c` can spell a name with a sign of equality
        return None
    required = {f"{name.rpartition('.')[0]}.required=false" for name in names if name.startswith("filter.")}
    return (*(f"{name}=" for name in names), *sorted(required))


def _text(repo: str | Path, settings: tuple[str, ...], words: tuple[str, ...]) -> str | None:
    said = _run(repo, settings, words)
    return None if said is None else io.TextIOWrapper(io.BytesIO(said), encoding="utf-8", errors="surrogateescape").read()


def _run(repo: str | Path, settings: tuple[str, ...], words: tuple[str, ...]) -> bytes | None:
    with temp_files.directory() as folder:
        log = Path(folder) / "git.log"
        said = (word for setting in settings for word in ("-c", setting))
        command: list[str | Path] = ["git", *said, "--no-pager", "--no-optional-locks", "-C", Path(repo).absolute(), *words]
        done = run_to_end(command, environment={**inherited(), **_ENVIRONMENT}, log=log, timeout=TIME_LIMIT)
        return log.read_bytes() if done.ok else None
