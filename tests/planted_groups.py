"""A slowdown planted in each part of a step, and a harmless twin: `python -m tests.planted_groups` says which of them were found.

One build has every slowdown (`scenarios/diffs/slower_NAME.diff`), another every twin (`same_NAME.diff`); a benchmark of each part runs in
both and in the release. Without options only work is counted, in `--repetitions` blocks with processes of their own: that holds on a busy
machine, and no time is kept. `--times` has `perfproof run` measure the quick profile of each, on a quiet machine. Records lie below
`--results`, in `counts` and `times`; the same command goes on where it was broken off. `--page FILE` measures nothing and writes the table.

Found by counts: some count of the round is *regressed*, and of all functions the changed one alone does more. A twin is found where any
count or any function differs. By time the verdict on `round_time` says so: *regressed*, or anything else.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof import planning, store
from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.trials.invalidation import NOISE_ALLOWED
from perfproof.analysis.trials.paired_trials import latest
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.commands.run_scenarios import load
from perfproof.executor import ruled
from perfproof.model.documents.decode import DEFAULT_BUILD
from perfproof.model.records.counts import outermost
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.runners import opened

DIFFS = PACKAGE.parents[1] / "scenarios" / "diffs"
SEED, BLOCKS, REPETITIONS = 26, 6, 3
COUNTED_ALONE: Mapping[str, Any] = {"rounds": 2, "warmup_rounds": 0}
"""The rounds of a trial of which only the counted one matters."""
NO_FAULT = (0, 1)
"""Exit codes of `perfproof run` where everything was measured: nothing regressed, or something did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a step: a benchmark of it, the parameters that differ from its defaults, the `name` of its two diffs, and the function
    (`module:Qual.name`) that they change."""

    group: str
    bench: str
    parameters: Mapping[str, Any]
    name: str
    function: str

    @property
    def scenario(self) -> str:
        return self.bench.replace("/", "_")


def _part(bench: str, name: str, function: str, **parameters: Any) -> Part:
    group = bench.partition("/")[0].replace("_", " ")
    return Part(group=group, bench=bench, parameters=parameters, name=name, function=f"vllm.{function}")


PARTS = (
    _part("arrival/process_inputs", "arrival", "v1.engine.input_processor:InputProcessor.process_inputs", requests=8),
    _part("scheduler/schedule_decode", "schedule", "v1.core.sched.scheduler:Scheduler.schedule", requests=128),
    _part("kv_cache/hash_request", "block_hash", "v1.core.kv_cache_utils:hash_block_tokens", tokens=1_024, rounds=60),
    _part("input_preparation/condense", "condense", "v1.worker.gpu_input_batch:InputBatch.condense", requests=16, leaving=4),
    _part("sampling/greedy", "sampler", "v1.sample.sampler:Sampler.forward", requests=32),
    _part("outputs/detokenizer", "detokenizer", "v1.engine.detokenizer:BaseIncrementalDetokenizer.get_next_output_text", requests=4),
    _part(
        *("structured_output/apply_bitmask", "bitmask", "v1.structured_output.utils:apply_grammar_bitmask"),
        requests=128,
        structured=64,
        vocabulary=2_048,
    ),
    _part("features/image_hash", "image_hash", "multimodal.hasher:MultiModalHasher.hash_kwargs", images=1, side=224),
    _part("speculation/ngram", "ngram", "v1.spec_decode.ngram_proposer:NgramProposer.batch_propose", requests=64, prompt_tokens=64),
    _part("process/core_step", "core_step", "v1.engine.core:EngineCore._attach_weight_version", requests=64),
)


# --- asked ------------------------------------------------------------------------------------------------


def merged(kind: str) -> str:
    """All diffs of a kind, `slower` or `same`, in one."""
    return "".join((DIFFS / f"{kind}_{part.name}.diff").read_text(encoding="utf-8") for part in PARTS)


def scenario_text(part: Part, more: Mapping[str, Any]) -> str:
    """The scenario of a part as a file, its diffs beside it; `more` are further parameters."""
    build = {"kind": "release", **{key: DEFAULT_BUILD[key] for key in ("distribution", "version")}}
    document = {
        "schema": 1,
        "question": f"Is the slowdown in {part.name} found, and its harmless twin not?",
        "workload": {"kind": "micro", "bench": part.bench, "parameters": {**part.parameters, **more}},
        "builds": {"released": build, **{k: {"kind": "overlay", "base": "released", "diff": f"{k}.diff"} for k in ("slower", "same")}},
        "arms": {"released": {"baseline": True, "build": "released"}, "slower": {"build": "slower"}, "same": {"build": "same"}},
        "metrics": {"round_time": {"primary": True, "margin": 0.05}},
        "profiles": {"quick": {"blocks": BLOCKS}},
    }
    return json.dumps(document)


def written(folder: Path, more: Mapping[str, Any]) -> list[Path]:
    """The scenarios of all parts as files in a folder."""
    for kind in ("slower", "same"):
        (folder / f"{kind}.diff").write_text(merged(kind), encoding="utf-8")
    files = [folder / f"{part.scenario}.yaml" for part in PARTS]
    for part, file in zip(PARTS, files, strict=True):
        file.write_text(scenario_text(part, more), encoding="utf-8")
    return files


# --- measured ---------------------------------------------------------------------------------------------


def count(scenarios: Sequence[Scenario], repetitions: int, builds: Path, results: Path) -> None:
    """Counts a round of every part in every build, so many times, as far as that was not done."""
    plan = planning.some_blocks(planning.make_plan(scenarios, SEED), range(1, repetitions + 1))
    there = {record.trial for record in store.records_in(results) if record.status == "ok"} if results.is_dir() else set()
    wanted = [(block, [arm for arm in block.order if (block.scenario.name, block.number, arm) not in there]) for block in plan.blocks]
    missing = [(block, arms) for block, arms in wanted if arms]
    if not missing:
        return
    with opened(plan, builds, results, print) as runner_for:
        for block, arms in missing:
            for record in runner_for(block.scenario).trials(block, arms):
                kept = dataclasses.replace(ruled(record, NOISE_ALLOWED), measurements={}, raw={})
                store.append(results, kept)
                print(f"repetition {block.number}: {record.scenario}, {record.arm}: {record.status} {record.reason}", flush=True)


def time(files: Sequence[Path], builds: Path, results: Path) -> int:
    """Measures the quick profile of every part, as far as that was not done; the exit code of `perfproof run`."""
    command = [sys.executable, "-m", "perfproof", "run", *map(str, files), "--profile", "quick", "--seed", str(SEED)]
    return subprocess.run([*command, "--results", str(results), "--builds", str(builds)], check=False).returncode


# --- judged -----------------------------------------------------------------------------------------------


def work(record: Record) -> dict[str, tuple[int, int]]:
    """The instructions and calls of each function in a trial's round; what is defined within a function is its own."""
    assert record.status == "ok" or "CPU time went to other processes" in record.reason, record.reason
    (table,) = record.counts.values()
    found: dict[str, tuple[int, int]] = {}
    for name, (instructions, calls, *_) in table["functions"].items():
        instructions_before, calls_before = found.get(outermost(name), (0, 0))
        found[outermost(name)] = (instructions_before + instructions, calls_before + calls)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """One repetition of a part: the lines of its counts, the functions whose work differs from the release's (in the slower build and in
    the twin's), and the share of the processor that other processes took, in the trial where it was largest."""

    rows: Sequence[Judged]
    slower: frozenset[str]
    same: frozenset[str]
    foreign: float

    def found(self, part: Part) -> bool:
        """Whether the planted slowdown shows, and nothing else does."""
        return self.slower == {part.function} and Outcome.REGRESSED in {row.verdict for row in self.rows if row.candidate == "slower"}

    def twin_found(self) -> bool:
        """Whether anything of the twin's differs."""
        return bool(self.same) or {row.verdict for row in self.rows if row.candidate == "same"} != {Outcome.IDENTICAL}


