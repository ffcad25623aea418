"""How much of vLLM's host code the scenarios call: measured, not claimed.

1. `vllm_functions`: the functions that a vLLM defines, and those that differ between two of them;
2. `coverage_figures`: a table of observed calls against these;
3. `coverage_page`: the page of docs, and the command's sentences;
4. `coverage_command`: everything is run once under the counter.
"""
