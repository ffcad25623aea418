"""A change can't alter what judges it: the policy and the scenarios in its repository are read from its base.

A pull request's checkout holds the pull request's own files, including those that decide. So a policy or a folder of scenarios in the gated
repository is read from the branch into which the change goes, with all that its scenarios name: benchmarks, patches, diffs. Files
elsewhere, and those of perfproof itself, are read where they lie. The tip of the branch counts, not the commit where the change left it,
because the author of the change could choose that commit.

The same holds for what a project adds in `.perfproof`, or names in its pyproject.toml: its scenarios, their benchmarks, and its policy,
which decides where none is named.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.overlays import git_changes
from perfproof.changes.change_files import Files
from perfproof.changes.scenario_selection import files as few
from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import read_mapping
from perfproof.model.documents.policy_documents import shipped
from perfproof.model.installed.project_files import FOLDER, SETTINGS, Project, project_here, project_in
from perfproof.model.installed.scenario_folders import FOLDERS, of_project, scenario_files

LONGEST_PATH = 4096
"""The most characters of a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """The files that judge. `places` are their paths, relative to the top of the repository, which a change can't alter."""

    policy: str | None
    every: tuple[Path, ...]
    wanted: tuple[Path, ...] | None
    places: tuple[str, ...]
    base: str
    folder: Path | None

    def taken(self, source: str) -> bool:
        """Whether a file was read from the base."""
        return self.folder is not None and Path(source).is_relative_to(self.folder)

    def shown(self, named: str | None, source: str) -> str:
        """The name of a file of the base: as the user gave it, else where it is in the repository."""
        return f"{self.base}:{named or Path(source).relative_to(self.folder or '/')}"

    def notes_on(self, files: Files) -> list[str]:
        """Sentences on what the change does to these files and to vLLM's own benchmarks."""
        every = (*files.python, *files.beyond, *files.astray, *files.other)
        changed = [path for path in every if any(_below(path, place) for place in self.places)]
        notes = [f"the change alters files that judge it ({few(changed)}): the files of {self.base} judged it"] if changed else []
        if files.measures:
            notes.append(f"the change alters benchmarks that measure it ({few(files.measures)}): the base's were used")
        return notes


def of_diff(policy: str | None, scenarios: Sequence[Path] | None) -> Judges:
    """The judging files for a diff: the files of this folder, to which the diff is not applied."""
    top, project = git_changes.top(Path.cwd()), project_here()
    policy = policy or _policy_in(project)
    named = [Path(policy)] if policy and Path(policy).is_file() else []
    every = tuple(scenario_files())
    wanted = tuple(scenarios) if scenarios is not None else None
    own = [project.root / place for place in project.places] if project else []
    judging = (*named, *own, *dict.fromkeys(one.parent for one in every), *(wanted or ()))
    tops: dict[Path, Path | None] = {}
    places = [_place(path, top, tops) for path in judging] if top else []
    return Judges(policy=policy, every=every, wanted=wanted, places=tuple(filter(None, places)), base="this folder", folder=None)


