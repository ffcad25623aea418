"""Foreign formats on their way in: one file a format, each independent of the others."""
