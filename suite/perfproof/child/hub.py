"""Checks that a hub has a model: `python hub.py NAME`.

Runs inside a build's interpreter and imports nothing else of the suite, and not vLLM. The exit code is 0 if the hub or its cache has the
model, `MISSING` if the hub answers that it has none of that name, and else 1: then the hub has not answered, and the last line says why.
"""

from __future__ import annotations

import sys
from pathlib import Path

SECONDS = 20.0
"""Seconds to wait for the hub's answer."""
MISSING = 4
"""The exit code for a model that the hub does not have; `suite/perfproof/run/servers/hub_models.py` has the same."""


def there(name: str) -> bool:
    """Whether the cache or the hub has the model; raises the errors of the hub's client if the hub does not answer."""
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import RepositoryNotFoundError
    from huggingface_hub.file_download import repo_folder_name

    cached = Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=name, repo_type="model"), "snapshots")
    if any(cached.glob("*/*")):
        return True
    try:
        HfApi().model_info(name, timeout=SECONDS)
    except RepositoryNotFoundError:
        return False
    return True


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder: nothing there is to be imported by name
    try:
        sys.exit(0 if there(sys.argv[1]) else MISSING)
    except Exception as error:  # any error of the hub's client is the answer
        sys.exit(" ".join(f"{type(error).__name__}: {error}".split()))
