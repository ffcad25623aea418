"""What lm_eval leaves on disk: `runs` finds a run's files and how it asked, `samples` reads the scores of its items."""

from suite.importers.lm_eval.samples import files, read, results, settings, tasks

__all__ = ["files", "read", "results", "settings", "tasks"]
