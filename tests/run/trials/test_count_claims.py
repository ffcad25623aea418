"""Claims on features: one command each, freed with its process, with its number and time for those that wait."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perfproof.run.trials.count_claims import FOLDER, Claims

TAKES = """
import sys
from pathlib import Path
from perfproof.run.trials.count_claims import Claims

claims = Claims(Path(sys.argv[1]))
print(claims.take("plain"), flush=True)
sys.stdin.read()
"""


def test_a_feature_has_one_claim_and_the_others_are_free(tmp_path: Path) -> None:
    """Each feature by itself, of each kept file by itself."""
    one, other = (Claims(tmp_path / "a-1.jsonl") for _ in range(2))
    assert (one.take("plain"), other.take("plain"), other.take("LoRA")) == (True, False, True)
    assert Claims(tmp_path / "b-1.jsonl").take("plain")
    one.give_back("plain")
    one.give_back("plain")
    assert other.take("plain")
    other.close()
    assert (one.take("plain"), one.take("LoRA")) == (True, True)


def test_the_holder_is_told_by_process_and_time(tmp_path: Path) -> None:
    """As long as it holds the claim."""
    one = Claims(tmp_path / "a-1.jsonl")
    assert one.take("several outputs")
    assert re.fullmatch(rf"process {os.getpid()}, for \d+ s now", one.holder("several outputs"))
    one.close()
    assert one.holder("several outputs") == "another process"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"pid": "x", "since": 1}', '{"pid": 1, "since": null}', "\0"])
def test_a_holder_that_can_not_be_read_is_another_process(tmp_path: Path, text: str) -> None:
    """It may just be written, or be of another version."""
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "a-1-plain.holder").write_text(text)
    assert Claims(tmp_path / "a-1.jsonl").holder("plain") == "another process"


def test_a_claim_is_free_once_its_process_is_killed(tmp_path: Path) -> None:
    """However it ended."""
    file = tmp_path / "a-1.jsonl"
    with subprocess.Popen([sys.executable, "-c", TAKES, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        mine = Claims(file)
        assert not mine.take("plain")
        assert mine.holder("plain").startswith(f"process {holder.pid}, for ")
        holder.kill()
        holder.wait()
    assert mine.take("plain")
