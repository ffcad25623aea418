"""The command's sentences, its JSON, and docs/coverage.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from perfproof.changes.coverage.coverage_figures import MOST, OF_BENCHMARK, STARTS, STEP, Coverage, Share, of_steps
from perfproof.changes.observed.observed_calls import SERVER, START

SCHEMA = 1


def sentences(found: Coverage) -> list[str]:
    """The figures, in sentences."""
    lines = [
        f"vLLM {found.version}: of {found.steps.of:,} functions that the counted engine's steps call in vllm/v1 ({', '.join(STEP)}), "
        f"{_of(found.steps)} are called by a microbenchmark of at most {MOST} functions"
    ]
    if found.changed is not None:
        left = sum(found.excluded.values())
        lines.append(
            f"of {found.changed.of:,} functions in vllm/v1 that differ from {found.since}, {_of(found.changed)} are called by some "
            f"scenario; {left:,} more differ in what is left out: {_parts(found.excluded)}"
        )
        if beyond := sum(found.beyond.values()):
            rest = found.changed.of - beyond
            lines.append(
                f"of the {len(found.changed.missing):,} of them that nothing calls, one CPU can't run {beyond:,}: {_parts(found.beyond)}; "
                f"of the other {rest:,}, {100 * len(found.changed.called) / rest:.1f} % are called"
            )
    lines.append(f"of {len(found.defined):,} functions in vllm/v1, {len(found.called):,} are called by some scenario")
    if found.large:
        more = ", ".join(f"{name} ({count})" for name, count in sorted(found.large.items()))
        lines.append(f"microbenchmarks that call more than {MOST} functions, and do not count for the first figure: {more}")
    return lines


def document(found: Coverage, unseen: Sequence[str]) -> dict[str, Any]:
    """As JSON: the figures with the names behind them."""
    return {
        "schema": SCHEMA,
        "version": found.version,
        "steps": _share(found.steps),
        "since": found.since or None,
        "changed": None
        if found.changed is None
        else {**_share(found.changed), "excluded": dict(found.excluded), "beyond": dict(found.beyond)},
        "functions": len(found.defined),
        "called": {name: list(found.called[name]) for name in sorted(found.called)},
        "benchmarks": dict(sorted({**found.large, **found.partial}.items())),
        "warnings": list(unseen),
    }


def _share(share: Share) -> dict[str, Any]:
    return {"of": share.of, "called": len(share.called), "missing": sorted(share.missing)}


def _of(share: Share) -> str:
    return f"{len(share.called):,} ({100 * share.share:.1f} %)"


def _parts(parts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in parts.items())


# --- the page ------------------------------------------------------------------------------------------------------


def page(found: Coverage, build: str) -> str:
    """docs/coverage.md."""
    return "\n".join([*_head(found, build), *_folders(found), *_benchmarks(found), *_missing(found), *_nobody(found)]) + "\n"


def _head(found: Coverage, build: str) -> Iterator[str]:
    since = f" --since {found.since}" if found.since else ""
    yield "# Coverage of vLLM's host code\n"
    yield (
        "Which functions of vLLM's host code the scenarios call: every feature of the [counted engine](counting.md), its start included,\n"
        "every [microbenchmark](hot-paths.md) and a server from its start to its end, each once. The command writes this page:\n"
    )
    yield f"```sh\nperfproof coverage --build {build}{since} --page docs/coverage.md\n```\n"
    yield "\n".join(f"- {line}" for line in sentences(found)) + "\n"
    yield (
        "A function is what a file defines by name in a module or a class; what is written inside it belongs to it. Comments, layout\n"
        "and docstrings are no difference between two releases. Functions that a CPU can't run (Triton, several devices) count as missing\n"
        "unless they are left out above.\n"
    )


def _folders(found: Coverage) -> Iterator[str]:
    """A row for each part of `vllm/v1`."""
    yield "## By folder\n"
    yield "| vllm/v1 | functions | called by a feature's steps | at its engine's start | by a microbenchmark | by a server | by nothing |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    parts = sorted({_part(name) for name in found.defined})
    for part in parts:
        names = [name for name in found.defined if _part(name) == part]
        by = [found.called.get(name, ()) for name in names]
        counts = (
            len(names),
            sum(any(map(of_steps, subjects)) for subjects in by),
            sum(not {START, *STARTS}.isdisjoint(subjects) for subjects in by),
            sum(any(one.startswith(OF_BENCHMARK) for one in subjects) for subjects in by),
            sum(SERVER in subjects for subjects in by),
            sum(not subjects for subjects in by),
        )
        yield f"| {part} | " + " | ".join(f"{count:,}" for count in counts) + " |"
    yield ""


def _benchmarks(found: Coverage) -> Iterator[str]:
    yield "## By microbenchmark\n"
    yield f"So many functions of vLLM run in its round; of more than {MOST} the first figure takes no notice.\n"
    yield "| `bench` | functions |"
    yield "| --- | ---: |"
    yield from (f"| `{name}` | {count:,} |" for name, count in sorted({**found.large, **found.partial}.items()))
    yield ""


def _missing(found: Coverage) -> Iterator[str]:
    yield "## Called in steps of the engine, by no microbenchmark\n"
    yield from _by_module(found.steps.missing)
    if found.changed is not None:
        yield f"## Different from {found.since}, and called by nothing\n"
        yield from _by_module(found.changed.missing)


def _nobody(found: Coverage) -> Iterator[str]:
    """The rest by module: how many functions nobody calls, named where a step may call them."""
    yield "## Called by nothing, by module\n"
    yield "| module | functions | called by nothing |"
    yield "| --- | ---: | ---: |"
    defined = Counter(_module(name) for name in found.defined)
    idle = Counter(_module(name) for name in found.defined - found.called.keys())
    yield from (f"| {module} | {defined[module]:,} | {count:,} |" for module, count in sorted(idle.items()))


def _by_module(names: Iterable[str]) -> Iterator[str]:
    """Functions in a list, by their module."""
    modules: dict[str, list[str]] = {}
    for name in sorted(names):
        modules.setdefault(_module(name), []).append(name.partition(":")[2])
    yield from (f"- `{module}` ({len(functions)}): {', '.join(functions)}" for module, functions in modules.items())
    yield "" if modules else "None.\n"


def _module(name: str) -> str:
    return name.partition(":")[0]


def _part(name: str) -> str:
    """The folder or module directly below `vllm.v1`; of `worker`, the folder `gpu` for itself."""
    parts = _module(name).split(".")[2:] or ["(itself)"]
    return "worker.gpu" if parts[:2] == ["worker", "gpu"] else parts[0]
