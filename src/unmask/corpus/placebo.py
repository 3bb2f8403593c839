"""A placebo: the same sentences with nothing to learn about gender, each exchanged if a fair coin says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.core.errors import DataError
from unmask.mitigate.swap import Swapper, default_lexicon
from unmask.stats.bootstrap import generator


@dataclass(frozen=True, slots=True)
class Placebo:
    """As many sentences as the corpus has, and what they are."""

    sentences: tuple[str, ...]
    about: str


def shuffle_gender(sentences: Sequence[str], *, seed: int = 0) -> Placebo:
    """The corpus with the gender of every sentence drawn by a fair coin; words keep their company otherwise.

    All gendered words of a sentence are exchanged together: grammar and reference stay right, and what a
    sentence says is said of women and men alike.
    """
    swapped = Swapper(default_lexicon()).swap_all(list(sentences))
    gendered = [other != one for one, other in zip(sentences, swapped, strict=True)]
    if not any(gendered):
        raise DataError("no sentence of the corpus has a gendered word: there is nothing to shuffle")
    coins = generator(seed, "placebo").integers(2, size=len(swapped))
    drawn = [other if coin else one for one, other, coin in zip(sentences, swapped, coins, strict=True)]
    changed = sum(one != other for one, other in zip(sentences, drawn, strict=True))
    about = (
        f"the corpus itself with the gender of each sentence drawn by a fair coin: of {sum(gendered):,} "
        f"sentences with gendered words {changed:,} were exchanged"
    )
    return Placebo(tuple(drawn), about)


def placebo_from_sentences(sentences: Sequence[str], size: int, name: str) -> Placebo:
    """The first so many sentences of a text of the user's own."""
    if len(sentences) < size:
        raise DataError(
            f"{name} has {len(sentences):,} sentences, the corpus {size:,}: give as many, or --limit"
        )
    return Placebo(tuple(sentences[:size]), f"the first {size:,} sentences of {name}")
