"""The better direction of lm_eval's metrics, and the metrics that are no fractions, for the case that no results file says it.

The table has the names on which lm_eval's own registry and tasks agree; about other names nothing is assumed.
"""

from __future__ import annotations

import re

from perfproof.model.scenarios.metrics import Better

_HIGHER = """
    acc acc_norm acc_bytes acc_mutual_info acc_all accuracy exact_match em f1 precision recall mcc likelihood bleu chrf chrf++
    rouge1 rouge2 rougeL rougeLsum bleu_acc bleu_max bleu_diff rouge1_acc rouge1_max rouge1_diff rouge2_acc rouge2_max rouge2_diff
    rougeL_acc rougeL_max rougeL_diff bert_score bleurt extraction_rate partial_accuracy flexible_f1 qa_f1_score math_verify
    numerical_match percent_parseable prompt_level_strict_acc prompt_level_loose_acc inst_level_strict_acc inst_level_loose_acc
    pearsonr eqbench
"""
_LOWER = """
    perplexity word_perplexity byte_perplexity bits_per_byte brier_score ter wer cer likelihood_diff pct_stereotype pct_invalid
    pct_male_preferred pct_female_preferred perspective_api_toxicity_score
"""
_NO_SHARES = """
    perplexity word_perplexity byte_perplexity bits_per_byte likelihood likelihood_diff bleu bleu_max bleu_diff chrf chrf++ ter
    rouge1_max rouge1_diff rouge2_max rouge2_diff rougeL_max rougeL_diff mcc pearsonr eqbench bleurt
"""
_ONE_OF_SEVERAL = re.compile(r"pass@[0-9]+")


def direction(metric: str, higher: object = None) -> Better | None:
    """The better direction of a metric: by `higher`, lm_eval's own `higher_is_better`, if it is true or false, else by the name; None if
    both are unknown."""
    if isinstance(higher, bool):
        return "higher" if higher else "lower"
    if metric in _LOWER.split():
        return "lower"
    return "higher" if metric in _HIGHER.split() or _ONE_OF_SEVERAL.fullmatch(metric) else None


def may_be_share(metric: str) -> bool:
    """Whether values of a metric can be fractions, judged by its name: a perplexity or a correlation can't."""
    return metric not in _NO_SHARES.split()
