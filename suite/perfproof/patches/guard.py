"""The guard of all patches.

A patch names what it replaces (`Target`), for which vLLM versions and platforms its equivalence
test has run (`holds`), and how the replaced source reads there (a hash). `Patch.apply` checks all
of that inside the process that vLLM starts, replaces the targets, and leaves an attestation on
disk: what was applied to which vLLM files, and how often each target was called.

It refuses, with a reason, a version, a platform or a source that was not tested;
`PERFPROOF_ALLOW_UNVERIFIED=1` runs the patch anyway, and the attestation records that. A target that is
missing, or that another patch holds, is always refused.
Importing this module imports neither vLLM nor torch: vLLM swallows an exception raised while a
plugin is imported and would then serve unpatched.

Environment (set by the runner, harmless when absent):

- `PERFPROOF_ATTEST`: the folder that takes `<pid>.json` and `<pid>.counts`;
- `PERFPROOF_WATCH`: targets to count in every arm, patched or not, separated by spaces;
- `PERFPROOF_ALLOW_UNVERIFIED`: `1` lets a patch run where it was not tested.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import mmap
import os
import platform
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfproof.patches import attestation_report

SLOT = 128
"""Bytes a counter takes in a `.counts` file: its name in UTF-8, zero-padded, then a little-endian u64."""
SLOTS = 256


class PatchRefused(RuntimeError):
    """A patch was not tested with this vLLM."""


@dataclass(frozen=True)
class Target:
    """One function of vLLM that a patch replaces.

    `sources` maps a vLLM release ("0.22.0") to `source_hash` of the function as released.
    """

    module: str
    qualname: str
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.module}:{self.qualname}"


@dataclass(frozen=True)
class Patch:
    """One switchable change to vLLM.

    `direction` is `adds` (brings the optimisation) or `removes` (takes it away again, for versions
    that have it). `holds` maps a release to the platforms ("cpu", "cuda") where the equivalence test ran.
    A patch with `changes_numerics` may change answers: differences from the baseline are reported, and accuracy decides.
    """

    name: str
    direction: str
    summary: str
    origin: str
    holds: Mapping[str, frozenset[str]]
    targets: tuple[Target, ...]
    changes_numerics: bool = False

    def apply(self, replacements: Mapping[str, Callable[..., Any]] | Callable[[], Mapping[str, Callable[..., Any]]]) -> None:
        """Checks this vLLM, then replaces every target; does nothing in a second call, or if `VLLM_PLUGINS` does not name the patch.

        `replacements` maps a target's `qualname` (or `module:qualname` where two targets share one) to
        the new function, or is a function that returns that mapping once the checks have passed.
        Raises `PatchRefused` for a vLLM that was not tested.
        """
        if not asked_for(self.name):
            return
        attestation = Attestation.current()
        if self.name in attestation.patches:
            return
        release, device = vllm_release(), device_type()
        obstacles, faults = self.obstacles(), self.faults(release, device)
        allowed = os.environ.get("PERFPROOF_ALLOW_UNVERIFIED") == "1"
        if obstacles or (faults and not allowed):
            reason = f"patch {self.name} refused: " + "; ".join(faults + obstacles)
            attestation.refuse(self.name, reason)
            raise PatchRefused(reason)
        new = replacements() if callable(replacements) else replacements
        for target in self.targets:
            replace(target, new[target.name] if target.name in new else new[target.qualname])
            _holders[target.name] = self.name
        attestation.applied(self, verified=not faults, faults=faults)

    def obstacles(self) -> list[str]:
        """Why this patch can't be applied at all, whatever was tested."""
        absent = [f"this vLLM has no {target.name}" for target in self.targets if not exists(target)]
        held = [(target, _holders[target.name]) for target in self.targets if target.name in _holders]
        return absent + [f"{target.name} is held by patch {holder} already" for target, holder in held]

    def faults(self, release: str, device: str) -> list[str]:
        """Why this patch must not run on that release and platform as installed here; empty if it may."""
        if release not in self.holds:
            return [f"it was tested with vLLM {', '.join(sorted(self.holds, key=release_key))}, this is {release}"]
        faults = []
        if device not in self.holds[release]:
            faults.append(f"with vLLM {release} it was tested on {', '.join(sorted(self.holds[release]))}, this is {device}")
        for target in filter(exists, self.targets):
            want, have = target.sources.get(release), source_hash(original_of(target))
            if have != want:
                faults.append(f"{target.name} of this vLLM {release} is not the one tested (source {have}, tested {want})")
        return faults


