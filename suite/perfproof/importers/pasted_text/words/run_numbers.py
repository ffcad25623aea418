"""How a text numbers the runs of a side: "run 2", "2nd run", "第2次"."""

from __future__ import annotations

import re

RUN = re.compile(
    r"(?i)(?:^|[\s,(_-]+)\(?(?:(?:run|trial|rep|repeat|repetition|attempt|pass|seed|round|iteration|iter|it)\s*(?:no\.?|number|#|="
    r"|_)?\s*#?(?P<number>[0-9]{1,4})"
    r"(?:\s*(?:/|of)\s*[0-9]{1,4})?|(?P<ordinal>first|second|third|fourth|fifth|1st|2nd|3rd|[4-9]th) (?:run|trial|attempt"
    r"|time|repetition)|(?:lauf|durchlauf|essai|ejecución|corrida|prova|проход|запуск)\s*(?:n[o°]\.?|nr\.?"
    r"|#)?\s*(?P<foreign>[0-9]{1,4}))\)?\s*$"
    r"|(?:第\s?)(?P<counted>[0-9]{1,4}|[一二三四五六七八九十])\s?(?:次|回|轮|輪)(?:运行|运转|跑|测试|計測|測定)?\s*$"
)


def run_of(found: re.Match[str]) -> str:
    """The number of a run that `RUN` found, as it is written."""
    return str(next(filter(None, found.groups()))).lower()
