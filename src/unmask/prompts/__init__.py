"""Human-level diagnosis: the words a model fills into prompts, and whether people judge them biased.

    result = unmask.prompts("bert-base-uncased", out="runs/hld")

fill.py         the most likely words per prompt, with the verdict of rules.py
annotations.py  verdicts of people, in a CSV file, and the folder of a run
scoring.py      the share judged biased: all, by type, by form; how far people agree

`docs/prompts.md` describes the search for words and the rules.
"""

from __future__ import annotations

from unmask.core.lazy_imports import make_callable

make_callable(__name__, "unmask.prompts.run", "prompts")
