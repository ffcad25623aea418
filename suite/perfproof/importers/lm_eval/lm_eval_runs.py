"""Runs of lm_eval on disk: which samples files belong to one, and what its results file says of how it asked.

A run writes `samples_<task>_<date>.jsonl` and, with the same date, `results_<date>.json` into one folder. A folder with several runs of one
task is refused with their names: a results file names one of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.model.base import strict_json
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.base.regular_files import checked
from perfproof.model.base.untrusted import line
from perfproof.model.records.eval_settings import Settings
from perfproof.model.scenarios.eval_metrics import direction

_DATE = r"\d{4}-\d{2}-\d{2}T[\d.:-]+"
_NAME = re.compile(rf"^samples_(?P<task>.+?)(?:_(?P<date>{_DATE}))?\.jsonl$")
_RESULTS = re.compile(rf"_(?P<date>{_DATE})\.json$")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
MOST_NAMED = 6
LARGEST_RESULTS = 100_000_000
REMEDY = "run lm_eval with --log_samples"
_MODELS = ("pretrained", "model", "path", "engine")
_VARIANTS = """
    peft delta revision subfolder quantization load_in_4bit load_in_8bit gguf_file gptqmodel autogptq lora_local_path adapter
"""
_ASKS = """
    max_gen_toks temperature top_p top_k enable_thinking think_end_token chat_template chat_template_args add_bos_token
    prefix_token_id system_instruction truncation
"""
"""Model arguments that alter what is asked."""
_HOW = ("lm_eval_version", "transformers_version", "max_length")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesFile:
    """One task's samples of one run, and the run's results file, None where there is none."""

    task: str
    path: Path
    results: Path | None


def find(path: Path) -> dict[str, SamplesFile]:
    """The samples files of a run by task: of a folder, of a results file, or of one samples file alone.

    Raises `BadInput` for what is none of these, and for a folder with several runs of one task, which are named.
    """
    if not path.is_file():
        files = [_samples(checked(file)) for file in sorted(path.rglob("samples_*.jsonl")) if _NAME.match(file.name)]
        if not files:
            raise BadInput(f"{path}: no samples_<task>_<date>.jsonl there; {REMEDY} --output_path {path}")
        return _one_run(path, files)
    if path.suffix != ".json" or (said := document(path)) is None:
        return {(one := _samples(path)).task: one}
    matched = _RESULTS.search(path.name)
    if "results" not in said or not matched:
        raise BadInput(
            f"{path}: is no results_<date>.json of lm_eval and no samples_<task>_<date>.jsonl; name one of these, or their folder"
        )
    found = [_samples(file) for file in beside(path)]
    if not found:
        raise BadInput(f"{path}: has totals alone, and no samples_<task>_{matched['date']}.jsonl lies beside it; {REMEDY}")
    return {one.task: one for one in found}


def beside(path: Path) -> list[Path]:
    """The samples files that a results file's run left beside it."""
    matched = _RESULTS.search(path.name)
    return [checked(file) for file in sorted(path.parent.glob(f"samples_*_{matched['date']}.jsonl"))] if matched else []


def _one_run(path: Path, files: list[SamplesFile]) -> dict[str, SamplesFile]:
    by_task: dict[str, list[SamplesFile]] = {}
    for file in files:
        by_task.setdefault(file.task, []).append(file)
    several = [one for found in by_task.values() if len(found) > 1 for one in found]
    if not several:
        return {task: found[0] for task, found in by_task.items()}
    names = list(dict.fromkeys(str(one.results or one.path) for one in several))
    raise BadInput(f"{path}: holds several runs of {several[0].task}; name one of them: {few(names, MOST_NAMED)}")


def _samples(file: Path) -> SamplesFile:
    matched = _NAME.match(file.name)
    task, date = (matched["task"], matched["date"]) if matched else (file.stem, None)
    found = sorted(file.parent.glob(f"*_{date}.json" if date else "results*.json")) if matched else []
    return SamplesFile(task=line(task), path=file, results=found[0] if (date and found) or len(found) == 1 else None)


