"""Our results on their way out: one file a format, each independent of the others."""
