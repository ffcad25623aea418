"""What a change is judged by is none of the change's own: the policy and the scenarios of its repository are read as its base has them.

A pull request's checkout holds the pull request's files, those among them that say what decides. So where a policy or a folder of
scenarios lies in the repository that is gated, it is taken out of the branch that the change is to go into; what lies elsewhere, or comes
with perfproof, is read where it lies. The tip of that branch is taken, and not the commit where the change left it: whoever proposes a
change could choose that.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.overlays import git_changes
from perfproof.changes.change_files import Files
from perfproof.changes.scenario_selection import files as few
from perfproof.changes.scenario_selection import scenario_files
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.policy_documents import shipped

SCENARIOS = (Path("scenarios"), PACKAGE.parents[1] / "scenarios")
"""Where scenarios are looked for, the first that has some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """The files to judge by. `places` are the paths, relative to the top of the repository, that a change has no say in."""

    policy: str | None
    every: tuple[Path, ...]
    wanted: tuple[Path, ...] | None
    places: tuple[str, ...]
    base: str
    folder: Path | None

    def taken(self, source: str) -> bool:
        """Whether a file was taken out of the base."""
        return self.folder is not None and Path(source).is_relative_to(self.folder)

    def told(self, found: Files) -> list[str]:
        """A sentence on what the change does to them, and to vLLM's own benchmarks."""
        changed = [path for path in (*found.python, *found.beyond, *found.other) if any(_below(path, place) for place in self.places)]
        mine = [f"the change changes what it is judged by ({few(changed)}): it was judged by what {self.base} has"] if changed else []
        if found.measures:
            mine.append(f"the change changes what measures it ({few(found.measures)}): the base's was taken")
        return mine


def of_diff(policy: str | None, scenarios: Sequence[Path] | None) -> Judges:
    """Those of a diff: the files that lie here, to which it is not applied."""
    top = git_changes.top(Path.cwd())
    named = [Path(policy)] if policy and Path(policy).is_file() else []
    every = tuple(scenario_files())
    wanted = tuple(scenarios) if scenarios is not None else None
    places = [_place(path, top) for path in (*named, *(one.parent for one in every[:1]), *(wanted or ()))] if top else []
    return Judges(policy=policy, every=every, wanted=wanted, places=tuple(filter(None, places)), base="this folder", folder=None)


def of_branch(repo: Path, base: str, policy: str | None, scenarios: Sequence[Path] | None, folder: Path) -> Judges:
    """Those of a branch that is to go into `base`; what the repository has of them is written below `folder`.

    Raises `BadInput` for a policy or scenario that only the change has.
    """
    taken = _Taken(repo=str(repo), base=base, top=git_changes.top(repo), folder=folder, places=[])
    rules = None if policy is None else taken.policy(policy)
    every = taken.every()
    wanted = None if scenarios is None else tuple(taken.file(path, "--scenarios", beside=True) for path in scenarios)
    return Judges(policy=rules, every=every, wanted=wanted, places=tuple(dict.fromkeys(taken.places)), base=base, folder=folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """Files taken out of the base into a folder; `places` are those that were asked for and lie in the repository."""

    repo: str
    base: str
    top: Path | None
    folder: Path
    places: list[str]

    def policy(self, named: str) -> str:
        """The policy of that name or path; a file of the change that has the name of one of perfproof's own is none."""
        if Path(named).name == named and named in shipped() and self._of_base(Path(named)) is None:
            return str(shipped()[named])
        return str(self.file(Path(named), "--policy", beside=False))

    def every(self) -> tuple[Path, ...]:
        """The scenario files that there are."""
        for place in SCENARIOS:
            inside = self._inside(place)
            own = self._of_base(place) if inside else place
            if found := sorted(own.glob("*.yaml")) if own else []:
                return tuple(found)
        raise BadInput(f"neither {self.base} nor perfproof has scenarios: name files with --scenarios")

    def file(self, path: Path, option: str, *, beside: bool) -> Path:
        """A named file, with what lies `beside` it, which it may refer to."""
        inside = self._inside(path)
        if inside is None:
            return path
        parent = Path(inside).parent
        self._of_base(path.parent if beside and parent != Path() else path)
        found = self.folder / inside
        if not found.is_file():
            raise BadInput(
                f"{option} {path}: {self.base} has no such file: a change is judged by what its base has, so let it get there first, or "
                "name one that lies outside the repository"
            )
        return found

    def _of_base(self, path: Path) -> Path | None:
        """Where a file or folder of the base lies now; None where the repository or its base has none."""
        inside = self._inside(path)
        if inside is None:
            return None
        self.places.append(inside)
        return self.folder / inside if git_changes.take_out(self.repo, self.base, inside, self.folder) else None

    def _inside(self, path: Path) -> str | None:
        return _place(path, self.top)


def _place(path: Path, top: Path | None) -> str | None:
    """A path relative to the top of the repository that it belongs to, if that is this one; other checkouts in it are their own."""
    if top is None:
        return None
    said = Path(os.path.abspath(path))
    if said.is_relative_to(top) and any(one.is_symlink() for one in said.parents if one != top and one.is_relative_to(top)):
        return str(said.relative_to(top))  # a change may lead a folder elsewhere: the base has what was meant
    parent = Path(os.path.realpath(os.path.abspath(path.parent)))
    while not parent.is_dir():
        parent = parent.parent
    real = Path(os.path.realpath(os.path.abspath(path.parent)), path.name)
    return str(real.relative_to(top)) if git_changes.top(parent) == top and real.is_relative_to(top) else None


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def refuse_own(repo: Path, base: str, found: Files) -> None:
    """Raises `BadInput` where the change changes perfproof itself and is what runs here: then no word of it is the base's."""
    inside = _place(PACKAGE, git_changes.top(repo))
    changed = [path for path in found.other if inside and _below(path, inside)]
    if changed and git_changes.resolved(str(repo), "HEAD") != git_changes.resolved(str(repo), base):
        raise BadInput(
            f"the change changes perfproof itself ({few(changed)}), which would judge it: run the gate from a checkout of {base}"
        )


@contextlib.contextmanager
def as_of(base: str, folder: Path) -> Iterator[None]:
    """Faults of files in `folder` are told as those of the base."""
    try:
        yield
    except BadInput as error:
        raise BadInput(*(fault.replace(f"{folder}/", f"{base}:") for fault in error.faults)) from error
