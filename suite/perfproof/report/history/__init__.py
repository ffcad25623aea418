"""The page of a history: each metric over builds, where it changed, and the known causes.

In order: `history_view.build` turns series with their steps into a `HistoryPage` with clean texts; `history_figures` draws one small
figure per metric; `history_page` lays both out. As on the page of a run, nothing here computes statistics, reads a clock or trusts a text.
Every figure has its table. An accepted step stays on the page, marked as accepted.
"""
