"""A wave: a number of requests are added, stepped to their end, and counted phase by phase.

The first waves are not counted: they warm up what is made once, and show which steps belong to which phase. All later ones do the same with
the same requests; a phase is counted until two waves agree to the last instruction. Between waves the prefix cache is emptied, unless the
feature is about what it holds.

Long outputs are scouted with short ones: a request gets a token a step, so that the steps of later tokens are known. The counted wave sees
that it was so. One wave of them is enough where another process has two that agree.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from perfproof.child.counting import Tally, equal, quiet, unsteady
from perfproof.child.engine import making
from perfproof.child.engine.features import DECODE, ENTERS, OUTPUT, Feature

MOST = 6
"""The most waves that are counted until two agree."""
LONGEST = 60.0
"""Seconds to wait for the grammars of structured outputs."""
STEPS = 6000
"""Steps of a wave, at most."""
SCATTER = 0.25
"""How much longer the second fastest of like waves may take than the fastest, where their times are to mean something."""
AROUND = 16
"""Steps of which the fastest stands for the last."""


class Stuck(RuntimeError):
    """The engine does not finish its requests, or not twice in the same way."""


@dataclass
class Wave:
    """The course of one wave: after every step the fewest tokens of any request, and how many requests had ended; the outputs, the seconds
    of each step and whether another process had the processor meanwhile, and the counts by phase."""

    least: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    outputs: dict[int, list[list[int]]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    disturbed: list[bool] = field(default_factory=list)
    counts: dict[str, Tally] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.least, self.ended, self.outputs


class Rounds:
    """The waves of one feature with so many requests on one engine."""

    def __init__(self, engine: Any, feature: Feature, requests: int, vocabulary: int, lora: Any = None) -> None:
        self.engine, self.feature, self.requests = engine, feature, requests
        self._prompts = [making.prompt(feature, number, vocabulary) for number in range(requests)]
        self._latest: dict[int, Any] = {}
        self._more = {} if lora is None else {"lora_request": lora}
        self._asked: list[tuple[str, list[int], Any]] = []

    def _ask(self, output: int) -> None:
        """New requests with outputs of so many tokens: vLLM writes into parameters, and takes another way where it has been before."""
        self._asked = [
            (str(number), list(prompt), making.parameters(self.feature, number, output)) for number, prompt in enumerate(self._prompts)
        ]

    def scout(self) -> tuple[Wave, dict[str, range]]:
        """Waves that are not counted, until two do the same; the last of them, and the steps of each phase."""
        output = OUTPUT if self.feature.positions else self.feature.output
        before = self.wave(None, {}, output)
        for _ in range(MOST):
            now = self.wave(None, {}, output)
            if now.shape == before.shape:
                return now, phases_of(now, self.feature)
            before = now
        raise Stuck("waves of the same requests took different steps, or had different outputs, each time")

    def counted(self, counter: Any, steps: dict[str, range], like: Wave | None, enough: int = 2) -> tuple[dict[str, list[Tally]], Wave]:
        """The counts of each phase, wave by wave, until every phase has `enough` that agree; and the wave that all were like, which is the
        first where none was scouted. Raises `Stuck` where one did other steps, or phases are not in these steps."""
        found: dict[str, list[Tally]] = {}
        for _ in range(MOST if enough > 1 else 1):
            wave = self.wave(counter, steps)
            like = like or wave
            if wave.shape != like.shape or not in_place(wave, self.feature, steps):
                raise Stuck("a wave that was counted took other steps than one that was not")
            for phase, tally in wave.counts.items():
                found.setdefault(phase, []).append(tally)
            if enough < 2 or all(agreed(tallies) is not None for tallies in found.values()):
                break
        return found, like

    def wave(self, counter: Any, steps: dict[str, range], output: int | None = None) -> Wave:
        """One wave, with outputs of so many tokens (None: as the feature has it); what lies in `steps` is counted."""
        self._ask(output or self.feature.output)
        if not self.feature.keeps:
            self.engine.reset_prefix_cache()
        wave, self._latest = Wave(), {}
        with quiet():
            self._phase(wave, "admission", counter, self._admit)
            self._wait_for_grammars()
            for number in range(STEPS):
                if not self.engine.has_unfinished_requests():
                    wave.outputs = {name: tokens_of(output) for name, output in self._latest.items()}
                    return wave
                phase = next((name for name, which in steps.items() if number in which), "")
                left, began = _interruptions(), time.perf_counter()
                outputs = self._phase(wave, phase, counter, self.engine.step)
                wave.seconds.append(time.perf_counter() - began)
                wave.disturbed.append(_interruptions() > left)
                self._note(wave, outputs)
        raise Stuck(f"requests had not ended after {STEPS} steps")

    def _admit(self) -> None:
        for name, prompt, parameters in self._asked:
            self.engine.add_request(name, {"prompt_token_ids": prompt}, parameters, **self._more)

    def _phase(self, wave: Wave, phase: str, counter: Any, work: Callable[[], Any]) -> Any:
        if counter is None or not phase:
            return work()
        counter.start()
        try:
            outputs = work()
        finally:
            tally = counter.stop()
        wave.counts[phase] = wave.counts[phase].plus(tally) if phase in wave.counts else tally
        return outputs

    def _note(self, wave: Wave, outputs: Sequence[Any]) -> None:
        """Notes the result of a step: every request's tokens so far, and which requests have ended."""
        for output in outputs:
            self._latest[int(output.request_id.split("-")[0])] = output
        lengths = [length_of(output) for output in self._latest.values()]
        wave.least.append(min(lengths) if len(lengths) == self.requests else 0)
        wave.ended.append((wave.ended[-1] if wave.ended else 0) + sum(bool(output.finished) for output in outputs))

    def _wait_for_grammars(self) -> None:
        """Waits for grammars: steps leave out requests while their grammar is compiled, so the number of steps would vary."""
        began = time.monotonic()
        while any(not ready for ready in map(_has_its_grammar, requests_of(self.engine))):
            if time.monotonic() - began > LONGEST:
                raise Stuck(f"a grammar was not compiled within {LONGEST:.0f} s")
            time.sleep(0.01)


