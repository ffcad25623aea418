"""`python -m perfproof.validation.cost RESULTS...`: the overhead of server trials in results folders.

Two promises, checked from the records alone: besides a server's start, warm-ups and measurement, a trial takes at most 3 s (including the
end of its own server), and watching it takes less than 1 % of one core. Ends with 1 where one of them was not kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from perfproof import store
from perfproof.model.records.record import Record

MOST_SECONDS = 3.0
MOST_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The overhead of one scenario's trials: `beyond` seconds each, and the `share` of a core that watching took, where it is recorded."""

    scenario: str
    how: str
    beyond: tuple[float, ...]
    share: tuple[float, ...]

    @property
    def kept(self) -> bool:
        """Whether the typical trial keeps both promises."""
        return median(self.beyond) <= MOST_SECONDS and (not self.share or median(self.share) < MOST_SHARE)

    def line(self) -> str:
        """One line."""
        seconds = f"{median(self.beyond):.2f} s beyond start, warm-ups and measurement (at most {max(self.beyond):.2f})"
        watched = f"watched with {median(self.share):.2%} of a core (at most {max(self.share):.2%})" if self.share else "watching unknown"
        return f"{self.scenario}, {self.how}, {len(self.beyond)} trials: {seconds}; {watched}"


def costs(records: Sequence[Record]) -> list[Cost]:
    """The overhead of every scenario measured at a server, over its valid trials. Source: none, arithmetic."""
    served = [record for record in records if record.status == "ok" and "measuring" in record.seconds and record.how.endswith("server")]
    kinds = dict.fromkeys((record.scenario, record.how) for record in served)
    return [_cost(scenario, how, [one for one in served if (one.scenario, one.how) == (scenario, how)]) for scenario, how in kinds]


def _cost(scenario: str, how: str, records: Sequence[Record]) -> Cost:
    shares = [one.environment.get("while_measuring", {}).get("watching") for one in records]
    return Cost(
        scenario=scenario,
        how=how,
        beyond=tuple(one.seconds["total"] - one.seconds["measuring"] - one.seconds.get("warming up", 0.0) for one in records),
        share=tuple(float(share) for share in shares if share is not None),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Reads the arguments, prints a line a scenario and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m perfproof.validation.cost", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, help="results folders")
    measured = costs([record for folder in parser.parse_args(argv).results for record in store.read(folder).records])
    for cost in measured:
        print(cost.line())
    return 0 if measured and all(cost.kept for cost in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
