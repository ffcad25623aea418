"""`python -m perfproof.validation`: simulates, prints the page, writes it; ends with 1 where 4,000 runs or more did not keep a promise."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from perfproof.model.base.errors import EXIT_USAGE, BadInput
from perfproof.model.installed import extras


def main(argv: Sequence[str] | None = None) -> int:
    """Reads the arguments, makes the page and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m perfproof.validation", description=__doc__)
    parser.add_argument("--runs", type=int, default=4000, help="simulated runs a case (4000; a few hundred for a quick look)")
    parser.add_argument("--seed", type=int, default=1, help="everything follows from it (1)")
    parser.add_argument("--out", type=Path, help="also write the page here, for example docs/validation.md")
    given = parser.parse_args(argv)
    if given.runs < 20:
        parser.error(f"--runs: at least 20 are needed to say anything, not {given.runs}")
    try:
        extras.need("validate", "perfproof.validation")
    except BadInput as error:
        parser.exit(EXIT_USAGE, f"{error}\n")
    from perfproof.validation.proof_page import write_page  # late: it needs packages of an extra

    page = write_page(given.seed, given.runs, tell=lambda title: print(f"done: {title}", file=sys.stderr, flush=True))
    print(page.text)
    if given.out is not None:
        given.out.write_text(page.text, encoding="utf-8")
    return 0 if page.kept else 1


if __name__ == "__main__":
    sys.exit(main())