def requests_of(engine: Any) -> list[Any]:
    """The scheduler's requests, if this release keeps them where other releases do."""
    core = getattr(engine.engine_core, "engine_core", None)
    return list(getattr(getattr(core, "scheduler", None), "requests", {}).values())


def _has_its_grammar(request: Any) -> bool:
    grammar_request = getattr(request, "structured_output_request", None)
    return grammar_request is None or bool(getattr(grammar_request, "is_grammar_ready", True))


def tokens_of(output: Any) -> list[list[int]]:
    """The token ids of a request's outputs; of an embedding one zero per number, because numbers may differ in their last digits."""
    if hasattr(output.outputs, "data"):
        return [[0] * int(output.outputs.data.numel())]
    return [[int(token) for token in one.token_ids] for one in output.outputs]


def length_of(output: Any) -> int:
    """The number of tokens of a request's shortest output so far; an embedding is complete at once."""
    return 1 if hasattr(output.outputs, "data") else min((len(one.token_ids) for one in output.outputs), default=0)


def phases_of(wave: Wave, feature: Feature) -> dict[str, range]:
    """The steps of each phase in waves like this one."""
    last = len(wave.least)
    finish = range(next(step for step in range(last) if wave.ended[step]), last)
    first = next(step for step in range(last) if wave.least[step] >= 1)
    if feature.pools:
        return {"prefill": range(last)}
    if feature.positions:
        found = {"prefill": range(first + 1)}
        for place in feature.positions:
            found[f"decode at {place:,}"] = range(first + place - 1, first + place)
        return {**found, "finish": range(first + feature.output - 1, first + feature.output)}
    found = {"prefill": range(first + 1), "finish": finish}
    decode = next((step for step in range(first + 1, finish.start) if wave.least[step] >= DECODE), None)
    if decode is not None:
        found["decode"] = range(decode, decode + 1)
    enters = next((step for step in range(first + 1, finish.start) if wave.least[step] >= ENTERS), None)
    if enters is not None and decode is not None and enters - 2 > decode:
        found["new block"] = range(enters - 2, enters + 1)
    return found


def in_place(wave: Wave, feature: Feature, steps: dict[str, range]) -> bool:
    """Whether a wave of long outputs came to its tokens in the steps that were foreseen."""
    places = {f"decode at {place:,}": place for place in feature.positions}
    there = all(wave.least[which.start] == places[name] for name, which in steps.items() if name in places)
    finish = steps.get("finish", range(0))
    return not places or (there and len(wave.least) == finish.stop and not wave.ended[finish.start - 1])


def timed(wave: Wave, steps: dict[str, range], counted: bool) -> dict[str, float]:
    """The seconds of a step of each phase; of a single one the least of those before it, since the machine may be busy. Of a wave that was
    `counted` only steps that were not."""
    found = {}
    for phase, which in steps.items():
        around = len(which) == 1 and which.start > AROUND
        stop = which.start if counted else which.stop
        if around or not counted:
            found[phase] = min(wave.seconds[stop - AROUND : stop] if around else wave.seconds[which.start : which.stop])
    return found


def outside_of(alone: Sequence[Wave], profiled: Sequence[Wave], steps: dict[str, range]) -> dict[str, dict[str, float]]:
    """The seconds of a step that went by in C functions, by phase and name, of the profiled wave in which they were fewest.

    A phase is left out unless two waves of either kind were not interrupted there and agree within `SCATTER`, and where C functions took
    more seconds than a step has: the machine was busy then, and a share of the step's time would mean nothing.
    """
    found = {}
    for phase, which in steps.items():
        whole = sorted(second for wave in alone if (second := _undisturbed(wave, which)) is not None)
        there = [
            wave.counts[phase].outside for wave in profiled if phase in wave.counts and not any(wave.disturbed[which.start : which.stop])
        ]
        there.sort(key=lambda outside: sum(outside.values()))
        if _agree(whole) and _agree([sum(outside.values()) for outside in there]):
            found[phase] = {name: second / len(which) for name, second in there[0].items()}
            if sum(found[phase].values()) > whole[0]:
                del found[phase]
    return found


def _undisturbed(wave: Wave, which: range) -> float | None:
    """The least seconds of the steps that stand for a phase, of those in which the machine did nothing else; None where there is none."""
    around = range(which.stop - AROUND, which.stop) if len(which) == 1 and which.start > AROUND else which
    return min((wave.seconds[step] for step in around if not wave.disturbed[step]), default=None)


def _agree(ordered: Sequence[float]) -> bool:
    """Whether the two least of these are near each other."""
    return len(ordered) > 1 and ordered[1] <= (1 + SCATTER) * ordered[0]


def _interruptions() -> int:
    """How often this thread has had to leave its processor to others."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw


def agreed(tallies: Sequence[Tally]) -> Tally | None:
    """The count that two waves agree on; None where no two do."""
    return next((one for place, one in enumerate(tallies) if any(equal(one, other) for other in tallies[place + 1 :])), None)


def odd(tallies: Sequence[Tally]) -> list[str]:
    """What the waves do not agree on, by name; empty where two do, or where there is one."""
    if len(tallies) < 2 or agreed(tallies) is not None:
        return []
    return sorted({name for place, one in enumerate(tallies) for other in tallies[place + 1 :] for name in unsteady(one, other)})
