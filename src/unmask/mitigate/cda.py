"""Counterfactual data augmentation and substitution.

`cda`: two-sided augmentation: every text, and its counterfactual where it has one.
`cds`: substitution: each document is replaced by its counterfactual with p = 0.5, names included.
`cda-kaneko`: augmentation of sentences as the published code of Kaneko et al. (2022) does it. Words are split
at white space and compared in lower case, so `He,` is missed; replacements are lower case. Copies are written
only for masculine words, one for each matching entry of the list, with all replacements made so far: a
sentence that mentions only women has no counterfactual.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.errors import DataError
from unmask.core.seeds import generator
from unmask.data.texts import TrainingCorpus
from unmask.mitigate.mlm import train_language_model
from unmask.mitigate.spec import Method, MitigationContext, Outcome
from unmask.mitigate.swap import (
    GroupSwapper,
    ModelPronounChooser,
    Swapper,
    default_lexicon,
    package_words,
    read_lexicon,
)

Entries = Sequence[tuple[str, str]]  # (masculine, feminine) in lower case, in list order


def augment(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
    """Train on the corpus and its counterfactuals."""
    texts = [" ".join(document) for document in corpus.documents]
    swapped, grammar = counterfactuals(context, texts, names=False)
    changed = sum(text != other for text, other in zip(texts, swapped, strict=True))
    both = [text for pair in zip(texts, swapped, strict=True) for text in dict.fromkeys(pair)]
    facts = {"documents": len(texts), "counterfactuals": changed, "pronouns": grammar}
    return train_language_model(context, both, facts)


def substitute(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
    """Train on the corpus with about half of its documents substituted, names included."""
    texts = [" ".join(document) for document in corpus.documents]
    swapped, grammar = counterfactuals(context, texts, names=True)
    chosen = generator(context.settings.seed, 2).random(len(texts)) < 0.5
    mixed = [other if swap else text for text, other, swap in zip(texts, swapped, chosen, strict=True)]
    changed = sum(text != new for text, new in zip(texts, mixed, strict=True))
    facts = {"documents": len(texts), "substituted": changed, "pronouns": grammar}
    return train_language_model(context, mixed, facts)


def counterfactuals(context: MitigationContext, texts: Sequence[str], *, names: bool) -> tuple[list[str], str]:
    """Swap the words of the axis in every text; also return how ambiguous pronouns were resolved."""
    options = context.options
    if options.axis != "gender":
        if options.pairs is not None:
            raise DataError(f"pairs applies to the axis gender only; {options.axis} uses sets of terms")
        swapped = GroupSwapper(options.axis).swap_randomly(texts, context.settings.seed)
        grammar = "terms of sets"
    else:
        names = names if options.names is None else options.names
        pairs = options.pairs
        lexicon = default_lexicon(names=names) if pairs is None else read_lexicon(pairs, names=names)
        swap = Swapper(lexicon, None if context.causal else ModelPronounChooser(context.engine))
        swapped, grammar = swap.swap_all(texts), swap.grammar
    if swapped == texts:
        raise DataError(
            f"none of the {len(texts):,} texts contains a {options.axis} word that can be swapped: "
            "give another corpus, or more of it"
        )
    return swapped, grammar


def counterfactual_copies(sentence: str, entries: Entries) -> list[str]:
    """The counterfactual copies that the published code writes."""
    replaced = sentence.split()
    lowered = [token.lower() for token in replaced]
    present = set(lowered)
    copies = []
    both_ways = [*((feminine, masculine) for masculine, feminine in entries), *entries]
    for number, (word, counterpart) in enumerate(both_ways):
        if word in present:
            replaced = [counterpart if token == word else old for token, old in zip(lowered, replaced, strict=True)]
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


def augment_as_published(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
    """Train on every sentence and its counterfactual copies."""
    entries, sentences = word_entries(context), corpus.sentences
    if not (added := [copy for sentence in sentences for copy in counterfactual_copies(sentence, entries)]):
        raise DataError(f"none of the {len(sentences):,} sentences contains a masculine word: nothing to add")
    facts = {"sentences": len(sentences), "copies": len(added), "pronouns": "the last entry of the list"}
    return train_language_model(context, [*sentences, *added], facts)


CDA = Method(
    name="cda",
    title="Counterfactual data augmentation",
    about="further training on every text and on its counterfactual, gendered words exchanged both ways",
    apply=augment,
    citation="webster-etal-2020-measuring",
    axes=("gender", "race", "religion"),
)

CDS = Method(
    name="cds",
    title="Counterfactual data substitution",
    about="further training on text half of whose documents are replaced by their counterfactual, names too",
    apply=substitute,
    citation="hall-maudslay-etal-2019-name",
    axes=("gender", "race", "religion"),
)

CDA_KANEKO = Method(
    name="cda-kaneko",
    title="Counterfactual data augmentation, as published by Kaneko et al. (2022)",
    about="one-directional: copies only for masculine words, words next to punctuation missed, lower case",
    apply=augment_as_published,
    citation="kaneko-etal-2022-debiasing",
    published=True,
)
