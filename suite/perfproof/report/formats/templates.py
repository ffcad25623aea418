"""The page's templates: one jinja2 environment that escapes everything and refuses an undefined name."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound
from markupsafe import Markup, escape

from perfproof.report.base import formatting, units
from perfproof.report.figures import sparklines
from perfproof.report.text import sentences

ASSETS = files("perfproof.report") / "assets"


class _Assets(BaseLoader):
    """Loads templates from the package's own folder."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, None, None]:
        file = ASSETS / template
        if not file.is_file():
            raise TemplateNotFound(template)
        return file.read_text("utf-8"), None, None


@cache
def _environment() -> Environment:
    made = Environment(loader=_Assets(), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.globals.update(claims=sentences, words=formatting, units=units, strips=sparklines)
    made.filters["breakable"] = breakable
    made.filters["unbroken"] = unbroken
    return made


def breakable(name: str) -> Markup:
    """A name of a function or variable with places where a narrow column may break it; its text is unchanged."""
    return Markup(re.sub(r"([._:])(?=\w)", r"\1<wbr>", str(escape(name))))  # noqa: S704  (escaped)


_WORD = re.compile(r"(?:--?[a-z][\w-]* (?!-))?\S+")
"""A word of a command; an option together with its value."""


def unbroken(text: str) -> Markup:
    """A command that breaks between its options and not within one, unless a word is wider than the line."""
    parts = (Markup('<span class="word-of">{}</span>').format(part) for part in _WORD.findall(text))
    return Markup(" ").join(parts)


def render(template: str, **values: Any) -> Markup:
    """Renders a template of the package with these values, as markup."""
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704  (autoescaped)


def asset(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")
