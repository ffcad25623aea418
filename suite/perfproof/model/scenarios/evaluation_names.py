"""Names of evaluations, of which a higher score is better."""

from __future__ import annotations

import re

EVALUATION = re.compile(
    r"(?i)^(?:gsm8k|mmlu(?:[-_ ]?(?:pro|redux))?|humaneval\+?|hellaswag|arc[-_ ](?:c|e|challenge|easy)|winogrande|truthfulqa(?:_mc[12])?"
    r"|mbpp\+?|ifeval|gpqa|math[-_ ]?500|livecodebench|mgsm|piqa|boolq|mt[-_ ]bench|mmmu(?:[-_ ]pro)?|chartqa|docvqa"
    r"|textvqa|mathvista|ocrbench|longbench|ruler|bbh|lambada(?:_(?:openai|standard))?|squad(?:v2)?|triviaqa|simpleqa|arena[-_ ]hard"
    r"|swe[-_ ]bench|openbookqa|commonsense[-_]?qa|social[-_]iqa|logiqa2?|sciq|nq[-_]open|naturalqs|[ct]?mmlu|ceval|c-eval|agieval|musr"
    r"|minerva[-_]math|hendrycks[-_]math|olympiadbench|med(?:mc)?qa|pubmedqa|xcopa|xnli|xwinograd|belebele|bfcl|hotpotqa|narrativeqa"
    r"|infovqa|ai2d|mmbench|mme|scienceqa|realworldqa|evalplus|bigcodebench"
    r"|niah(?:_(?:single|multikey|multiquery|multivalue))?(?:_[0-9])?|needle[- ]in[- ]a[- ]haystack|qasper|multifieldqa(?:_(?:en|zh))?"
    r"|2wikimqa|musique|dureader|gov_?report|qmsum|multi_?news|vcsum|samsum|trec|lsht|passage_(?:count|retrieval)(?:_(?:en|zh))?|lcc"
    r"|repobench(?:-p)?|infinitebench|babilong|helmet|loogle|zeroscrolls|l-eval|mrcr|nolima|hle|humanity's last exam|super_?gpqa"
    r"|arc[-_ ]agi"
    r"|(?:aime|hmmt|amc|usamo)[-_ ']?(?:20)?[0-9]{0,2}|omni[-_]math|theoremqa|(?-i:DROP|RACE|QuALITY|APPS|INCLUDE)|quac|coqa|swag|wsc|copa"
    r"|rte|cola|mnli|qnli|qqp|mrpc|sst-?2|stsb|anli|storycloze|mathqa|asdiv|svamp|gsm[-_ ]?plus|gsm[-_ ]?hard|[akj]mmlu|arabicmmlu"
    r"|global[-_ ]mmlu|mmmlu|tau2?[-_ ]bench|toolbench|terminal[-_ ]bench|browsecomp|gaia|alpaca[-_ ]?eval(?:[-_ ]?2)?|wildbench|livebench"
    r"|multi-?if|ifbench|codeforces|ds-?1000|multipl-?e|crux[-_]?eval|scicode|mmvet|seed[-_ ]bench|vqav2|gqa|okvqa|ocrvqa|mathverse"
    r"|mathvision|video-?mme|mvbench|longvideobench|egoschema|voicebench|crows_pairs|xstorycloze|flores|eq[-_ ]bench"
    r"|(?:ruler|bbh|mmlu|longbench|humaneval|mbpp)_\w+)"
    r"(?:[\s,:_()@-]+(?:strict|flexible|match|extract|scores?|acc|norm|cot|em|f1|recall|exact|[0-9]+-?shots?|zeroshot|fewshot|pass@[0-9]+"
    r"|platinum|main|test|val|dev|diamond|relaxed|prompt|inst|level|loose|generative|instruct|chat|v?[0-9]|[0-9]+k|average|avg|mean"
    r"|overall|en|zh|english|chinese|%))*[\s)]*$"
)
"""The name of an evaluation, with its task, its metric or how it was asked behind it."""
_SCORES = re.compile(
    r"(?i)\b(?:scores?|accurac(?:y|ies)|recall|exact[ -]match|pass@[0-9]+|needle[ -]in[ -]a[ -]haystack|evals?|evaluations?)\b"
)
"""Words for what evaluations give."""
MOST_WORDS = 3
"""Words of an evaluation's name, at most."""


def evaluates(text: str) -> bool:
    """Whether some words speak of an evaluation or of its scores, "LongBench, main / PR"."""
    words = re.findall(r"[\w+@-]+", text)
    named = (" ".join(words[at : at + size]) for at in range(len(words)) for size in range(1, MOST_WORDS + 1))
    return bool(_SCORES.search(text)) or any(map(EVALUATION.match, named))
