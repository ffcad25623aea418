"""Names of means that stand beside the runs which they are the means of."""

from __future__ import annotations

import re

MEAN = (
    r"(?:mean|averages?|avg\.?|mittelwerte?|mittel|durchschnitt|schnitt|ø|moyenne|media|promedio|média|среднее"
    r"|平均值?|均值|평균)"
)
"""A mean, in the languages that are read."""
_MEAN = re.compile(rf"(?i){MEAN}(?:\s*(?:±|\+/-|\+-).*)?(?:\s*[(\[][^()\[\]]*[)\]])?:?")


def is_mean(name: str) -> bool:
    """Whether a name is that of a mean alone: "avg", "平均", "mean ± std", "mean (ms)", but not "mean TTFT"."""
    return bool(_MEAN.fullmatch(name.strip()))
