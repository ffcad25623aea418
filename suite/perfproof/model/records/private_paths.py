"""What a record must not say of the machine and its user: where folders lie, and the values of secrets that a scenario sets."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

NAMING = ("model", "server_arguments", "client", "arguments", "environment")
"""The keys of a workload or an arm whose texts may name folders."""
KEPT = frozenset({"endpoint"})
"""Keys whose value looks like a path, and is a part of an address."""
SECRET = re.compile(
    r"(TOKEN|KEY|(?<!BY)(?<!COM)PASS|(^|_)AUTH|COOKIE|JWT|SALT|DSN|WEBHOOK|BEARER)[0-9]*(_|$)|SECRET|PASSW|PASSPHRASE|PASSCODE|CREDENTIAL"
    r"|SIGNATURE|PINCODE|(^|_)PIN$|(?<!^)(?<!^OLD)PWD",
    re.IGNORECASE,
)
"""Variables whose values are nobody's business; `PWD` and `OLDPWD` are a shell's folders."""
HIDDEN = "<secret>"
_WHOLE = re.compile(r"^(?P<flag>-{0,2}[\w.-]+=)?(?P<path>[/~][^/\n]*/[^\n]*?[^/\n])/*$")
_WITHIN = re.compile(r"(?<![\w./:~…-])(?P<path>[/~][\w.+@-]*(?:/[\w.+@-]+)+)/*")


def without_places(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A definition whose workload and arms name no folder of this machine, and no value of a secret."""
    arms = {name: {**arm, **_named_of(arm)} for name, arm in definition["arms"].items()}
    return {**definition, "workload": {**definition["workload"], **_named_of(definition["workload"])}, "arms": arms}


def _named_of(said: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: shown(said[key]) for key in NAMING if key in said}
    if isinstance(variables := found.get("environment"), dict):
        found["environment"] = {name: HIDDEN if SECRET.search(name) and value else value for name, value in variables.items()}
    return found


def shown(said: Any) -> Any:
    """A text, or texts within, without the way to a file or folder: of a path from the root or the home its name is kept, and eight digits
    of a hash that tell it from others of that name. A path may be the whole text, what a flag is given, or stand within JSON."""
    if isinstance(said, Mapping):
        return {key: value if key in KEPT else shown(value) for key, value in said.items()}
    if isinstance(said, list | tuple):
        return [shown(value) for value in said]
    if not isinstance(said, str):
        return said
    whole = _WHOLE.match(said)
    return f"{whole['flag'] or ''}{_short(whole['path'])}" if whole else _WITHIN.sub(lambda found: _short(found["path"]), said)


def _short(path: str) -> str:
    whole = os.path.normpath(os.path.expanduser(path))
    return f"…/{hashlib.sha256(whole.encode(errors='surrogateescape')).hexdigest()[:8]}/{PurePath(whole).name}"
