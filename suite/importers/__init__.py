"""Foreign formats on their way in: one module or package a format, each independent of the others."""
