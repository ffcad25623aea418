"""The page of a history: what each metric did over builds, where it changed, and what is known of why.

In order: `history_view.build` turns series with their steps into a `HistoryPage`, texts cleaned; `history_figures` draws a small multiple a
metric; `history_page` lays both out. As on the page of a run, nothing here computes statistics, reads a clock or trusts a text; every
figure has its table, and a step that was accepted stays on the page, told apart.
"""