def repetitions_of(records: Iterable[Record], part: Part) -> Iterator[Counted]:
    """The repetitions of a part, in their order; one that lacks a build is left out."""
    own = [record for record in latest(list(records)) if record.scenario == part.scenario and record.status == "ok"]
    for number in sorted({record.block for record in own}):
        block = {record.arm: record for record in own if record.block == number}
        if set(block) == {"released", "slower", "same"}:
            (judged,) = judge_records(list(block.values()))
            tables = {arm: work(record) for arm, record in block.items()}
            yield Counted(
                rows=[row for row in judged.judged if row.of_host],
                slower=differing(tables["released"], tables["slower"]),
                same=differing(tables["released"], tables["same"]),
                foreign=max(float(record.environment.get("telemetry", {}).get("foreign", 0.0)) for record in block.values()),
            )


def differing(before: Mapping[str, object], after: Mapping[str, object]) -> frozenset[str]:
    """The functions whose work is not the same."""
    return frozenset(name for name in {**before, **after} if before.get(name) != after.get(name))


def timed(records: Iterable[Record], part: Part) -> dict[str, Judged]:
    """The verdicts on the time of a round by arm; none where it was not measured."""
    own = [record for record in records if record.scenario == part.scenario]
    return {row.candidate: row for one in judge_records(own) for row in one.judged if row.metric == "round_time"} if own else {}


