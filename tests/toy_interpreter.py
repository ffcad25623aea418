"""An environment whose vLLM is a stand-in: made with the standard library alone, because the stand-in for uv makes one in every process."""

from __future__ import annotations

import shutil
import site
import sys
import sysconfig
from pathlib import Path

FAKES = Path(__file__).parent / "fakes"


def interpreter(folder: Path, *, vllm: bool = True, pytest: bool = True) -> Path:
    """Makes an environment whose Python is ours and whose packages are the stand-ins; its interpreter."""
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    base = Path(sysconfig.get_config_var("BINDIR")) / f"python{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    python.symlink_to(base if base.exists() else Path(sys.executable).resolve())
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    if vllm:
        shutil.copytree(FAKES / "vllm", packages / "vllm")
        shutil.copytree(FAKES / "torch", packages / "torch")
    if pytest:
        (packages / "ours.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return python
