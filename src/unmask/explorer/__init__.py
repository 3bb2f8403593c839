"""A page on this machine to look at runs pair by pair, to try sentences, and to judge prompts.

runs ──► pairs (one table of all) ──┐
model ──► live (asked while one types) ──┼──► app (Starlette, behind `security`) ──► static (plain JavaScript)
answers ──► judging (saved at once) ──┘

`docs/explorer.md` says what the page shows; `unmask explore` opens it.
"""