def asked_for(name: str) -> bool:
    """Whether `VLLM_PLUGINS` names a patch. If it is unset, vLLM loads everything that is installed, but a user who installs the suite does
    not want all its patches at once."""
    return name in os.environ.get("VLLM_PLUGINS", "").split(",")


def vllm_release() -> str:
    """The release part of vLLM's version, "0.22.0" for "0.22.0+cpu"."""
    import vllm

    match = re.match(r"\d+\.\d+\.\d+", vllm.__version__)
    return match.group() if match else vllm.__version__


def release_key(release: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", release))


def device_type() -> str:
    """vLLM's own name of the platform: "cpu" or "cuda"."""
    from vllm.platforms import current_platform

    return str(current_platform.device_type)


def source_hash(function: Any) -> str:
    """Sixteen hex digits of the SHA-256 of a function's source, dedented, without trailing blanks."""
    text = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


# --- replacing and counting -------------------------------------------------------------------

_holders: dict[str, str] = {}
"""Which patch of this process holds which target."""


def locate(target: Target) -> tuple[Any, str]:
    """The object that holds the target, and the attribute's name on it."""
    owner: Any = importlib.import_module(target.module)
    *path, attribute = target.qualname.split(".")
    for step in path:
        owner = getattr(owner, step)
    return owner, attribute


def exists(target: Target) -> bool:
    """Whether this vLLM has the target."""
    try:
        owner, attribute = locate(target)
        inspect.getattr_static(owner, attribute)
    except AttributeError:
        return False
    except ModuleNotFoundError as error:
        if error.name is None or not f"{target.module}.".startswith(f"{error.name}."):
            raise
        return False
    return True


def original_of(target: Target) -> Callable[..., Any]:
    """The target's released function, without counting wrapper and replacement."""
    owner, attribute = locate(target)
    held = inspect.getattr_static(owner, attribute)
    function: Callable[..., Any] = getattr(held, "__func__", held)
    while hasattr(function, "perfproof_original"):
        function = function.perfproof_original
    return function


def replace(target: Target, function: Callable[..., Any]) -> None:
    """Replaces the target by `function`; calls are counted under the target's name.

    Static and class methods stay what they were: `function` takes the arguments of the bare function. A
    function of a module is also replaced in every module that has imported it by name.
    """
    owner, attribute = locate(target)
    held = inspect.getattr_static(owner, attribute)
    counted = _counted(function, original_of(target), counter(f"calls {target.name}"))
    setattr(owner, attribute, type(held)(counted) if isinstance(held, (staticmethod, classmethod)) else counted)
    if inspect.ismodule(owner):
        for importer in [module for module in list(sys.modules.values()) if getattr(module, "__dict__", {}).get(attribute) is held]:
            setattr(importer, attribute, counted)


def holder_of(target: str) -> str:
    """The patch that holds a target (`module:Qual.name`) in this process; "" for none."""
    return _holders.get(target, "")


def hold(targets: Iterable[str], patch: str) -> None:
    """The patch holds these targets from now on."""
    _holders.update(dict.fromkeys(targets, patch))


def counted_under(name: str, function: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """The function, its calls counted under a target's name."""
    return _counted(function, original, counter(f"calls {name}"))


def watch(target: Target) -> None:
    """Counts the calls of a target, patched or not, from the moment its module is imported."""
    when_imported(target.module, lambda: _watch_now(target))


def _watch_now(target: Target) -> None:
    try:
        owner, attribute = locate(target)
        held = inspect.getattr_static(owner, attribute)
    except AttributeError:
        Attestation.current().unwatchable(target.name)
        return
    function = getattr(held, "__func__", held)
    if isinstance(function, _BUILT_IN):  # Python's own, which this arm's class inherits
        Attestation.current().unwatchable(target.name)
    elif not hasattr(function, "perfproof_original"):
        replace(target, function)


_BUILT_IN = (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType, types.BuiltinFunctionType)


def _counted(function: Callable[..., Any], original: Callable[..., Any], count: Counter) -> Callable[..., Any]:
    @functools.wraps(original)
    def counted(*args: Any, **kwargs: Any) -> Any:
        count._cell[0] += 1  # `count.add()` inlined: this runs in every measured call, in every arm
        return function(*args, **kwargs) if kwargs else function(*args)

    counted.perfproof_original = original  # type: ignore[attr-defined]
    return counted


class _ImportHook(importlib.abc.MetaPathFinder):
    """Calls back once a module has been imported, without importing it early."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Callable[[], None]]] = {}

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name not in self.waiting:
            return None
        callbacks = self.waiting.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            for callback in callbacks:
                callback()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_hook = _ImportHook()


def when_imported(module: str, callback: Callable[[], None]) -> None:
    """Runs `callback` now if `module` is imported, else right after its import."""
    if module in sys.modules:
        callback()
        return
    if _hook not in sys.meta_path:
        sys.meta_path.insert(0, _hook)
    _hook.waiting.setdefault(module, []).append(callback)


# --- attestation --------------------------------------------------------------------------------


class Counter:
    """A count that survives the death of its process, in a memory-mapped file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._cell = memoryview(bytearray(8)).cast("Q")

    @property
    def value(self) -> int:
        return int(self._cell[0])

    def add(self, amount: int = 1) -> None:
        self._cell[0] += amount


_counters: dict[str, Counter] = {}


@contextlib.contextmanager
def not_attested() -> Iterator[None]:
    """What is called within is in no attested count: work that is counted or checked beside what a trial measures proves nothing of it."""
    before = {name: count.value for name, count in _counters.items()}
    try:
        yield
    finally:
        for name, count in _counters.items():
            count._cell[0] = before.get(name, 0)


def counter(name: str) -> Counter:
    """The counter of that name in this process; `fast NAME` and `fallback NAME` are how patches count their paths."""
    if name not in _counters:
        _counters[name] = Counter(name)
        Attestation.current().keep(_counters[name])
    return _counters[name]


class Attestation:
    """This process's attestation, on disk from the first moment on."""

    _current: Attestation | None = None

    def __init__(self) -> None:
        self.patches: dict[str, Any] = {}
        self._refused: dict[str, str] = {}
        self._unwatchable: list[str] = []
        self._ended: list[dict[str, int]] = []
        folder = os.environ.get("PERFPROOF_ATTEST")
        self.folder = Path(folder) if folder else None
        self._cells: memoryview | None = None
        self._used = 0
        if self.folder is not None:
            self._open(self.folder)

    @classmethod
    def current(cls) -> Attestation:
        if cls._current is None:
            cls._current = Attestation()
        return cls._current

    def _open(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{os.getpid()}.counts"
        with open(path, "w+b") as file:
            file.write(bytes(SLOT * SLOTS))  # a sparse file on a full disk would end the process at its first count (SIGBUS)
            file.flush()
            self._cells = memoryview(mmap.mmap(file.fileno(), SLOT * SLOTS))

    def keep(self, count: Counter) -> None:
        """Moves a counter into the file, with its present count."""
        if self._cells is None:
            return
        if self._used == SLOTS:
            raise RuntimeError(f"more than {SLOTS} counters in one process")
        start = self._used * SLOT
        name = count.name.encode()
        if len(name) > SLOT - 9:
            raise ValueError(f"a counter's name takes at most {SLOT - 9} bytes: {count.name}")
        self._cells[start : start + len(name)] = name
        cell = self._cells[start + SLOT - 8 : start + SLOT].cast("Q")
        cell[0] = count.value
        count._cell = cell
        self._used += 1

    def applied(self, patch: Patch, *, verified: bool, faults: list[str]) -> None:
        self.patches[patch.name] = {
            "direction": patch.direction,
            "verified": verified,
            "faults": faults,
            "changes_numerics": patch.changes_numerics,
            "targets": {target.name: source_hash(original_of(target)) for target in patch.targets},
        }
        self.write()

    def refuse(self, name: str, reason: str) -> None:
        self._refused[name] = reason
        self.write()

    def unwatchable(self, name: str) -> None:
        self._unwatchable.append(name)
        self.write()

    def ended(self, pid: int, signal: int) -> None:
        """Records that a signal from outside ended a process that this one had started."""
        self._ended.append({"pid": pid, "signal": signal})
        with contextlib.suppress(OSError):  # the code that polled the process must not see our error
            self.write()

    def write(self) -> None:
        """Writes `<pid>.json` with a rename, so that a reader never sees half of it."""
        if self.folder is None:
            return
        import vllm

        torch = sys.modules.get("torch")
        content = {
            "pid": os.getpid(),
            "python": platform.python_version(),
            "vllm_file": vllm.__file__,
            "vllm_version": vllm.__version__,
            "torch_version": str(torch.__version__) if torch is not None else None,
            "patches": self.patches,
            "refused": self._refused,
            "unwatchable": self._unwatchable,
            "ended": self._ended,
            "plugins": attestation_report.plugins(),
            "variables": attestation_report.variables(),
            "unknown": attestation_report.unknown(),
        }
        path = self.folder / f"{os.getpid()}.json"
        draft = path.with_suffix(".json.new")
        draft.write_text(json.dumps(content, indent=1))
        draft.replace(path)


def _after_fork() -> None:
    """A forked process attests for itself, from zero."""
    parent = Attestation._current
    if parent is None:
        return
    child = Attestation()
    child.patches, child._refused, child._unwatchable = dict(parent.patches), dict(parent._refused), list(parent._unwatchable)
    Attestation._current = child
    for count in _counters.values():
        count._cell = memoryview(bytearray(8)).cast("Q")
        child.keep(count)
    child.write()


os.register_at_fork(after_in_child=_after_fork)


def _watch_children() -> None:
    """Records the signal that ended a process of `multiprocessing`, unless this process sent it.

    Only the parent learns how a process ended, and vLLM's parent only logs that its engine died: a kill from outside would
    look like a crash.
    """
    popen: Any = sys.modules["multiprocessing.popen_fork"].Popen
    if hasattr(popen, "perfproof_watches"):
        return
    poll, send = popen.poll, popen._send_signal

    def polled(self: Any, flag: int = os.WNOHANG) -> int | None:
        before = self.returncode
        code: int | None = poll(self, flag)
        if before is None and code is not None and code < 0 and not hasattr(self, "perfproof_asked"):
            Attestation.current().ended(self.pid, -code)
        return code

    def sent(self: Any, number: int) -> None:
        if polled(self) is None:  # vLLM also asks dead engines to end: such a request ended nothing
            self.perfproof_asked = True
        send(self, number)

    popen.poll, popen._send_signal, popen.perfproof_watches = polled, sent, True


def attest() -> None:
    """The plugin of every arm, also the unpatched one: attests what this process runs and its environment, and counts the watched
    targets."""
    attestation = Attestation.current()
    when_imported("multiprocessing.popen_fork", _watch_children)
    for name in os.environ.get("PERFPROOF_WATCH", "").split():
        module, _, qualname = name.partition(":")
        watch(Target(module, qualname))
    attestation_report.watch_loading(attestation.write)
    attestation.write()
