"""Commands that say whose the numbers below them are: what they check out, install, set, show or are remarked with, where several commands
of a text differ in just that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.context import command_settings, headings
from perfproof.importers.pasted_text.context.command_settings import NEAR
from perfproof.importers.pasted_text.context.headings import Heading
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.model.scenarios.side_names import names_a_side, role, split

FEW_WORDS = 4
COMMAND = re.compile(
    r"(?:^|\s)--[A-Za-z][\w-]*(?:[= `]|$)|^\$\s|^(?:export|pip|uv|git|cd|python3?|docker|VLLM_[A-Z_]+=\S+)\s|^\W{0,3}diff -\w"
)
_OF_SIDE = re.compile(r"(?:\s#\s*|\()([^()#]{2,40})\)?\W*$")
"""What a command says behind it of whose it is."""
PRINTED = re.compile(
    r"^(?:(?:[$%+] )?(?:cat|zcat|bat|jq|grep|python[0-9.]* -m json\.tool)|[$%+] ?(?:head|tail|less|more|awk|sed|tee))\b"
    r"(?: | .*?\s)(?:< ?)?[\"']?(?P<name>[\w./~-]+\.(?:log|txt|jsonl?|out|csv|md))[\"']?(?:\s*\|\s*\S.*)?$"
)
"""A command that prints a file, whose name may say whose it is."""
_WAYS = (
    re.compile(r"\b(?:git (?:checkout|switch)(?: --?[a-zA-Z]+)*|gh pr checkout) (?P<name>[\w./@^~-]+)"),
    re.compile(r"\b(?:pip|pip3) install .*?(?P<name>\b(?:vllm|sglang|torch|flashinfer[\w-]*|transformers)\s?[= ]=?\s?[0-9][\w.]*)"),
    re.compile(r"^\W*(?:docker|podman|apptainer)\b.*?\s(?P<name>(?:[\w.-]+/)*[\w.-]+:[\w.-]*[0-9][\w.-]*)"),
    PRINTED,
    re.compile(r"^\$\s*(?:export\s+)?(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]*=\S+)(?:\s+\S|$)"),
    re.compile(r"^\$\s*cd (?P<name>[\w./~-]+)"),
    re.compile(r"^\$?\s*git (?P<name>stash(?: (?:pop|apply))?)\b"),
)
"""What a command can differ from others in."""
_STASHED = {"stash": "before (git stash)", "stash pop": "after (git stash pop)", "stash apply": "after (git stash apply)"}
_TOKEN = re.compile(r"(?:(?<=\s)|(?<==)|(?<=>))[\"']?(?P<name>[A-Za-z][\w.-]*)[\"']?(?=\s|$)")
_FLAG = re.compile(r"(?<=\s)--(?P<name>[a-z][\w-]*(?:[= ](?!-)[^\s-]\S*)?)")


def command_of_side(lines: Sequence[Line], at: int) -> tuple[Heading, int] | None:
    """A command as the heading of what it printed, where it says whose that is."""
    text = lines[at].text
    near = lines[max(0, at - NEAR) : at + NEAR]
    for way in _WAYS:
        if (own := way.search(text)) and len({one["name"] for line in near if (one := way.search(line.text))}) > 1:
            said = _OF_SIDE.search(text)
            named = said[1].strip() if said and names_a_side(said[1]) else own["name"]
            named = f"PR {named}" if named.isdigit() and own[0].startswith("gh pr") else named
            name = _STASHED.get(own["name"], named)
            return Heading(text=name, level=headings.BOLD, number=lines[at].number), at + 1
    if (prompt := _PROMPT.match(text)) and (called := _called(text[prompt.end() :])):
        others = {name for line in near if (one := _PROMPT.match(line.text)) and (name := _called(line.text[one.end() :]))}
        if len({role(each) for each in others}) > 1:
            return Heading(text=called, level=headings.BOLD, number=lines[at].number), at + 1
    measures = command_settings.COMMAND.match(text)
    if not (COMMAND.search(text) or measures) or text.startswith("|"):
        return None
    found = _OF_SIDE.search(text)
    if found and _says_whose(found[1], near) and not headings.SETTING.match(text):
        return Heading(text=found[1].strip(), level=headings.BOLD, number=lines[at].number), at + 1
    if (measures and (name := command_settings.told(lines, at))) or (text.startswith("$ ") and (name := _told(text, near))):
        return Heading(text=name, level=headings.BOLD, number=lines[at].number), at + 1
    return None


_PROMPT = re.compile(r"^(?:>>>|In \[[0-9]{1,4}\]:|\(Pdb\)|%timeit\b|julia>|node>)\s*")


def _called(code: str) -> str:
    """The one name in a line of code that says whose it is: "old_impl", or "old" of "old_hash"; "" for none."""
    names = list(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", code)))
    whole = [name for name in names if names_a_side(name)]
    parts = [side for name in names for side, _ in split(name)[:1]]
    found = list(dict.fromkeys(whole or parts))
    return found[0] if len(found) == 1 else ""


def _says_whose(comment: str, lines: Sequence[Line]) -> bool:
    """Whether what stands behind a command says whose it is: a side, or what stands beside one in the same place behind another."""
    if names_a_side(comment):
        return True
    others = [found[1] for line in lines if COMMAND.search(line.text) and (found := _OF_SIDE.search(line.text))]
    return len(comment.split()) <= FEW_WORDS and any(names_a_side(other) for other in others)


def _told(text: str, lines: Sequence[Line]) -> str:
    """What tells a command from the only other one like it: a word that names a side, or a flag that the other has not; "" for nothing."""
    alike = list(dict.fromkeys(line.text for line in lines if line.text.startswith("$ ") and line.text.split()[1:3] == text.split()[1:3]))
    if len(alike) != 2:
        return ""
    other = next(each for each in alike if each != text)
    own, others = (_sided(each) for each in (text, other))
    if own and others and own != others:
        return own
    flags, without = (_flags(each) for each in (text, other))
    more, less = flags - without, without - flags
    if len(more) + len(less) == 1:
        return f"--{next(iter(more))}" if more else f"no --{next(iter(less))}"
    return f"--{next(iter(more))}" if len(more) == len(less) == 1 else ""


def _sided(text: str) -> str:
    """The one word of a command that names a side, "main.json" too."""
    found = {one["name"] for one in _TOKEN.finditer(text) if names_a_side(one["name"])}
    return found.pop() if len(found) == 1 else ""


def _flags(text: str) -> frozenset[str]:
    return frozenset(found["name"] for found in _FLAG.finditer(text) if not command_settings.OF_WORK.match(found["name"]))
