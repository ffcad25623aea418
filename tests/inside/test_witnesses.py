"""The witnesses are exact: counted again here, in this release, they are what is pinned for every machine.

Nothing is timed: the benchmarks run with a stand-in for pytest-benchmark that runs no round.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from patch_modules import patch_module
from pins import PINS, Pin

from perfproof.bench import adapter
from perfproof.patches import guard
from perfproof.patches.guard import Attestation, device_type, locate


class Unmeasured:
    """pytest-benchmark without its rounds: what a benchmark says of itself is kept, nothing is timed."""

    def __init__(self) -> None:
        self.extra_info: dict[str, Any] = {}
        self.stats = None

    def pedantic(self, function: Callable[..., Any], **how: Any) -> None:
        """Runs nothing."""


@contextmanager
def applied(patch: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The patch of that name ("" for none), applied through the guard as a plugin is, and taken off again."""
    if not patch:
        yield
        return
    module = patch_module(patch)
    monkeypatch.setattr(Attestation, "_current", Attestation())
    monkeypatch.setattr(guard, "_holders", {})
    places = [locate(target) for target in module.PATCH.targets]
    released = [inspect.getattr_static(owner, attribute) for owner, attribute in places]
    try:
        module.register()
        yield
    finally:
        for (owner, attribute), function in zip(places, released, strict=True):
            setattr(owner, attribute, function)


def witnesses(pin: Pin, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, float]:
    """What the first test of that benchmark counts with the pin's parameters and patch."""
    adapter.mend_cpu_probe()
    bench = importlib.import_module(f"perfproof.bench.{pin.bench.replace('/', '.')}")
    test = next(function for name, function in vars(bench).items() if name.startswith("test_"))
    benchmark = Unmeasured()
    given = {"benchmark": benchmark, "parameters": {**bench.PARAMETERS, **pin.parameters}, "monkeypatch": monkeypatch}
    with applied(pin.patch, monkeypatch):
        test(**{name: given[name] for name in inspect.signature(test).parameters})
    return benchmark.extra_info["witnesses"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("pin", PINS, ids=lambda pin: pin.name)
def test_the_witness_is_exactly_what_is_pinned(pin: Pin, monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmark counts the same work on every machine: as released, and with each patch where it holds."""
    if not pin.since <= adapter.release() <= pin.until:
        pytest.skip(f"pinned for vLLM {pin.span}")
    if pin.patch:
        release = guard.vllm_release()
        if device_type() not in patch_module(pin.patch).PATCH.holds.get(release, ()):
            pytest.skip(f"{pin.patch} does not hold for vLLM {release} here")
    assert witnesses(pin, monkeypatch) == pytest.approx(dict(pin.witnesses), abs=1e-9, rel=0)
