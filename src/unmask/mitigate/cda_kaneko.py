"""`cda-kaneko`: counterfactual augmentation as the published code of Kaneko et al. (2022) does it.

Words are split at white space and compared in small letters, so that `He,` is missed; replacements are in
small letters. A copy is written only for masculine words, one for each entry of the list that is found, with
all replacements made so far: a sentence that speaks of women only has no counterfactual.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.errors import DataError
from unmask.mitigate.mlm import train_language_model
from unmask.mitigate.spec import Method, MitigationContext, Outcome, TrainingCorpus
from unmask.mitigate.swap import package_words, read_lexicon

Entries = Sequence[tuple[str, str]]  # masculine and feminine, in small letters, in the order of the list


def counterfactual_copies(sentence: str, entries: Entries) -> list[str]:
    """The counterfactual copies the published code would write."""
    tokens = sentence.split()
    small = [token.lower() for token in tokens]
    present = set(small)
    made = list(tokens)
    for masculine, feminine in entries:
        if feminine in present:
            made = [masculine if one == feminine else old for one, old in zip(small, made, strict=True)]
    written = []
    for masculine, feminine in entries:
        if masculine in present:
            made = [feminine if one == masculine else old for one, old in zip(small, made, strict=True)]
            written.append(" ".join(made))
    return written


def word_entries(context: MitigationContext) -> Entries:
    """Pairs in the order that decides: her is last paired with him, as in the published lists."""
    if context.options.pairs is not None:
        known = read_lexicon(context.options.pairs).words.items()
        return [(one.lower(), other.lower()) for place, (one, other) in enumerate(known) if place % 2 == 0]
    pairs = [(one.masculine.lower(), one.feminine.lower()) for one in package_words().pairs]
    last = ("him", "her")
    return [*(pair for pair in pairs if pair != last), last]


def apply(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
    """Train on every sentence and the copies written for it."""
    entries, sentences = word_entries(context), corpus.sentences
    added = [copy for one in sentences for copy in counterfactual_copies(one, entries)]
    if not added:
        raise DataError(
            f"none of the {len(sentences):,} sentences holds a masculine word: nothing would be added"
        )
    facts = {"sentences": len(sentences), "copies": len(added), "pronouns": "the last entry of the list"}
    return train_language_model(context, [*sentences, *added], facts)


CDA_KANEKO = Method(
    name="cda-kaneko",
    title="Counterfactual data augmentation, as published by Kaneko et al. (2022)",
    about="one-directional: copies only for masculine words, punctuation missed, small letters",
    apply=apply,
    citation="kaneko-etal-2022-debiasing",
    published=True,
)
