"""Counterfactuals of whole documents, for the methods that add or substitute them."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.errors import DataError
from unmask.mitigate.spec import MitigationContext
from unmask.mitigate.swap import GroupSwapper, ModelPronounChooser, Swapper, default_lexicon, read_lexicon


def counterfactuals(
    context: MitigationContext, texts: Sequence[str], *, names: bool
) -> tuple[list[str], str]:
    """Swap the words of the axis in every text; also return how ambiguous pronouns were resolved."""
    options = context.options
    if options.axis != "gender":
        if options.pairs is not None:
            raise DataError(f"pairs applies to the axis gender only; {options.axis} uses sets of terms")
        return GroupSwapper(options.axis).swap_randomly(texts, context.settings.seed), "terms of sets"
    with_names = names if options.names is None else options.names
    lexicon = (
        default_lexicon(names=with_names)
        if options.pairs is None
        else read_lexicon(options.pairs, names=with_names)
    )
    swap = Swapper(lexicon, None if context.causal else ModelPronounChooser(context.engine))
    return swap.swap_all(texts), swap.grammar


def count_changed(texts: Sequence[str], swapped: Sequence[str], axis: str) -> int:
    """Number of texts that differ from their counterfactual; DataError when there are none."""
    changed = sum(text != other for text, other in zip(texts, swapped, strict=True))
    if not changed:
        raise DataError(
            f"none of the {len(texts):,} texts contains a {axis} word that can be swapped: "
            "give another corpus, or more of it"
        )
    return changed
