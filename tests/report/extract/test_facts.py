"""Plain facts drawn from records, as the page tells them."""

from __future__ import annotations

import dataclasses

from perfproof.model.records.record import Record
from perfproof.report import html
from perfproof.report.base import formatting
from perfproof.report.extract import facts
from perfproof.report.formats.templates import breakable
from tests.report import factory


def _records(**changed: object) -> list[Record]:
    return [dataclasses.replace(each, **changed) for each in factory.swap_states()[1]]  # type: ignore[arg-type]


def test_all_the_time_is_no_less_than_its_parts() -> None:
    """A server's start lies outside of its trial's total, and in what the trials took all the same."""
    spent = dict(facts.seconds(_records(seconds={"server starts": 90.0, "measuring": 35.0, "total": 42.0})[:2]))
    assert spent == {"server starts": 180.0, "measuring": 70.0, "in all": 250.0}
    spent = dict(facts.seconds(_records(seconds={"import": 9.0, "measure": 3.0, "total": 13.0})[:2]))
    assert spent["in all"] == 26.0


def test_a_repeat_has_the_blocks_of_its_design() -> None:
    """The command for a repeat gives the number of blocks that was fixed beforehand, and none where the looks of the profile decided."""
    records = _records()
    fixed = [dataclasses.replace(each, definition={**each.definition, "blocks": 14}) for each in records]
    assert next(iter(facts.commands("a", fixed, "results"))).endswith("--results results/again --blocks 14")
    assert "--blocks" not in " ".join(facts.commands("a", records, "results"))


def test_a_number_of_processes_that_varies_parts_no_arms() -> None:
    """Arms differ in their processes only where no trial of the one had as many as any trial of the other."""
    records = _records()

    def differ(**of_arm: tuple[int, ...]) -> bool:
        told = []
        for arm, numbers in of_arm.items():
            mine = [each for each in records if each.arm == arm.replace("_", " ")]
            for place, each in enumerate(mine):
                assert each.attestation is not None
                attestation = dataclasses.replace(each.attestation, processes=numbers[place % len(numbers)])
                told.append(dataclasses.replace(each, attestation=attestation))
        found = facts.attestations(["as released", "patched"], told, lambda record: record.arm)
        return next(differs for name, _, differs in found if name == "processes")

    assert not differ(as_released=(2, 3), patched=(2,))
    assert differ(as_released=(3,), patched=(2,))


def test_a_gpu_and_a_rule_are_told_in_words() -> None:
    """No JSON stands on the page, and bytes are told as such."""
    environment = {"gpus": [{"name": "NVIDIA H200", "memory": "143771 MiB", "power_limit": "700 W"}], "rules": {"swapped": 67_108_864}}
    told = {name: values for name, values, _ in facts.environment(_records(environment=environment))}
    assert told["gpus"] == ("NVIDIA H200, memory 143771 MiB, power limit 700 W",)
    assert told["rules: swapped"] == ("64\u202fMiB",)


def test_a_case_of_several_parameters_reads_as_a_list() -> None:
    """Parameters are parted by a comma and a space, so that a line may end between them; metrics with commas of their own by semicolons."""
    name = formatting.label("round_time@pooler=gritlm,requests=57")
    assert name == "round time, pooler=gritlm, requests=57"
    assert formatting.listed([name, "b", "c"]) == f"{name}; b and c"
    assert formatting.listed(["a", "b", "c"]) == "a, b and c"


def test_a_name_may_be_broken_between_its_words_alone() -> None:
    """A function's name breaks after its dots, colons and underscores; what it holds besides is escaped."""
    assert breakable("calls a.b:C.do_it") == "calls a.<wbr>b:<wbr>C.<wbr>do_<wbr>it"
    assert "<script>" not in breakable("<script>a.b</script>")


def test_equal_work_is_one_sentence() -> None:
    """What both arms were given alike is listed once, with its amount where every block had the same."""
    text = html.render(factory.page(factory.swap_states()))
    assert "Equal in every block: swaps (200); inputs checksum (1,234,567)." in text
