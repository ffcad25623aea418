"""Private data that a record must not have: paths of folders, and the values of secrets that a scenario sets."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

NAMING = ("run", "count_run", "model", "server_arguments", "client", "arguments", "environment")
"""Keys of a workload or an arm whose texts may hold paths."""
KEPT = frozenset({"endpoint"})
"""Keys whose value looks like a path, but is part of an address."""
SECRET = re.compile(
    r"(TOKEN|KEY|(?<!BY)(?<!COM)PASS|(^|_)AUTH|COOKIE|JWT|SALT|DSN|WEBHOOK|BEARER)[0-9]*(_|$)|SECRET|PASSW|PASSPHRASE|PASSCODE|CREDENTIAL"
    r"|SIGNATURE|PINCODE|(^|_)PIN$|(?<!^)(?<!^OLD)PWD",
    re.IGNORECASE,
)
"""Variables whose values are private; `PWD` and `OLDPWD` are a shell's folders."""
HIDDEN = "<secret>"
_WHOLE = re.compile(r"^(?P<flag>-{0,2}[\w.-]+=)?(?P<path>[/~][^/\n]*/[^\n]*?[^/\n])/*$")
_WITHIN = re.compile(r"(?<![\w./:~…-])(?P<path>[/~][\w.+@-]*(?:/[\w.+@-]+)+)/*")


def without_places(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A definition without paths of this machine and values of secrets in its workload and arms."""
    arms = {name: {**arm, **_named_of(arm)} for name, arm in definition["arms"].items()}
    return {**definition, "workload": {**definition["workload"], **_named_of(definition["workload"])}, "arms": arms}


def _named_of(mapping: Mapping[str, Any]) -> dict[str, Any]:
    shown_values = {key: shown(mapping[key]) for key in NAMING if key in mapping}
    if isinstance(variables := shown_values.get("environment"), dict):
        shown_values["environment"] = {name: HIDDEN if SECRET.search(name) and value else value for name, value in variables.items()}
    return shown_values


def shown(value: Any) -> Any:
    """A text, or the texts in a value, without paths: of an absolute path or one below the home only its name is kept, with eight digits of
    a hash that distinguish paths of the same name. A path may be the whole text, the value of a flag, or inside JSON."""
    if isinstance(value, Mapping):
        return {key: inner if key in KEPT else shown(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [shown(inner) for inner in value]
    if not isinstance(value, str):
        return value
    whole = _WHOLE.match(value)
    return f"{whole['flag'] or ''}{_short(whole['path'])}" if whole else _WITHIN.sub(lambda match: _short(match["path"]), value)


def _short(path: str) -> str:
    whole = os.path.normpath(os.path.expanduser(path))
    return f"…/{hashlib.sha256(whole.encode(errors='surrogateescape')).hexdigest()[:8]}/{PurePath(whole).name}"
