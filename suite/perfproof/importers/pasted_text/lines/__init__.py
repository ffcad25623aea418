"""A text as lines: without what only dresses them, tools' lines told as names and values, each side by its name. No item is found here."""
