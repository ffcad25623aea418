"""Which way lm_eval's metrics are better, and which are no shares of one, where no results file says so.

The table has what lm_eval's own registry and tasks say with one voice; of any other name nothing is claimed.
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
    """Which way a metric is better: as `higher`, lm_eval's own `higher_is_better`, says where it is true or false, else by the name; None
    where neither says."""
    if isinstance(higher, bool):
        return "higher" if higher else "lower"
    if metric in _LOWER.split():
        return "lower"
    return "higher" if metric in _HIGHER.split() or _ONE_OF_SEVERAL.fullmatch(metric) else None


def may_be_share(metric: str) -> bool:
    """Whether values of a metric can be shares of one, as far as its name says: not those of a perplexity or a correlation."""
    return metric not in _NO_SHARES.split()
