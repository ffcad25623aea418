"""GPUs, asked through NVML: a stand-in for the binding, since what is tested is what is made of its answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from perfproof.model.base.errors import BadInput
from perfproof.run.host import gpus, telemetry
from perfproof.run.host.gpus import Look, MemoryKept


class Refused(Exception):
    """What NVML's binding raises."""


class Nvml:
    """Two GPUs, of which the second knows few questions."""

    NVMLError = Refused
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC = 1, 0

    def __init__(self, driver: bool = True) -> None:
        self.driver = driver

    def nvmlInit(self) -> None:
        if not self.driver:
            raise Refused

    def __getattr__(self, name: str) -> Any:
        answers = {
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda number: number,
            "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}a",
            "nvmlDeviceGetName": lambda handle: b"NVIDIA H200",
            "nvmlSystemGetDriverVersion": lambda: "580.1",
            "nvmlDeviceGetClockInfo": lambda handle, what: 1980 if what == 1 else 3201,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 0x44,
            "nvmlDeviceGetComputeRunningProcesses": lambda handle: [],
        }

        def ask(*given: Any) -> Any:
            if name not in answers:
                raise Refused(name)
            return answers[name](*given)

        return ask


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Handles are asked for once a process: each test asks again."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpus.handles.cache_clear()
    monkeypatch.setattr(gpus, "_choices", set())
    yield
    gpus.handles.cache_clear()


def a_look(**changes: Any) -> Look:
    plain = {
        "clock": 1980,
        "memory_clock": 3201,
        "temperature": 41,
        "power": 120.0,
        "used": 2**30,
        "reasons": 0x04,
        "uncorrected": 0,
        "pids": (),
    }
    return Look(**{**plain, **changes})


@pytest.mark.parametrize("binding", [None, Nvml(driver=False)])
def test_a_machine_without_driver_or_binding_has_no_gpus(monkeypatch: pytest.MonkeyPatch, binding: Any) -> None:
    """Everything that asks of GPUs has an answer there: none."""
    monkeypatch.setattr(gpus, "pynvml", binding)
    assert (gpus.look(), gpus.describe(), gpus.uuids(), gpus.used()) == ((), [], [], ())
    assert gpus.wait_free(()) == 0.0
    assert telemetry.read(gpus=True).hot is None


def test_what_a_gpu_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that the driver refuses leaves its place empty; reasons are read under the question's older name too."""
    monkeypatch.setattr(gpus, "pynvml", Nvml())
    one, _ = gpus.look()
    assert (one.clock, one.memory_clock, one.power, one.uncorrected) == (1980, 3201, None, None)
    assert one.reasons == 0x44
    assert one.throttled
    assert gpus.describe()[0]["name"] == "NVIDIA H200"
    assert not any("GPU-" in value for value in gpus.describe()[0].values())


@pytest.mark.parametrize(
    ("chosen", "found"), [("1", ["GPU-1a"]), ("GPU-0", ["GPU-0a"]), ("", []), ("1,0", ["GPU-1a", "GPU-0a"]), ("7", [])]
)
def test_only_our_gpus_are_asked(monkeypatch: pytest.MonkeyPatch, chosen: str, found: list[str]) -> None:
    """CUDA_VISIBLE_DEVICES names them by number or by the start of a UUID."""
    monkeypatch.setattr(gpus, "pynvml", Nvml())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert gpus.uuids() == found


def test_memory_is_waited_for_until_the_driver_gives_it_back() -> None:
    """It comes back some time after the process has gone; one that keeps it is reported with the amount."""
    seen = iter([(9 * 2**30,), (5 * 2**30,), (2**30,)])
    assert gpus.wait_free([2**30], look=lambda: next(seen), sleep=lambda seconds: None) == 1.0
    with pytest.raises(MemoryKept, match=r"8192 MiB of GPU memory were not freed within 90 s after"):
        gpus.wait_free([2**30], look=lambda: (9 * 2**30,), sleep=lambda seconds: None)


def test_memory_that_comes_back_is_waited_for_where_others_hold_theirs() -> None:
    """Before a server is launched again beside one that lives, the memory of the dead one is back: it has not fallen for a while."""
    seen = iter([(90 * 2**30,), (60 * 2**30,), (50 * 2**30,), (50 * 2**30,)])
    assert gpus.wait_steady(look=lambda: next(seen), sleep=lambda seconds: None) == 6.0
    falling = iter(range(100, 0, -1))
    assert gpus.wait_steady(10, look=lambda: (next(falling) * 2**30,), sleep=lambda seconds: None) == 10.0
    assert gpus.wait_steady(look=tuple, sleep=lambda seconds: pytest.fail("a machine without a GPU is not waited for")) == 0.0


