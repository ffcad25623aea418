"""Where a table names its sides: in columns, in rows, in labels, or not at all."""
