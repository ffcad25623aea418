"""Every patch refuses releases, platforms and sources that its equivalence test has not seen, and then replaces nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from patch_modules import patch_module

from perfproof.bench.adapter import mend_cpu_probe
from perfproof.patches import guard
from perfproof.patches.guard import Attestation, Patch, PatchRefused, exists, locate

NAMES = (
    "swap_states_active_prefix",
    "swap_states_full_rows",
    "swap_states_batched",
    "sampler_skip_copy",
    "sampler_skip_copy_cached",
    "penalties_from_token_ids",
    "penalties_incremental",
    "thinking_watermark",
    "pooling_cpu_token_ids",
    "pooling_device_round_trip",
    "input_copies_pinned",
    "sampler_writes_when_added",
)
PLATFORMS = ("cpu", "cuda", "xpu")


@pytest.fixture(params=NAMES)
def module(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Each patch's module, before a guard that has seen nothing yet and waives nothing."""
    mend_cpu_probe()
    monkeypatch.delenv("PERFPROOF_ALLOW_UNVERIFIED", raising=False)
    monkeypatch.setattr(Attestation, "_current", Attestation())
    monkeypatch.setattr(guard, "_holders", {})
    return patch_module(request.param)


def held(patch: Patch) -> list[object]:
    """What stands in the places of the patch's targets, of those that this release has."""
    return [inspect.getattr_static(*locate(target)) for target in patch.targets if exists(target)]


def refusal(module: Any) -> str:
    """Why the patch refuses; fails if it does not, or if it replaced anything or says that it is applied."""
    before = held(module.PATCH)
    with pytest.raises(PatchRefused) as refused:
        module.register()
    assert [one is other for one, other in zip(before, held(module.PATCH), strict=True)] == [True] * len(before)
    assert module.PATCH.name not in Attestation.current().patches
    return str(refused.value)


@pytest.mark.parametrize("release", ["0.16.0", "0.29.0", "0.33.0", "1.0.0"])
def test_a_release_that_was_not_tested_is_refused(module: Any, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, between and behind the releases that it holds for, the patch refuses and names those that it was tested with."""
    monkeypatch.setattr(guard, "vllm_release", lambda: release)
    assert release not in module.PATCH.holds
    told = refusal(module)
    assert f"patch {module.PATCH.name} refused: it was tested with vLLM {min(module.PATCH.holds, key=guard.release_key)}" in told
    assert f"this is {release}" in told


def test_a_platform_that_was_not_tested_is_refused(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On every platform but those of each release that it holds for, the patch refuses and names them."""
    for release, tested in module.PATCH.holds.items():
        for device in [platform for platform in PLATFORMS if platform not in tested]:
            monkeypatch.setattr(guard, "vllm_release", lambda release=release: release)
            monkeypatch.setattr(guard, "device_type", lambda device=device: device)
            assert f"with vLLM {release} it was tested on {', '.join(sorted(tested))}, this is {device}" in refusal(module)


def test_another_source_is_refused(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that reads otherwise than the one tested, as in a fork or a patched build, is refused by name."""
    release, tested = next(iter(module.PATCH.holds.items()))
    other: Callable[[Any], str] = lambda function: "0" * 16  # noqa: E731
    monkeypatch.setattr(guard, "vllm_release", lambda: release)
    monkeypatch.setattr(guard, "device_type", lambda: min(tested))
    monkeypatch.setattr(guard, "source_hash", other)
    told = refusal(module)
    there = [target for target in module.PATCH.targets if exists(target)]
    assert all(f"{target.name} of this vLLM {release} is not the one tested" in told for target in there)
    assert there or "this vLLM has no" in told


def test_here_it_holds_or_refuses(module: Any) -> None:
    """In this build, as it is, the patch finds no fault where it says that it holds, and refuses everywhere else."""
    release, device = guard.vllm_release(), guard.device_type()
    if device in module.PATCH.holds.get(release, ()):
        assert module.PATCH.faults(release, device) == []
        assert module.PATCH.obstacles() == []
    else:
        assert "refused" in refusal(module)
