"""Counterfactuals of whole documents, for the methods that add or substitute them."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.errors import DataError
from unmask.mitigate.spec import MitigationContext
from unmask.mitigate.swap import GroupSwapper, ModelPronounChooser, Swapper, default_lexicon, read_lexicon


def counterfactuals(
    context: MitigationContext, texts: Sequence[str], *, names: bool
) -> tuple[list[str], str]:
    """Every text with the words of the axis exchanged, and how doubtful pronouns were settled."""
    chosen = context.options
    if chosen.axis != "gender":
        if chosen.pairs is not None:
            raise DataError(
                f"--pairs belongs to the axis gender; {chosen.axis} is exchanged by sets of terms"
            )
        return GroupSwapper(chosen.axis).swap_randomly(texts, context.settings.seed), "terms of sets"
    with_names = names if chosen.names is None else chosen.names
    lexicon = (
        default_lexicon(names=with_names)
        if chosen.pairs is None
        else read_lexicon(chosen.pairs, names=with_names)
    )
    swap = Swapper(lexicon, None if context.causal else ModelPronounChooser(context.engine))
    return swap.swap_all(texts), swap.grammar


def count_changed(texts: Sequence[str], swapped: Sequence[str], axis: str) -> int:
    """How many texts have a counterfactual; DataError when none has: nothing would be mitigated."""
    changed = sum(one != other for one, other in zip(texts, swapped, strict=True))
    if not changed:
        raise DataError(
            f"none of the {len(texts):,} texts holds a {axis} word that is exchanged: "
            "give another corpus, or more of it"
        )
    return changed
