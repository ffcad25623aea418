"""Looks for a model of a hub: `python hub.py NAME`.

Runs inside a build's interpreter and imports nothing else of the suite, and not vLLM. It ends with 0 where the hub's cache holds the model
or the hub has it, with `MISSING` where the hub answers that it has none of that name, and else with 1, its last line saying why: then the
hub has not answered.
"""

from __future__ import annotations

import sys
from pathlib import Path

SECONDS = 20.0
"""In which the hub has to answer."""
MISSING = 4
"""The exit code of a model that the hub has not; `suite/perfproof/run/servers/hub_models.py` has it, too."""


def there(name: str) -> bool:
    """Whether the cache holds the model, or the hub says that it has it; raises what the hub's client does where it does not answer."""
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
    except Exception as error:  # whatever the hub's client meets is the answer
        sys.exit(" ".join(f"{type(error).__name__}: {error}".split()))
