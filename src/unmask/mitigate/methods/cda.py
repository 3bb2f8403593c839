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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unmask.core.errors import DataError
from unmask.core.options import option
from unmask.mitigate.spec import AdapterOptions, Method, MitigationContext, Outcome

if TYPE_CHECKING:
    from unmask.data.texts import TrainingCorpus
    from unmask.mitigate.swap.lexicon import Lexicon

LAST = ("him", "her")
Entries = Sequence[tuple[str, str]]  # (masculine, feminine) in lower case, in list order


@dataclass(frozen=True)
class KanekoOptions(AdapterOptions):
    """Options of `cda-kaneko`."""

    pairs: Path | None = option(None, "CSV of word pairs to swap.", shown="the package's pairs")


@dataclass(frozen=True)
class SwapOptions(KanekoOptions):
    """Options of `cda` and `cds`."""

    axis: Literal["gender", "race", "religion"] = option(
        "gender", "Groups whose words are swapped: gender, race or religion."
    )
    names: bool | None = option(None, "Swap first names.", flag="--names/--no-names", shown="cds only")
    name_table: Path | None = option(
        None, "First names to swap: pairs, or a name, M or F, and a count per line.", shown="the package's names"
    )

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        super().__post_init__()
        if self.name_table is not None and self.names is False:
            raise DataError("names is False, but a name_table is given: leave one of them out")
        if self.axis != "gender" and self.pairs is not None:
            raise DataError(f"pairs applies to the axis gender only; {self.axis} uses sets of terms")


def augment(context: MitigationContext[SwapOptions], corpus: TrainingCorpus) -> Outcome:
    """Train on the corpus and its counterfactuals."""
    from unmask.mitigate.mlm import train_language_model

    texts = [" ".join(document) for document in corpus.documents]
    swapped, grammar = counterfactuals(context, texts, names=False)
    changed = sum(text != other for text, other in zip(texts, swapped, strict=True))
    both = [text for pair in zip(texts, swapped, strict=True) for text in dict.fromkeys(pair)]
    facts = {"documents": len(texts), "counterfactuals": changed, "pronouns": grammar}
    return train_language_model(context, both, facts)


def substitute(context: MitigationContext[SwapOptions], corpus: TrainingCorpus) -> Outcome:
    """Train on the corpus with about half of its documents substituted, names included."""
    from unmask.core.seeds import generator
    from unmask.mitigate.mlm import train_language_model

    texts = [" ".join(document) for document in corpus.documents]
    swapped, grammar = counterfactuals(context, texts, names=True)
    chosen = generator(context.options.seed, 2).random(len(texts)) < 0.5
    mixed = [other if swap else text for text, other, swap in zip(texts, swapped, chosen, strict=True)]
    changed = sum(text != new for text, new in zip(texts, mixed, strict=True))
    facts = {"documents": len(texts), "substituted": changed, "pronouns": grammar}
    return train_language_model(context, mixed, facts)


def counterfactuals(
    context: MitigationContext[SwapOptions], texts: Sequence[str], *, names: bool
) -> tuple[list[str], str]:
    """Swap the words of the axis in every text; also return how ambiguous pronouns were resolved."""
    from unmask.mitigate.swap import GroupSwapper, ModelPronounChooser, Swapper

    options = context.options
    if options.axis != "gender":
        swapped, grammar = GroupSwapper(options.axis).swap_randomly(texts, options.seed), "terms of sets"
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


def _lexicon(options: SwapOptions, texts: Sequence[str], *, names: bool) -> Lexicon:
    """The words to swap; names of a table are words, too, if the texts have them in lower case."""
    from unmask.mitigate.swap import build_lexicon, mark_words, package_words, read_names, read_pairs, swappable_pairs

    pairs = swappable_pairs() if options.pairs is None else read_pairs(options.pairs)
    if options.name_table is not None:
        return build_lexicon(pairs, mark_words(read_names(options.name_table), texts))
    return build_lexicon(pairs, package_words().names if names else ())


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


def word_entries(path: Path | None) -> Entries:
    """Word pairs of a file, or of the package, in order of application; (him, her) comes last, as published."""
    from unmask.mitigate.swap import package_words, read_pairs

    pairs = package_words().pairs if path is None else read_pairs(path)
    entries = [(pair.masculine.lower(), pair.feminine.lower()) for pair in pairs]
    return [*(pair for pair in entries if pair != LAST), LAST] if path is None else entries


def augment_as_published(context: MitigationContext[KanekoOptions], corpus: TrainingCorpus) -> Outcome:
    """Train on every sentence and its counterfactual copies."""
    from unmask.mitigate.mlm import train_language_model

    entries, sentences = word_entries(context.options.pairs), corpus.sentences
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
    options=SwapOptions,
)

CDS = Method(
    name="cds",
    title="Counterfactual data substitution",
    about="further training on text half of whose documents are replaced by their counterfactual, names too",
    apply=substitute,
    citation="hall-maudslay-etal-2019-name",
    options=SwapOptions,
)

CDA_KANEKO = Method(
    name="cda-kaneko",
    title="Counterfactual data augmentation, as published by Kaneko et al. (2022)",
    about="one-directional: copies only for masculine words, words next to punctuation missed, lower case",
    apply=augment_as_published,
    citation="kaneko-etal-2022-debiasing",
    options=KanekoOptions,
    published=True,
)
