"""The reasons of verdicts as a page shows them: what its row does not say already.

A reason is written for a reader who sees nothing else. On a page it stands under the row with the same change, interval and margin; there
only what is open needs words: why, and what would settle it. A forecast of blocks is left out where one block decides the estimate.
"""

from __future__ import annotations

import dataclasses
import re

from perfproof.model.scenarios.metrics import ANSWERS
from perfproof.model.verdicts.judged import SUGGESTS, Judged, Outcome
from perfproof.report.base import formatting

_FORECAST = re.compile(r"; (?:about [\d,]+ (?:more )?blocks?\b|more than [\d,]+ blocks would be needed)[^;]*$")
"""The end of a reason that says how many blocks would settle it, as what."""
NO_FORECAST = "a single block decides this estimate, so how many blocks would settle it is not known"
SETTLED = (Outcome.IMPROVED, Outcome.REGRESSED, Outcome.EQUIVALENT)


def on_page(row: Judged, swayed: bool) -> Judged:
    """The row with the reason that a page shows. `swayed` says that one block decides its estimate."""
    if row.verdict in SETTLED and not (row.metric in ANSWERS or formatting.of_accuracy(row) or row.of_host):
        return dataclasses.replace(row, reason=SUGGESTS if row.suggests else "")
    if row.verdict == Outcome.INCONCLUSIVE and swayed:
        return dataclasses.replace(row, reason=f"{_FORECAST.sub('', row.reason)}; {NO_FORECAST}")
    return row


def told(row: Judged) -> str:
    """What stands under a row of the verdict table: of an open verdict what would settle it, else the reason."""
    if row.verdict == Outcome.INCONCLUSIVE and (found := _FORECAST.search(row.reason)):
        return found[0].removeprefix("; ")
    return NO_FORECAST if row.reason.endswith(NO_FORECAST) else "" if row.reason == SUGGESTS else row.reason
