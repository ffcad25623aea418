"""The options of the command line and the pages that tell of them: neither has any that the other lacks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from perfproof.cli import parser
from perfproof.cli.options import EPILOG

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.name: path.read_text().replace("\\\n", " ") for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))}
EVERYWHERE = {"-h", "--help", "--version"}


def commands(top: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with its words: "run", "history add"."""
    yield name, top
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield from commands(below, f"{name} {word}".strip())


COMMANDS = dict(commands(parser()))
OPTIONS = {name: {word for action in one._actions for word in action.option_strings} - EVERYWHERE for name, one in COMMANDS.items()}


def test_every_option_says_what_it_is_for() -> None:
    """`--help` leaves no argument without a word."""
    told = {name: [action for action in one._actions if action.dest != argparse.SUPPRESS] for name, one in COMMANDS.items()}
    assert [f"{name}: {action.dest}" for name, actions in told.items() for action in actions if not action.help] == []


def test_every_option_is_told_on_a_page() -> None:
    """README or docs name each one."""
    told = {word for page in PAGES.values() for word in re.findall(r"(?<![\w-])--[a-z][\w-]*", page)}
    assert {name: missing for name, words in OPTIONS.items() if (missing := words - told)} == {}


def test_every_option_on_a_page_is_one_of_the_command_before_it() -> None:
    """`perfproof VERB ... --option` is something that can be typed."""
    odd = []
    for name, page in PAGES.items():
        for said in re.finditer(r"perfproof ((?:(?:history|ci) )?[a-z]+)(?= |`)([^`\n|#;]*)", page):
            verb = said[1] if said[1] in OPTIONS else said[1].split()[0]
            own = said[2].partition(" -- ")[0]  # what follows is another program's
            words = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", own)) - EVERYWHERE
            if words and not words <= OPTIONS.get(verb, set()):
                odd.append(f"{name}: {said[0]}")
    assert odd == []


def test_the_exit_codes_of_the_help_are_those_of_the_readme() -> None:
    """Both name the same codes."""
    table = PAGES["README.md"].partition("## Exit codes")[2].partition("##")[0]
    rows = re.findall(r"^\| ([\d, ]+) \|", table, re.M)
    assert {code for row in rows for code in row.split(", ")} == set(re.findall(r"\b\d+\b", EPILOG))
