"""lm_eval beside an interpreter: a folder that goes to the end of its `sys.path`, made once for each set of packages there.

What the interpreter has already keeps its version: the folder is resolved with all of that held fast, so that lm_eval runs beside the very
packages that the build is measured with. Where that can't be, it is told before anything runs. An interpreter that has lm_eval itself needs
nothing beside it, and no package index.
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
"""lm_eval, with what it needs to ask a server and what some tasks read tokenizers with."""
OLDEST = Version("0.4.12")
"""The oldest lm_eval of an interpreter's own that was seen to answer as the suite asks it."""
STEP = "lm_eval beside it"


def lm_eval_folder(build: ReadyBuild, say: Say) -> Path:
    """The folder with lm_eval for that build's interpreter; made if it is not there, empty where the interpreter has its own.

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
                    "see that the package index can be reached, or install lm-eval there, in a version that goes with its packages",
                )
                settle(draft / "packages", folder)
    return folder


def _held(build: ReadyBuild, installer: Installer) -> list[str]:
    """The packages of the interpreter, name==version, but for those that no index has: what was installed from a file or for one device."""
    done = installer.uv("pip", "freeze", "--python", build.interpreter)
    if not done.ok:
        raise CannotRun(installer.words("packages of the interpreter", "see that it is a whole environment"))
    lines = (line.strip() for line in installer.said.splitlines())
    return sorted(line for line in lines if "==" in line and "+" not in line and not line.startswith(("-", "#", "vllm")))
