"""What a reader sees: one page, one terminal table, one pull-request block, all from one view model.

In order: `view.build` turns judged rows and records into a `Page`; `words` says every number and
every verdict of it exactly once, `claims` makes sentences of them, `heads` names a table's columns,
`headline`, `standing`, `provisos`, `otherwise` and `missing` say what stands over and beside the answers; `html`,
`terminal`, `pullrequest` and `junit` only lay those words out, so that they can't disagree. Panels are
pure functions from the `Page` to markup and know nothing of each other.

This package computes no statistics, reads no clock and opens no file but its own templates. It
trusts no text: everything that came from a file, a process or a plugin goes through `untrusted`
when the view is built and is escaped again where it is shown. *Inconclusive* and *untestable* are
never folded away, never green, and never left without a reason.
"""
