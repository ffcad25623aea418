"""A text as lines, without what only dresses them: quote marks, logs, diffs, markup. No item is found here."""
