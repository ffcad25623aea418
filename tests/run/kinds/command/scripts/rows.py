"""Rows of a printed table."""


def row(*cells: object) -> str:
    return "|" + "|".join(f" {cell!s:>10} " for cell in cells) + "|"


def rule(line: str = "-") -> str:
    return "+" + "+".join([line * 12] * 2) + "+"
