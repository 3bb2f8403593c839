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
from unmask.mitigate.spec import MitigationContext, MitigationOptions, Outcome
from unmask.mitigate.swap import (
    GroupSwapper,
    ModelPronounChooser,
    Swapper,
    default_lexicon,
    package_words,
    read_lexicon,
    read_pairs,
)
from unmask.mitigate.swap.lexicon import Lexicon, build_lexicon, swappable_pairs
from unmask.mitigate.swap.names import mark_words, read_names

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
        lexicon = _lexicon(options, texts, names=names if options.names is None else options.names)
        swap = Swapper(lexicon, None if context.causal else ModelPronounChooser(context.engine))
        swapped, grammar = swap.swap_all(texts), swap.grammar
    if swapped == texts:
        raise DataError(
            f"none of the {len(texts):,} texts contains a {options.axis} word that can be swapped: "
            "give another corpus, or more of it"
        )
    return swapped, grammar


def _lexicon(options: MitigationOptions, texts: Sequence[str], *, names: bool) -> Lexicon:
    """The words to swap; names of a table are words, too, if the texts have them in lower case."""
    if options.name_table is None:
        return default_lexicon(names=names) if options.pairs is None else read_lexicon(options.pairs, names=names)
    pairs = swappable_pairs() if options.pairs is None else read_pairs(options.pairs)
    return build_lexicon(pairs, mark_words(read_names(options.name_table), texts))


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
        return [(pair.masculine.lower(), pair.feminine.lower()) for pair in read_pairs(context.options.pairs)]
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