# --- told -------------------------------------------------------------------------------------------------


def table(counts: Sequence[Record], times: Sequence[Record]) -> list[str]:
    """The lines of the table, a row a part."""
    head = "| part | what is planted | found by counts | Python instructions | its twin, by counts | by time | its twin, by time |"
    rows = [head, "| --- | --- | --- | ---: | --- | ---: | ---: |"]
    for part in PARTS:
        every, by_time = list(repetitions_of(counts, part)), timed(times, part)
        found, twin = sum(one.found(part) for one in every), sum(one.twin_found() for one in every)
        moved = sorted({_moved(one.rows) for one in every})
        cells = [part.group, f"[`{part.name}`](../scenarios/diffs/slower_{part.name}.diff)", f"{found} of {len(every)}"]
        cells += [
            ", ".join(moved) or "–",
            f"found in {twin} of {len(every)}",
            _in_words(by_time.get("slower")),
            _in_words(by_time.get("same")),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _moved(rows: Sequence[Judged]) -> str:
    row = next((row for row in rows if row.candidate == "slower" and row.metric == "python_instructions"), None)
    if row is None or row.baseline_value is None or row.candidate_value is None:
        return "not known"
    return f"{row.baseline_value:,.0f} → {row.candidate_value:,.0f}"


def _in_words(row: Judged | None) -> str:
    if row is None:
        return "–"
    if row.effect is None or row.interval is None:
        return f"{row.verdict}"
    low, high = row.interval
    return f"{row.verdict}: {100 * row.effect:+.1f} % [{100 * low:+.1f}, {100 * high:+.1f}]".replace("-", "−")


def failures(counts: Sequence[Record], times: Sequence[Record], repetitions: int) -> Iterator[str]:
    """What was not as it should be, of what was measured."""
    for part in PARTS:
        if counts:
            every = list(repetitions_of(counts, part))[:repetitions]
            if len(every) < repetitions:
                yield f"{part.bench}: counted in {len(every)} of {repetitions} repetitions"
            for number, one in enumerate(every, start=1):
                if not one.found(part):
                    moved = ", ".join(sorted(one.slower)) or "no function moved"
                    yield f"{part.bench}, repetition {number}: the slowdown was not found ({moved})"
                if one.twin_found():
                    yield f"{part.bench}, repetition {number}: the twin was found ({', '.join(sorted(one.same))})"
        if times:
            by_time = timed(times, part)
            if "slower" not in by_time or by_time["slower"].verdict is not Outcome.REGRESSED:
                yield f"{part.bench}: the slowdown was not found by time: {_in_words(by_time.get('slower'))}"
            if "same" in by_time and by_time["same"].verdict is Outcome.REGRESSED:
                yield f"{part.bench}: the twin was found by time: {_in_words(by_time['same'])}"


PAGE = """\
# Planted slowdowns

Each part of a step has a slowdown in the shape of a real one, laid over vLLM {version} as a diff, and a harmless twin, such as a variable
by another name ([hot-paths.md](hot-paths.md)). One build has all slowdowns, another all twins. Made by `python -m tests.planted_groups`;
nothing on this page is typed by hand.

{words}

{table}

*Found by counts*: some count of the round is *regressed*, and of all functions of vLLM the changed one alone does more. A twin counts as
found where anything differs. Counts are those of the size that a benchmark counts at, times those of the quick profile ({blocks} blocks,
margin 5 %). To measure it again:

```sh
python -m tests.planted_groups --repetitions {repetitions}      # counts, also on a busy machine
python -m tests.planted_groups --times                # times, on a quiet one
python -m tests.planted_groups --page docs/planted-slowdowns.md
```
"""


def page(counts: Sequence[Record], times: Sequence[Record], repetitions: int) -> str:
    """The page of what was measured."""
    words = [f"Counted {repetitions} times beside other work{_foreign(counts)}."]
    words += [f"Timed on {_machine(times)}." if times else "No times were measured yet."]
    bad = [f"- {sentence}" for sentence in failures(counts, times, repetitions)]
    faults = ["", "Not as it should be:", "", *bad] if bad else []
    lines = "\n".join([" ".join(words), *faults])
    made = {"words": lines, "table": "\n".join(table(counts, times)), "blocks": BLOCKS, "repetitions": repetitions}
    return PAGE.format(version=DEFAULT_BUILD["version"], **made)


def _foreign(counts: Sequence[Record]) -> str:
    shares = [float(record.environment.get("telemetry", {}).get("foreign", 0.0)) for record in counts]
    return f", which took {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the processor" if shares else ""


def _machine(records: Sequence[Record]) -> str:
    known = records[0].environment
    return f"{known.get('cores', '?')} cores of {known.get('processor', 'an unknown processor')}"


def kept(folder: Path) -> Sequence[Record]:
    return store.records_in(folder) if folder.is_dir() else ()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.planted_groups", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--builds", type=Path, default=Path("builds"))
    parser.add_argument("--results", type=Path, default=Path("results/planted_groups"))
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="of counting (default %(default)s)")
    parser.add_argument("--times", action="store_true", help="measure times, for which the machine has to be quiet")
    parser.add_argument("--page", type=Path, metavar="FILE", help="measure nothing, and write the page of what was measured")
    asked = parser.parse_args(argv)
    if not 1 <= asked.repetitions <= BLOCKS:
        parser.error(f"--repetitions {asked.repetitions}: from 1 to {BLOCKS}")
    if asked.page is None:
        with tempfile.TemporaryDirectory() as spare:
            files = written(Path(spare), {} if asked.times else COUNTED_ALONE)
            if asked.times and (code := time(files, asked.builds, asked.results / "times")) not in NO_FAULT:
                return code
            if not asked.times:
                count(load(files, "quick", None), asked.repetitions, asked.builds, asked.results / "counts")
    counts, times = kept(asked.results / "counts"), kept(asked.results / "times")
    if asked.page is not None:
        asked.page.write_text(page(counts, times, asked.repetitions), encoding="utf-8")
    print("\n".join(table(counts, times)))
    bad = list(failures(counts, times, asked.repetitions))
    print("\n".join(bad) or "everything that was planted was found, and no twin")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
