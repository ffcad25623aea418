"""What a reader sees: one page, one terminal table, one pull-request block, all from one view model.

In order: `view.build` turns judged rows and records into a `Page`, and `html` puts the page's panels together. The rooms, from the ground
up: `base`, the nouns of a page and how numbers are written; `extract`, facts out of records; `text`, every sentence, said once for all
forms; `figures`, marks and curves; `formats`, terminal, pull request, JUnit and markdown, which only lay those words out, so that they
can't disagree; `panels`, pure functions from the `Page` to markup that know nothing of each other; `history`, the page of a history.

This package computes no statistics, reads no clock and opens no file but its own templates. It
trusts no text: everything that came from a file, a process or a plugin goes through `untrusted`
when the view is built and is escaped again where it is shown. *Inconclusive* and *untestable* are
never folded away, never green, and never left without a reason.
"""
