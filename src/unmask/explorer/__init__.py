"""A local web page to browse runs pair by pair, score typed sentences, and annotate prompt answers.

runs ────► pairs (one table of all runs) ──────┐
model ───► live (scores text as it is typed) ──┼─► app (Starlette, behind `security`) ──► static (JavaScript)
answers ─► annotation (saved immediately) ─────┘

`docs/explorer.md` describes the page; `unmask explore` opens it.
"""
