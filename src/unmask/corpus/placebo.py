"""A placebo corpus: the same sentences, each with its gender swapped with probability 1/2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.core.errors import DataError
from unmask.core.seeds import generator
from unmask.mitigate.swap import Swapper, default_lexicon


@dataclass(frozen=True, slots=True)
class Placebo:
    """As many sentences as the corpus has, and a description of them."""

    sentences: tuple[str, ...]
    about: str


def shuffle_gender(sentences: Sequence[str], *, seed: int = 0) -> Placebo:
    """Swap the gender of every sentence with probability 1/2; other co-occurrences stay as they are.

    All gendered words of a sentence are swapped together: grammar and coreference stay correct, and the
    corpus says the same about women and men.
    """
    swapped = Swapper(default_lexicon()).swap_all(list(sentences))
    gendered = [other != sentence for sentence, other in zip(sentences, swapped, strict=True)]
    if not any(gendered):
        raise DataError("no sentence of the corpus has a gendered word: there is nothing to shuffle")
    flips = generator(seed, "placebo").integers(2, size=len(swapped))
    chosen = [
        other if flip else sentence for sentence, other, flip in zip(sentences, swapped, flips, strict=True)
    ]
    changed = sum(sentence != other for sentence, other in zip(sentences, chosen, strict=True))
    about = (
        f"the corpus itself with the gender of each sentence swapped at random: of {sum(gendered):,} "
        f"sentences with gendered words {changed:,} were swapped"
    )
    return Placebo(tuple(chosen), about)


def placebo_from_sentences(sentences: Sequence[str], size: int, name: str) -> Placebo:
    """The first `size` sentences of a text given by the user."""
    if len(sentences) < size:
        raise DataError(
            f"{name} has {len(sentences):,} sentences, the corpus {size:,}: give as many, or limit the corpus"
        )
    return Placebo(tuple(sentences[:size]), f"the first {size:,} sentences of {name}")