def of_branch(repo: Path, base: str, policy: str | None, scenarios: Sequence[Path] | None, folder: Path) -> Judges:
    """The judging files for a branch that is to go into `base`; files of the repository are written below `folder`.

    Raises `BadInput` for a policy or scenario that only the change has.
    """
    commit = git_changes.resolved(str(repo), base)
    taken = _Taken(repo=str(repo), base=base, commit=commit, top=git_changes.top(repo), folder=folder, places=[], tops={})
    with as_of(base, folder):
        project = taken.project()
    rules = _policy_in(project) if policy is None else taken.policy(policy)
    every = taken.every(project)
    wanted = None if scenarios is None else tuple(taken.file(path, "--scenarios", beside=True) for path in scenarios)
    return Judges(policy=rules, every=every, wanted=wanted, places=tuple(dict.fromkeys(taken.places)), base=base, folder=folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """Files of the base, copied into a folder; `commit` is what its name means now, `places` are the wanted ones in the repository,
    `tops` the tops of the working trees that folders lie in."""

    repo: str
    base: str
    commit: str
    top: Path | None
    folder: Path
    places: list[str]
    tops: dict[Path, Path | None]

    def policy(self, named: str) -> str:
        """The policy of that name or path. A file that only the change has can't replace one of perfproof's own policies."""
        if Path(named).name == named and named in shipped() and self._of_base(Path(named)) is None:
            return str(shipped()[named])
        return str(self.file(Path(named), "--policy", beside=False))

    def project(self) -> Project | None:
        """What the gated repository adds, as its base has it; else what the folder of the command adds, if that is elsewhere."""
        here = self._inside(Path(FOLDER))
        for root in Path(here).parents if here else (Path(),):
            if (project := self._project_at(root)) is not None:
                return project
        return None if here else project_here()

    def _project_at(self, root: Path) -> Project | None:
        """What a folder of the repository adds, as its base has it; a folder that only the change has adds nothing."""
        self._take(root, (FOLDER, SETTINGS))
        self.places.append(str(root / FOLDER))
        if (project := project_in(self.folder / root)) is not None:
            self._take(root, project.places)
            self.places.extend(str(root / place) for place in project.places)
        return project

    def _take(self, root: Path, places: Sequence[str]) -> None:
        for place in places:
            git_changes.take_out(self.repo, self.commit, str(root / place), self.folder)

    def every(self, project: Project | None) -> tuple[Path, ...]:
        """The scenario files; a project's own replace those of the same name."""
        found = {path.name: path for path in (*self._shared(), *of_project(project))}
        if not found:
            raise BadInput(f"neither {self.base} nor perfproof has scenarios: name files with --scenarios")
        self._bring_what_is_named([path for path in found.values() if path.is_relative_to(self.folder)])
        return tuple(found[name] for name in sorted(found))

    def _shared(self) -> Sequence[Path]:
        """The files of the folder `scenarios` of the base, else perfproof's own."""
        for place in FOLDERS:
            inside = self._inside(place)
            own = self._of_base(place) if inside else place
            if scenarios := sorted(own.glob("*.yaml")) if own else []:
                return scenarios
        return []

    def file(self, path: Path, option: str, *, beside: bool) -> Path:
        """A named file; `beside` also copies the files beside it, and what else a scenario refers to."""
        inside = self._inside(path)
        if inside is None:
            self._refuse_what_changes(path, option)
            return path
        parent = Path(inside).parent
        self._of_base(path.parent if beside and parent != Path() else path)
        copy = self.folder / inside
        if not copy.is_file():
            raise BadInput(
                f"{option} {path}: {self.base} has no such file: a change is judged by the files of its base, so merge this one first, or "
                "name one outside the repository"
            )
        if beside:
            self._bring_what_is_named([copy])
        return copy

    def _bring_what_is_named(self, copies: Sequence[Path]) -> None:
        """Copies the files of the base that copied scenarios name: a benchmark or patch with the folder that it lies in, a diff, a folder.

        Raises `BadInput` with every path that leads out of the repository, or that names files of the change itself.
        """
        faults: list[str] = []
        for copy in copies:
            for named in paths_named(copy):
                path = Path(os.path.expanduser(named))
                place = os.path.normpath(copy.parent.relative_to(self.folder) / path)
                if path.is_absolute():
                    faults += [f"{copy}: {named}: {_ABSOLUTE}"] if self._inside(path) is not None and path.exists() else []
                elif place.split(os.sep)[0] == os.pardir:
                    faults += [f"{copy}: {named}: {_OUTSIDE}"] if self.top is not None and (self.top / place).exists() else []
                elif place not in self.places and git_changes.take_out(self.repo, self.commit, place, self.folder):
                    whole = Path(place).parent if (self.folder / place).is_file() else Path(place)
                    git_changes.take_out(self.repo, self.commit, str(whole if whole != Path() else place), self.folder)
                    self.places.append(place)
        if faults:
            raise BadInput(*dict.fromkeys(faults))

    def _refuse_what_changes(self, scenario: Path, option: str) -> None:
        """Raises `BadInput` where a scenario outside of the repository names files inside, which are those of the change."""
        named = [Path(os.path.expanduser(each)) for each in paths_named(scenario)]
        inside = [each for each in named if (there := scenario.parent / each).exists() and self._inside(there) is not None]
        if inside:
            raise BadInput(*(f"{option} {scenario}: {each}: {_ABSOLUTE}" for each in inside))

    def _of_base(self, path: Path) -> Path | None:
        """The copied file or folder of the base; None where the repository or its base has none."""
        inside = self._inside(path)
        if inside is None:
            return None
        self.places.append(inside)
        return self.folder / inside if git_changes.take_out(self.repo, self.commit, inside, self.folder) else None

    def _inside(self, path: Path) -> str | None:
        return _place(path, self.top, self.tops)


_ABSOLUTE = (
    "names a file of the gated repository as the change has it, which would judge itself: put the scenario into the repository too, and "
    "name the file relative to it"
)
_OUTSIDE = "leads out of the gated repository, whose base can't vouch for it: name it by an absolute path, or put it into the repository"
_SUFFIXES = (".py", ".diff", ".patch", ".txt", ".json", ".jsonl", ".yaml")


def paths_named(file: Path) -> list[str]:
    """The texts of a scenario file that may be paths, wherever they stand in it; none of a file that can't be read as one."""
    try:
        return list(dict.fromkeys(_paths_in(read_mapping(file))))
    except BadInput:
        return []  # reading the scenario itself will name the fault


def _paths_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if (os.sep in value or value.endswith(_SUFFIXES)) and len(value) < LONGEST_PATH and not {"\n", "\0"} & set(value):
            yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _paths_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _paths_in(each)


def _policy_in(project: Project | None) -> str | None:
    """The policy that decides where none is named."""
    return str(project.policy) if project is not None and project.policy.is_file() else None


def _place(path: Path, top: Path | None, tops: dict[Path, Path | None] | None = None) -> str | None:
    """A path relative to the top of this repository, if it belongs to it; a checkout within it is another repository. `tops` keeps what git
    said of folders."""
    if top is None:
        return None
    tops = {} if tops is None else tops
    absolute = Path(os.path.abspath(path))
    if absolute.is_relative_to(top) and any(one.is_symlink() for one in absolute.parents if one != top and one.is_relative_to(top)):
        return str(absolute.relative_to(top))  # a change may redirect a folder with a link: the base has the real one
    parent = Path(os.path.realpath(os.path.abspath(path.parent)))
    while not parent.is_dir():
        parent = parent.parent
    real = Path(os.path.realpath(os.path.abspath(path.parent)), path.name)
    if parent not in tops:
        tops[parent] = git_changes.top(parent)
    return str(real.relative_to(top)) if tops[parent] == top and real.is_relative_to(top) else None


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def refuse_own(repo: Path, base: str, files: Files) -> None:
    """Raises `BadInput` where the change alters perfproof itself and its version of perfproof runs here."""
    inside = _place(PACKAGE, git_changes.top(repo))
    changed = [path for path in (*files.astray, *files.other) if inside and _below(path, inside)]
    if changed and git_changes.resolved(str(repo), "HEAD") != git_changes.resolved(str(repo), base):
        raise BadInput(f"the change alters perfproof itself ({few(changed)}), which would judge it: run the gate from a checkout of {base}")


@contextlib.contextmanager
def as_of(base: str, folder: Path) -> Iterator[None]:
    """Shows faults of files in `folder` as faults of the base's files."""
    try:
        yield
    except BadInput as error:
        raise BadInput(*(fault.replace(f"{folder}/", f"{base}:") for fault in error.faults)) from error
