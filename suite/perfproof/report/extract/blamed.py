"""What a blame found, as its JSON has it, becomes what the panel shows: every text is made harmless, and long lists are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfproof.analysis.stats.number_format import quantity
from perfproof.model.base.untrusted import line, lines
from perfproof.model.scenarios.metrics import is_timed, metric
from perfproof.report.base.cause_model import BlameView, GuiltyView, MixtureView
from perfproof.report.base.formatting import share
from perfproof.report.base.units import exact

UNITS = 12
"""Units of a mixture that are named, at most."""
FUNCTIONS = 30
"""Functions of the table, at most."""
DIFF = 2_000
"""Lines of the diff, at most."""


def of_document(document: Mapping[str, Any], diff: str) -> BlameView:
    """The view of a document that `perfproof blame --json` prints, with the text of its diff."""
    timed = is_timed(document["metric"])
    good, bad = (quantity(one, metric(document["metric"]).unit) if timed else exact(one) for one in map(float, document["values"]))
    return BlameView(
        scenario=line(document.get("scenario", ""), 160),
        builds=(line(document["good"], 160), line(document["bad"], 160)),
        metric=line(document["metric"], 160),
        values=(good, bad),
        timed=timed,
        guilty=tuple(map(_guilty, document["guilty"])),
        elsewhere=_elsewhere(document),
        mixtures=tuple(map(_mixture, document["trials"])),
        functions=tuple((line(one["function"], 200), int(one["change"]), float(one["share"])) for one in document["functions"][:FUNCTIONS]),
        answer=line(document["answer"], 400),
        diff=lines(diff, DIFF, 400),
        complete=bool(document["complete"]),
    )


def _elsewhere(document: Mapping[str, Any]) -> str:
    """Where the part lies that vLLM's Python does not bring: the packages that bring it, else what is left. Older documents say neither."""
    packages = (document.get("packages") or {}).get("guilty") or ()
    if packages:
        named = [f"{line(', '.join(one['packages']), 200)} ({share(one['share'])} of the change)" for one in packages]
        return f"Packages bring it, in part or whole: {'; '.join(named)}."
    parts = [line(part, 40) for part in document.get("lies_in") or ()]
    where = "is not in vLLM’s Python and lies in" if len(parts) == 1 else "is not in vLLM’s Python and may lie in"
    return f"What is left of the change {where} {' or '.join(parts)}." if parts else ""


def _guilty(one: Mapping[str, Any]) -> GuiltyView:
    return GuiltyView(
        function=line(one["function"] or "", 200),
        file=line(one["file"], 200),
        lines=_span(one["lines"]),
        hunks=", ".join(_span(hunk) for hunk in one["hunks"]),
        share=one["share"],
        interval=_ends(one),
        brought=one["brought"],
        together=tuple(line(other, 200) for other in one["together"]),
        divided=bool(one["divided"]),
        known=line(one["known_as"] or "; ".join(_commit(each) for each in one.get("commits", ())), 300),
    )


def _commit(one: Mapping[str, Any]) -> str:
    pull = f"#{one['pull']} " if one["pull"] else ""
    return f"{one['commit']} {pull}{one['subject']}"


def _mixture(one: Mapping[str, Any]) -> MixtureView:
    named = [line(unit.partition(":")[2] or unit, 160) for unit in one["units"]]
    more = [f"and {len(named) - UNITS} more"] if len(named) > UNITS else []
    return MixtureView(
        side=one["side"],
        units=(*named[:UNITS], *more),
        share=one["share"],
        interval=_ends(one),
        said=line(one["why"], 300),
        seconds=float(one["seconds"]),
    )


def _ends(one: Mapping[str, Any]) -> tuple[float, float] | None:
    interval = one.get("interval")
    return None if interval is None else (float(interval[0]), float(interval[1]))


def _span(found: Sequence[int] | None) -> str:
    return "" if not found else f"{found[0]:,}" if found[0] == found[1] else f"{found[0]:,} to {found[1]:,}"
