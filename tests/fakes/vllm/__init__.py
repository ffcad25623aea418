"""A stand-in for vLLM: as much of it as the suite's machinery meets, and imported in a moment."""

import os

__version__ = "0.32.0+cpu"
IMPORTED_WITH = os.environ.get("VLLM_TOY_SETTING", "")
