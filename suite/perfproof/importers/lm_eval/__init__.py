"""What lm_eval leaves on disk: `lm_eval_runs` finds a run's files and how it asked, `lm_eval_samples` reads the scores of its items,
`lm_eval_totals` the totals of a run without samples.

Items are not paired here and runs are not compared: `perfproof.analysis.verdicts` does both.
"""

from perfproof.importers.lm_eval import lm_eval_totals as totals
from perfproof.importers.lm_eval.lm_eval_runs import REMEDY
from perfproof.importers.lm_eval.lm_eval_samples import files, read, results, settings, tasks

__all__ = ["REMEDY", "files", "read", "results", "settings", "tasks", "totals"]
