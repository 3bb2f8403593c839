"""Pairs of sentences that a mitigation trains on: they must not be among those it is evaluated on."""

from __future__ import annotations

from collections.abc import Iterable

from unmask import data
from unmask.core.errors import DataError, quote
from unmask.core.types import Dataset
from unmask.data.pairs import ORIGINAL
from unmask.mitigate.spec import Method, MitigationOptions


def load_training_pairs(options: MitigationOptions) -> Dataset:
    """The pairs to train on: a dataset by name, or the user's file."""
    return data.load(str(options.train_pairs), data_dir=options.data_dir)


def trained_data(method: Method, options: MitigationOptions) -> frozenset[str]:
    """The datasets that the training pairs are of, or are paraphrases of; none if the method trains on no pairs."""
    if not method.pairs:
        return frozenset()
    pairs = load_training_pairs(options)
    originals = {item.groups[ORIGINAL].partition("/")[0] for item in pairs.items if ORIGINAL in item.groups}
    return frozenset({pairs.card.name, *originals})


def check_overlap(method: Method, options: MitigationOptions, evaluated: Iterable[Dataset]) -> None:
    """Refuse training pairs with a sentence of the evaluated data: a measure would be tested on its training data."""
    if not method.pairs:
        return
    pairs = load_training_pairs(options)
    sentences = {_normal(text) for item in pairs.items for text in (item.more, item.less)}
    for dataset in evaluated:
        shared = [item.id for item in dataset.items if {_normal(item.more), _normal(item.less)} & sentences]
        if shared:
            raise DataError(
                f"train_pairs {quote(str(options.train_pairs))}: {len(shared)} pairs of {dataset.card.name}, on which "
                f"the mitigation is evaluated, have a sentence of it ({shared[0]}): remove them, or give other pairs"
            )


def _normal(text: str) -> str:
    """A sentence without differences of case and white space."""
    return " ".join(text.lower().split())
