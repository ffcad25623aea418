"""On a GPU, planted work is counted exactly."""

from __future__ import annotations

import pytest
import torch

from perfproof.child.counting import Device


@pytest.mark.cuda
@pytest.mark.parametrize("planted", ["nothing", "synchronisation", "launch", "copy"])
def test_planted_work_is_seen_to_the_last_launch(planted: str) -> None:
    """One more wait, launch or copy is one more of its name, three of three times; the same work twice is identical."""
    here, there = torch.arange(64), torch.ones(64, device="cuda")

    def work(more: bool) -> None:
        total = there * 2
        if more and planted == "synchronisation":
            torch.cuda.synchronize()
        if more and planted == "launch":
            total.sin()
        if more and planted == "copy":
            here.to("cuda")

    def count(more: bool) -> dict[str, list[int]]:
        device = Device()
        device.start()
        work(more)
        return device.stop().device

    count(True), count(False)
    plain, twice, changed = count(False), [count(True) for _ in range(3)], count(True)
    assert count(False) == plain
    assert all(each == changed for each in twice)
    more = {name: [a - b for a, b in zip(changed[name], plain.get(name, [0, 0]), strict=True)] for name in changed}
    grown = {name.split(":")[0] for name, numbers in more.items() if numbers[0]} - {"allocator"}
    assert grown == {"nothing": set(), "synchronisation": {"call"}, "launch": {"kernel"}, "copy": {"copy"}}[planted] | (
        {"call"} if planted == "copy" and any("Synchronize" in name for name in more if more[name][0]) else set()
    )