def test_heat_seen_once_is_told_and_a_power_cap_is_not_throttling() -> None:
    """Extremes over the trial, every reason that a clock had, and errors that came meanwhile."""
    looks = iter([(a_look(),), (a_look(clock=1200, temperature=88, reasons=0x44),), (a_look(uncorrected=2),)])
    sampler = telemetry.Sampler(every=0.0, gpus=lambda: next(looks))
    sampler.look()
    assert sampler.throttled() == 0
    sampler.look()
    sampler.look()
    assert sampler.throttled() == 1
    [told] = sampler.summary()["gpus"]
    assert (told["clock"], told["temperature"], told["uncorrected_errors"]) == ([1200, 1980], [41, 88], 2)
    assert told["reasons"] == ["power cap", "heat (hardware)"]
    found = telemetry.meanwhile(telemetry.read(), sampler)
    words = ["2 errors of GPU memory that ECC could not correct occurred while measuring: check the card"]
    assert telemetry.warnings(found) == words
    assert found["telemetry"]["throttled"] >= 1
    assert found["while_measuring"]["looks"] == 3


def test_a_sampler_looks_no_more_often_than_it_was_told_to() -> None:
    """However often it is called: a look costs something."""
    seen: list[int] = []
    sampler = telemetry.Sampler(every=60.0, gpus=lambda: (seen.append(1), ())[1])
    for _ in range(50):
        sampler.look()
    assert len(seen) == 1
    assert sampler.summary()["looks"] == 1


# --- the GPUs of a run -----------------------------------------------------------------------------------------


def with_gpus(monkeypatch: pytest.MonkeyPatch, *held: int, names: tuple[str, ...] = ()) -> None:
    """A machine with GPUs in which so many bytes are in use."""
    nvml = Nvml()
    answers: dict[str, Any] = {
        "nvmlDeviceGetCount": lambda: len(held),
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(used=held[handle], total=2**37),
        "nvmlDeviceGetName": lambda handle: names[handle] if names else "NVIDIA H200",
    }
    for name, answer in answers.items():
        setattr(nvml, name, answer)
    monkeypatch.setattr(gpus, "pynvml", nvml)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # so that what is set meanwhile is taken back
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")


@pytest.mark.parametrize(
    ("held", "wanted", "kept"),
    [((5, 0), 1, "1"), ((0, 5), 1, "0"), ((0, 0), 1, "0"), ((9, 1, 5, 0), 2, "1,3"), ((0, 0, 0, 0), 2, "0,1")],
)
def test_the_emptiest_gpus_are_kept(monkeypatch: pytest.MonkeyPatch, held: tuple[int, ...], wanted: int, kept: str) -> None:
    """As many as are wanted, in their order; everything that is asked later is about these alone."""
    with_gpus(monkeypatch, *held)
    assert f"of {len(held)} GPUs, {kept.replace(',', ' and ')} " in gpus.choose(wanted)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == kept
    assert gpus.uuids() == [f"GPU-{number}a" for number in kept.split(",")]
    assert gpus.used() == tuple(held[int(number)] for number in kept.split(","))


def test_a_choice_stands_until_another_number_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run of the same size keeps its GPUs, whatever they hold by then; a larger one chooses among all again."""
    with_gpus(monkeypatch, 5, 0, 3)
    assert gpus.choose(1)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
    monkeypatch.setattr(gpus.pynvml, "nvmlDeviceGetMemoryInfo", lambda handle: SimpleNamespace(used=(0, 9, 3)[handle], total=2**37))
    assert gpus.choose(1) == ""
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
    assert gpus.choose(2)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,2"
    assert gpus.choose(3) == ""
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_nothing_is_chosen_where_there_is_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are wanted, the user has chosen, their kinds differ, or there is none."""
    with_gpus(monkeypatch, 5, 0)
    assert gpus.choose(2) == ""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert gpus.choose(1) == ""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    gpus.handles.cache_clear()
    with_gpus(monkeypatch, 5, 0, names=("NVIDIA H200", "NVIDIA L4"))
    assert gpus.choose(1) == ""
    gpus.handles.cache_clear()
    monkeypatch.setattr(gpus, "pynvml", None)
    assert gpus.choose(2) == ""


def test_too_few_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what hides the others, if the user did."""
    with_gpus(monkeypatch, 0, 0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with pytest.raises(BadInput, match=r"2 GPUs are needed, one a worker, and 1 may be used \(CUDA_VISIBLE_DEVICES='1'\)"):
        gpus.choose(2)