def document(path: Path) -> dict[str, Any] | None:
    """A file that is one JSON document, a list as nothing; None where it is none, or one line of samples. Raises `BadInput` for a key that
    stands twice in one object."""
    try:
        if path.stat().st_size > LARGEST_RESULTS:
            return None
        said = json.loads(path.read_bytes(), object_pairs_hook=strict_json.once)
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    except strict_json.Twice as twice:
        raise BadInput(f"{path}: the key {line(twice, 80)!r} stands twice in one object: keep one") from twice
    except (ValueError, RecursionError):
        return None
    if isinstance(said, list):
        return {}
    return said if isinstance(said, dict) and "doc_id" not in said else None


# --- what a results file says ------------------------------------------------------------------------------------


def settings(file: SamplesFile) -> Settings:
    """What the results file beside a samples file says of its task; raises `BadInput` for one that is no results file."""
    if file.results is None:
        return Settings()
    said = document(file.results)
    if said is None or not isinstance(said.get("config"), Mapping):
        raise BadInput(
            f"{file.results}: is no results file of lm_eval (config is missing), so nobody can tell what {file.path.name} was asked"
        )
    config, own = part(said, "config"), part(said, "configs", file.task)
    arguments = _arguments(config.get("model_args"))
    model = next((str(arguments[name]) for name in _MODELS if arguments.get(name)), str(said.get("model_name") or ""))
    aside = {*_MODELS, *_VARIANTS.split(), *_ASKS.split(), "base_url"}
    seeds = {name: config[name] for name in ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed") if name in config}
    plain = {name: value for name, value in arguments.items() if name not in aside}
    other = {"backend": config.get("model"), "model arguments": plain, **seeds, **{name: said[name] for name in _HOW if name in said}}
    variant = {**arguments, "model_sha": config.get("model_sha") or None}
    return Settings(
        source=str(file.results),
        question=dict(_question(said, config, own, arguments, file.task)),
        model=model,
        variant={
            name: _plain(variant[name]) for name in sorted({*_VARIANTS.split(), "model_sha"} & variant.keys()) if variant[name] is not None
        },
        other={name: _plain(value) or {} if isinstance(value, Mapping) else _plain(value) for name, value in other.items()},
        better={str(name): way for name, higher in part(said, "higher_is_better", file.task).items() if (way := direction("", higher))},
    )


def _question(
    said: Mapping[str, Any], config: Mapping[str, Any], own: Mapping[str, Any], arguments: Mapping[str, Any], task: str
) -> Iterator[tuple[str, Any]]:
    """What another value of makes another question, as far as the file has it."""
    generates = own.get("output_type", "generate_until") == "generate_until"
    places = [
        ("shots", part(said, "n-shot"), task),
        ("shots of the task", own, "num_fewshot"),
        ("limit", config, "limit"),
        ("items", part(said, "n-samples", task), "effective"),
        ("task version", part(said, "versions"), task),
        ("task version in its own words", part(own, "metadata"), "version"),
        ("chat template", said, "chat_template_sha"),
        ("chat template's text", said, "chat_template"),
        ("system instruction", said, "system_instruction"),
        ("system instruction's hash", said, "system_instruction_sha"),
        ("few-shot examples as turns", said, "fewshot_as_multiturn"),
        ("description", own, "description"),
        ("answers an item", own, "repeats"),
        ("filters", own, "filter_list"),
        ("scoring", own, "metric_list"),
        *([("generation", own, "generation_kwargs"), ("generation arguments", config, "gen_kwargs")] if generates else []),
    ]
    for name, where, key in places:
        if key in where:
            value = _arguments(where[key]) if key == "gen_kwargs" else where[key]
            yield name, _plain(value) or None if key == "fewshot_as_multiturn" else _plain(value)
    yield "model arguments", {name: _plain(arguments[name]) for name in sorted(arguments.keys() & set(_ASKS.split()))}


def part(said: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """What lies under these keys, one below the other; nothing where that is no mapping."""
    for key in keys:
        found = said.get(key)
        said = found if isinstance(found, Mapping) else {}
    return said


def _arguments(said: Any) -> Mapping[str, Any]:
    """Arguments as a mapping, from one or from "name=value,name=value"."""
    if isinstance(said, Mapping):
        return said
    pairs = (part.partition("=") for part in str(said or "").split(",") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _plain(value: Any) -> Any:
    """A value as it is compared: nothing is None, a number is a number however it is spelt, and an address in memory is none."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()} or None
    if isinstance(value, list):
        return [_plain(one) for one in value] or None
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else {"True": True, "False": False}.get(value, _ADDRESS.sub("0x", value) or None)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1e15 else value
