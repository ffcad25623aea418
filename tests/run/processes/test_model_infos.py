"""What vLLM found out about a model's class is shared by builds whose models are the same, and by no others."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.run.processes.model_infos import FOLDER, folder_of, share
from perfproof.run.processes.trial_process import build_environment
from tests.builds.test_smollm import ready


def build(folder: Path, name: str, model: str = "class Llama: ...", **fingerprint: str) -> ReadyBuild:
    """A build whose vLLM has one model."""
    package = folder / name / "vllm"
    (package / "model_executor" / "models").mkdir(parents=True)
    (package / "model_executor" / "models" / "llama.py").write_text(model)
    made = ready(folder)
    said = dataclasses.replace(made.fingerprint, package=package, **fingerprint)  # type: ignore[arg-type]
    return dataclasses.replace(made, id=name, side=folder / "builds" / "side", fingerprint=said)


def test_what_one_build_found_out_another_with_the_same_models_finds(tmp_path: Path) -> None:
    """Through vLLM's own folder; a build with another model, vLLM or PyTorch finds out for itself."""
    base, changed = build(tmp_path, "base"), build(tmp_path, "changed")
    for one in (base, changed):
        share(one, build_environment(one, threads=1))
    caches = tmp_path / "builds" / "cache"
    (caches / "base" / "vllm" / FOLDER / "llama.json").write_text("{}")
    assert (caches / "changed" / "vllm" / FOLDER / "llama.json").read_text() == "{}"
    assert not (caches / "changed" / "vllm" / FOLDER).readlink().is_absolute()
    others = build(tmp_path, "other", model="class Llama(Pooler): ..."), build(tmp_path, "newer", vllm_version="0.33.0")
    assert len({folder_of(one) for one in (base, changed, *others)}) == 3


def test_nothing_is_shared_by_an_arm_with_patches_or_in_a_folder_of_the_users(tmp_path: Path) -> None:
    """What a patch makes of a class is its arm's; and what a cache knows already stays in it."""
    one = build(tmp_path, "base")
    plain = build_environment(one, threads=1)
    share(one, {**plain, "VLLM_PLUGINS": f"{plain['VLLM_PLUGINS']},mine"})
    share(one, {**plain, "VLLM_CACHE_ROOT": str(tmp_path / "mine")})
    assert not (tmp_path / "builds").exists()
    assert not (tmp_path / "mine").exists()
    known = tmp_path / "builds" / "cache" / "base" / "vllm" / FOLDER
    known.mkdir(parents=True)
    share(one, plain)
    assert not known.is_symlink()
