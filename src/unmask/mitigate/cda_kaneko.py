"""`cda-kaneko`: counterfactual augmentation as the published code of Kaneko et al. (2022) does it.

Words are split at white space and compared in lower case, so `He,` is missed; replacements are lower case.
Copies are written only for masculine words, one for each matching entry of the list, with all replacements
made so far: a sentence that mentions only women has no counterfactual.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.errors import DataError
from unmask.data.texts import TrainingCorpus
from unmask.mitigate.mlm import train_language_model
from unmask.mitigate.spec import Method, MitigationContext, Outcome
from unmask.mitigate.swap import package_words, read_lexicon

Entries = Sequence[tuple[str, str]]  # (masculine, feminine) in lower case, in list order


def counterfactual_copies(sentence: str, entries: Entries) -> list[str]:
    """The counterfactual copies that the published code writes."""
    replaced = sentence.split()
    lowered = [token.lower() for token in replaced]
    present = set(lowered)
    copies = []
    both_ways = [*((feminine, masculine) for masculine, feminine in entries), *entries]
    for number, (word, counterpart) in enumerate(both_ways):
        if word in present:
            replaced = [
                counterpart if token == word else old for token, old in zip(lowered, replaced, strict=True)
            ]
            copies += [" ".join(replaced)] if number >= len(entries) else []
    return copies


def word_entries(context: MitigationContext) -> Entries:
    """Word pairs in order of application; (him, her) comes last, as in the published lists."""
    if context.options.pairs is not None:
        replacements = read_lexicon(context.options.pairs).words.items()
        return [(a.lower(), b.lower()) for number, (a, b) in enumerate(replacements) if number % 2 == 0]
    pairs = [(pair.masculine.lower(), pair.feminine.lower()) for pair in package_words().pairs]
    last = ("him", "her")
    return [*(pair for pair in pairs if pair != last), last]


def apply(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
    """Train on every sentence and its counterfactual copies."""
    entries, sentences = word_entries(context), corpus.sentences
    added = [copy for sentence in sentences for copy in counterfactual_copies(sentence, entries)]
    if not added:
        raise DataError(f"none of the {len(sentences):,} sentences contains a masculine word: nothing to add")
    facts = {"sentences": len(sentences), "copies": len(added), "pronouns": "the last entry of the list"}
    return train_language_model(context, [*sentences, *added], facts)


CDA_KANEKO = Method(
    name="cda-kaneko",
    title="Counterfactual data augmentation, as published by Kaneko et al. (2022)",
    about="one-directional: copies only for masculine words, words next to punctuation missed, lower case",
    apply=apply,
    citation="kaneko-etal-2022-debiasing",
    published=True,
)
