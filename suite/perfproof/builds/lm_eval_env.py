"""lm_eval beside an interpreter: a folder at the end of its `sys.path`, made once for each set of packages there.

The interpreter's own packages keep their versions: the folder is resolved with all of them pinned, so lm_eval runs with the same packages
that the build is measured with. If that is impossible, the error comes before anything runs. An interpreter with its own lm_eval needs no
folder and no package index.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from packaging.version import Version

from perfproof.builds.install.install_steps import Installer, Say
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.install.side_folder import draft_folder, settle
from perfproof.builds.prepare import locked
from perfproof.model.base.errors import CannotRun

WANTED = ("lm-eval==0.4.13", "tenacity>=8", "sentencepiece>=0.2")
"""lm_eval, with its extras for servers and for the tokenizers of some tasks."""
OLDEST = Version("0.4.12")
"""The oldest lm_eval in an interpreter that is known to work with the suite."""
STEP = "lm_eval beside it"


def lm_eval_folder(build: ReadyBuild, say: Say) -> Path:
    """The folder with lm_eval for that build's interpreter; made if it does not exist, empty if the interpreter has its own lm_eval.

    Raises `CannotRun` where it can't be made.
    """
    builds = build.side.parent
    own = build.fingerprint.packages.get("lm-eval")
    if own is not None and Version(own) >= OLDEST:
        folder = builds / "lm-eval-own"
        folder.mkdir(exist_ok=True)
        return folder
    installer = Installer(what=build.label, builds=builds, log=builds / ".logs" / f"lm-eval-{build.id}.log", say=say)
    held = _held(build, installer)
    minor = ".".join(build.fingerprint.python.split(".")[:2])
    folder = builds / f"lm-eval-{minor}-{hashlib.sha256(' '.join([*WANTED, *held]).encode()).hexdigest()[:8]}"
    with locked(builds, folder.name, STEP, say):
        if not folder.exists():
            with draft_folder(".lm-eval-", builds) as draft, installer.step(STEP):
                constraints = draft / "held.txt"
                constraints.write_text("\n".join(held))
                done = installer.uv_install(build.interpreter, "--target", draft / "packages", "--constraint", constraints, *WANTED)
                installer.must(
                    done,
                    STEP,
                    "check that the package index can be reached, or install lm-eval there, in a version that fits its packages",
                )
                settle(draft / "packages", folder)
    return folder


def _held(build: ReadyBuild, installer: Installer) -> list[str]:
    """The packages of the interpreter, name==version, without those that no index has: installed from a file, or for one device."""
    installer.refuse_image(build.interpreter)
    done = installer.uv("pip", "freeze", "--python", build.interpreter)
    if not done.ok:
        raise CannotRun(installer.words("packages of the interpreter", "check that the environment is complete"))
    lines = (line.strip() for line in installer.output.splitlines())
    return sorted(line for line in lines if "==" in line and "+" not in line and not line.startswith(("-", "#", "vllm")))
