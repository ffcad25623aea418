"""What a row judges: a patch, a diff, other requests, a released change taken out, releases or settings, a control, or the machine."""

from __future__ import annotations

from collections.abc import Sequence

from perfproof.report.base.lead_model import Subject
from perfproof.report.base.page_model import ScenarioView
from perfproof.report.text.sentences import in_few_words

CHANGE, TAKEN_OUT, UNPATCHED, CONTROL, COMPARISON, ITSELF = range(6)
"""The sorts of subjects, in the order of the figure: a change of the code, a released change taken out, releases or settings compared, what
perfproof planted on purpose, an arm with the baseline's code, and the baseline against itself."""
OUT = "Reverting a released change:"
PLANTED = "Planted on purpose"
"""How the titles of these begin."""


def subject(scenario: ScenarioView, candidate: str) -> Subject:
    """What the rows of a candidate judge."""
    if scenario.itself:
        return Subject(place=ITSELF, title="The baseline against itself", words="tests the machine", name="")
    pairs = scenario.changes.get(candidate, ())
    if control := scenario.planted.get(candidate):
        words = f"a control, to see whether it is found; {'harmless: ' if control.harmless else ''}{in_few_words(control.words)}"
        return Subject(place=CONTROL, title=f"{PLANTED}: {control.name}", words=words, name=control.name)
    if scenario.altered or candidate in scenario.taken_out:
        return Subject(place=TAKEN_OUT, title=f"{OUT} {_titled(pairs) or 'a patch'}", words=_words(pairs), name=_named(pairs))
    other = dict(scenario.unlike).get(candidate, "")
    if scenario.unpatched:
        title = _titled(pairs) or f"{candidate}: {other or 'another release or setting'}"
        return Subject(place=UNPATCHED, title=title, words="no patch is judged", name=_named(pairs) or candidate)
    if not pairs and other:
        return Subject(place=COMPARISON, title=candidate, words=f"no change of the code, for comparison: {other}", name=candidate)
    return Subject(place=CHANGE, title=_titled(pairs) or candidate, words=_words(pairs), name=_named(pairs) or candidate)


def _titled(pairs: Sequence[tuple[str, str]]) -> str:
    return " and ".join(name for name, _ in pairs)


def _named(pairs: Sequence[tuple[str, str]]) -> str:
    """The names alone, without the words "patch" and "diff" and without folders."""
    return " and ".join(name.removeprefix("patch ").removeprefix("diff ").rpartition("/")[2] for name, _ in pairs)


def _words(pairs: Sequence[tuple[str, str]]) -> str:
    return "; ".join(in_few_words(words) for _, words in pairs if words)


def own_arm(scenario: ScenarioView, candidate: str) -> bool:
    """Whether the scenario's name and what is judged leave it open which arm is meant."""
    title = subject(scenario, candidate).title
    return not scenario.changes or sum(subject(scenario, other).title == title for other in scenario.changes) > 1
