"""What a trial cost the host: per token and request, instructions where they are counted, and what the server's page tells."""

from __future__ import annotations

import errno
import os

import pytest

from perfproof.run.host.host_cost import gpu_memory, kv_blocks, per_unit
from perfproof.run.host.instruction_counter import Instructions, threads


def test_host_cost_is_divided_by_what_was_done() -> None:
    """A server that generates has a cost per token and per request; one that pools only the latter; what was not counted is left out."""
    assert per_unit(8.0, None, tokens=400, requests=4) == {"cpu_time_per_token": 0.02, "cpu_time_per_request": 2.0}
    assert per_unit(8.0, None, tokens=0, requests=4) == {"cpu_time_per_request": 2.0}
    assert per_unit(8.0, 800, tokens=400, requests=0)["instructions_per_token"] == 2.0


def test_blocks_of_every_engine_are_added_and_a_server_without_a_cache_has_none() -> None:
    """The number stands in a label of vLLM's page."""
    page = 'vllm:cache_config_info{block_size="128",engine="0",num_gpu_blocks="500"} 1.0\n'
    assert kv_blocks(page + page) == {"kv_blocks": 1000.0}
    assert kv_blocks(page.replace("500", "0")) == kv_blocks("vllm:other 1.0") == {}


def test_the_memory_of_all_gpus_is_added() -> None:
    """The most that each held; nothing on a machine without one."""
    assert gpu_memory({"gpus": [{"used": [1.0, 5.0]}, {"used": [2.0, 3.0]}, {}]}) == {"peak_gpu_memory": 8.0}
    assert gpu_memory({}) == {}


@pytest.mark.parametrize(
    ("error", "words"),
    [(errno.ENOENT, "gives no instruction counts"), (errno.EACCES, "does not let ordinary users count"), (errno.EMFILE, "open files")],
)
def test_a_machine_that_counts_no_instructions_says_why(error: int, words: str) -> None:
    """There is no number then, and a reason in words."""

    def refused(thread: int) -> int:
        raise OSError(error, "no")

    counting = Instructions([os.getpid()], opened=refused)
    assert counting.stop() is None
    assert words in counting.why


def test_counts_of_all_threads_are_added() -> None:
    """Each thread has a counter; one that ends before it gets one is skipped."""

    def opened(thread: int) -> int:
        if thread == 2:
            raise OSError(errno.ESRCH, "gone")
        reader, writer = os.pipe()
        os.write(writer, (100 * thread).to_bytes(8, "little"))
        os.close(writer)
        return reader

    counting = Instructions([7], opened=opened, listed=lambda pids: [1, 2, 3])
    assert counting.stop() == 400
    assert counting.why == ""


def test_the_threads_of_this_process_are_found() -> None:
    """Every process has at least its first thread, whose number is its own."""
    assert os.getpid() in threads([os.getpid()])
