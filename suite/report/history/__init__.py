"""The page of a history: what each metric did over builds, where it changed, and what is known of why.

In order: `view.build` turns series with their steps into a `HistoryPage`, texts cleaned; `figures` draws a small multiple a metric; `page`
lays both out. As on the page of a run, nothing here computes statistics, reads a clock or trusts a text; every figure has its
table, and a step that was accepted stays on the page, told apart.
"""
