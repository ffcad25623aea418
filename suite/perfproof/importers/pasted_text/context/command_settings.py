"""One command that was run twice, with one setting in two ways: "VLLM_X=0 vllm bench" and "VLLM_X=1 vllm bench", a flag there or not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.model.scenarios.side_names import role

NEAR = 200
"""Lines above and below a command in which the others stand."""
COMMAND = re.compile(
    r"^(?:[$%] )?(?P<set>(?:[A-Z][A-Z0-9]*_[A-Z0-9_]*=\S+\s+)*)(?:sudo |numactl \S+ |time |uv run )?"
    r"(?P<run>(?:vllm (?:bench \w+|serve|chat|complete|run-batch)|python[0-9.]* (?:-m )?[\w./-]+|lm[_-]eval|genai-perf|evalscope|guidellm"
    r"|aiperf|torchrun|\./?[\w./-]+\.(?:py|sh)|bash [\w./-]+)(?:\s|$))(?P<rest>.*)$"
)
"""A command that measures, with the variables before it."""
OF_WORK = re.compile(
    r"(?:model|served-model|tokenizer|host|port|seed|dataset|output|save|result|label|tag)\b|.*[= ][0-9.]+$|.*[= ](?:auto|inf)$"
)
"""Flags that say what is run, and where, rather than how."""
_OF_MACHINE = re.compile(
    r"(?:CUDA|HIP|ROCR|NVIDIA|ASCEND\w*)_VISIBLE_DEVICES|HF_|.*(?:_PORT|_HOST|_DIR|_PATH|_HOME|_LEVEL|_THREADS|_RANK|_IP)$"
)
"""Variables that say where something is run."""
_FLAG = re.compile(r"(?<!\S)(?P<flag>--?[A-Za-z][\w.-]*)(?:(?:=|\s+)(?P<value>'[^']*'|\"[^\"]*\"|[^\s-]\S*|-[0-9]\S*))?")
_SWITCH = ({"0", "1"}, {"false", "true"}, {"off", "on"}, {"no", "yes"})
_BOTH = ("baseline", "candidate")


def told(lines: Sequence[Line], at: int) -> str:
    """What tells a command from the only other one like it that printed something too, "" where that is more than one setting, or where
    other lines name the sides."""
    own = COMMAND.match(lines[at].text)
    near = lines[max(0, at - NEAR) : at + NEAR]
    if not own or any(_names_side(line.text) for line in near):
        return ""
    alike = [place for place, line in enumerate(near) if (found := COMMAND.match(line.text)) and found["run"].split() == own["run"].split()]
    whole = {place: _whole(near, place) for place in alike}
    texts = set(whole.values())
    if len(texts) != 2 or not all(any(_printed(near, each) for each in alike if whole[each] == text) for text in texts):
        return ""
    mine = _whole(lines, at)
    return _setting(*(_settings(text) for text in (mine, (texts - {mine}).pop())))


def _whole(lines: Sequence[Line], at: int) -> str:
    """A command with the lines that it goes on in."""
    parts = [lines[at].text.removeprefix("$ ")]
    while parts[-1].endswith("\\") and at + len(parts) < len(lines):
        parts[-1] = parts[-1].rstrip(" \\")
        parts.append(lines[at + len(parts)].text)
    return " ".join(parts)


def _names_side(text: str) -> bool:
    """Whether a line is the name of a side alone, or a row of a table."""
    return text.startswith("|") or (len(text) < 60 and not COMMAND.match(text) and role(text.strip("#*_:=<>- `")) in _BOTH)


def _printed(lines: Sequence[Line], at: int) -> bool:
    """Whether a number stands below a command, and above the next one."""
    for line in lines[at + 1 :]:
        if COMMAND.match(line.text):
            return False
        if re.search(r"[0-9]", line.text):
            return True
    return False


def _settings(text: str) -> dict[str, str]:
    """The variables and the flags of a command with their values, its other words as they are."""
    found = COMMAND.match(text)
    if not found:
        return {}
    variables = dict(part.split("=", 1) for part in found["set"].split())
    flags = {flag["flag"]: "".join((flag["value"] or "").split()) for flag in _FLAG.finditer(found["rest"])}
    return {**variables, **flags, "": _FLAG.sub("", found["rest"]).strip(" \\&")}


def _setting(own: dict[str, str], other: dict[str, str]) -> str:
    """The one setting in which a command differs from another, as it has it: "with --x", "no --x", "X=0"; "" for none and for several."""
    differ = [key for key in {**own, **other} if own.get(key) != other.get(key)]
    pair = {f"--{key.removeprefix('--').removeprefix('no-')}" for key in differ}
    if len(differ) == 2 and len(pair) == 1 and all(key.startswith("--") for key in differ):
        return next(key for key in differ if key in own)  # --x and --no-x
    if len(differ) != 1 or not differ[0] or _OF_MACHINE.match(differ[0]):
        return ""
    key = differ[0]
    values = [each[key] for each in (own, other) if key in each]
    switch = {value.casefold() for value in values} in _SWITCH
    if key.startswith("-") and not switch and (not key.startswith("--") or any(OF_WORK.match(f"{key[2:]} {value}") for value in values)):
        return ""
    if key in own and not switch and role(own[key]) in _BOTH:
        return own[key]  # --mode baseline
    mark = "=" if values[0] else ""
    if len(values) == 1 and (key.startswith("-") or key not in own):
        return f"{'with' if key in own else 'no'} {key}{mark}{values[0]}"
    return f"{key}{mark}{own[key]}"
