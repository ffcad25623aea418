"""A benchmark of the stand-in. `mode` makes it misbehave in one way."""

import errno
import os
import random
import signal
import time

import numpy
import pytest

PARAMETERS = {"mode": "", "rounds": 3, "warmup_rounds": 1, "seed": 7, "length": 10}
EXERCISES = ("vllm.v1.worker.batch:Batch.swap",)
WITNESSES = ("bytes_per_swap",)

trials_so_far = []


def leftovers():
    """What a trial could have left for the next one, and what it starts with."""
    import vllm
    import vllm.v1.worker.batch as batch

    found = {
        "global": list(trials_so_far),
        "module": hasattr(batch, "left_behind"),
        "environment": os.environ.get("LEFT_BEHIND", ""),
        "random": random.random(),
        "numpy": float(numpy.random.rand()),
        "setting": vllm.IMPORTED_WITH,
        "asked": os.environ.get("PERFPROOF_TOY", ""),
    }
    trials_so_far.append(os.getpid())
    batch.left_behind = True
    os.environ["LEFT_BEHIND"] = "yes"
    return found


def test_toy(benchmark, parameters):
    from vllm.v1.worker.batch import Batch

    found = leftovers()
    mode = parameters["mode"]
    if mode == "absent":
        pytest.skip("not in this version: vLLM 0.32.0 has no toy")
    if mode == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "fail":
        raise AssertionError("the swap lost a row")
    if mode == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if mode == "hang":
        time.sleep(600)
    if mode == "secret":
        print("HF_TOKEN is", os.environ.get("HF_TOKEN"), "home is", os.path.expanduser("~/x"), "https://joe:pass@host/")
    swap = (lambda *rows: rows) if mode == "uncalled" else Batch().swap
    answers = []
    rounds, warmups = parameters["rounds"], parameters["warmup_rounds"]
    benchmark.pedantic(lambda: answers.append(swap(1, 2)), rounds=rounds, warmup_rounds=warmups, iterations=1)
    benchmark.extra_info["parameters"] = parameters
    benchmark.extra_info["leftovers"] = found
    benchmark.extra_info["witnesses"] = {"bytes_per_swap": 8 * parameters["length"]}
    patched = answers[-1] == (1, 2) and mode == "cheat"
    benchmark.extra_info["work"] = {"swaps": len(answers) - patched}
