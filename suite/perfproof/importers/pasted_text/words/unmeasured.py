"""What a text says in place of a number that nobody has: "not run", "crashed", "pending"."""

from __future__ import annotations

import re

UNMEASURED = re.compile(
    r"(?i)\b(?:(?:not|never) (?:yet )?(?:run|ran|measured|tested|done|available|finished|supported)(?: yet)?"
    r"|did(?:n't| not) (?:run|finish|fit)|to be (?:run|done)|crash\w*|fail\w*|oom\w*|timed out|broken(?! down)|pending|running"
    r"|missing|skipped|todo|tbd|n/a)\b"
)
