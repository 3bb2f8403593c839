"""Added data (Dixon et al. 2018): harmless text that names identity terms, so that a term does not predict toxicity.

For each term and length of text, harmless examples are added to the training data until the share of toxic ones among
those that name the term is that among all training examples of this length. Lengths are in characters, by the paper's
bounds. The classifier is fine-tuned without and with them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unmask.core.errors import DataError
from unmask.core.seeds import generator
from unmask.data.documents import read_documents
from unmask.data.examples import Example, user_source
from unmask.data.language import split_sentences
from unmask.findings import Cell, Table
from unmask.stats.intervals import mean_interval, mean_test
from unmask.stats.roc import roc_auc_difference
from unmask.tasks.spec import TaskData, TaskObservation
from unmask.tasks.toxicity import LABELS, TERM, label_sentence, term_pattern

LENGTHS = (20, 60, 180, 540, 1620, 4860)  # characters: the bounds of the paper's classes of length
WITH = "with added data"
HARMLESS, TOXIC = LABELS
SHOWN = 8  # terms in a note


@dataclass(frozen=True, slots=True)
class AddedExamples:
    """The harmless examples that were added, and how many were wanted."""

    examples: tuple[Example, ...]
    wanted: int
    by_term: Counter[str]


def with_added(data: TaskData, path: Path) -> dict[str, TaskData]:
    """The training data, and the same with harmless examples of its terms."""
    source = user_source(path)
    added = choose_examples(data.train, _texts(path))
    if not added.wanted:
        raise DataError("no identity term is more often toxic than other training examples: there is nothing to add")
    if not added.examples:
        raise DataError(f"{source.name}: no text in it names one of the identity terms that examples are wanted for")
    terms = ", ".join(f"{term} {count}" for term, count in added.by_term.most_common(SHOWN))
    note = f"{len(added.examples):,} of {added.wanted:,} wanted harmless examples were added ({terms})"
    plain = replace(data, sources=(*data.sources, source), notes=(*data.notes, note))
    return {"": plain, WITH: replace(plain, train=(*data.train, *added.examples))}


def needed_examples(train: Sequence[Example]) -> dict[tuple[str, int], int]:
    """By term and class of length: harmless examples without which the term goes with toxicity."""
    pattern = term_pattern()
    everything: dict[int, list[int]] = defaultdict(lambda: [0, 0])  # all, toxic
    of_term: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for example in train:
        if (length := length_class(example.text)) is None:
            continue
        toxic = example.label == TOXIC
        term = label_sentence(example.text, toxic, pattern).term
        for counts in (everything[length], *([of_term[term, length]] if term else ())):
            counts[0] += 1
            counts[1] += toxic
    wanted = {}
    for (term, length), (count, toxic_count) in of_term.items():
        total, total_toxic = everything[length]
        more = math.ceil(toxic_count * total / total_toxic - count - 1e-9) if total_toxic else 0
        if more > 0:
            wanted[term, length] = more
    return wanted


def choose_examples(train: Sequence[Example], texts: Iterable[str]) -> AddedExamples:
    """The first texts that name one term for which harmless examples are wanted; none that is trained on already."""
    wanted, pattern = needed_examples(train), term_pattern()
    remaining, seen = dict(wanted), {example.text for example in train}
    chosen: list[Example] = []
    by_term: Counter[str] = Counter()
    for text in texts:
        if not remaining:
            break
        term, length = label_sentence(text, False, pattern).term, length_class(text)
        if length is None or (term, length) not in remaining or text in seen:
            continue
        seen.add(text)
        chosen.append(Example(text, None, HARMLESS))
        by_term[term] += 1
        remaining[term, length] -= 1
        if not remaining[term, length]:
            del remaining[term, length]
    return AddedExamples(tuple(chosen), sum(wanted.values()), by_term)


def length_class(text: str) -> int | None:
    """The number of a text's class of length; None if it is shorter or longer than all."""
    number = bisect_right(LENGTHS, len(text)) - 1
    return number if 0 <= number < len(LENGTHS) - 1 else None


def _texts(path: Path) -> Iterator[str]:
    """The documents of a file, and the sentences of those that have several."""
    for document in read_documents([path]):
        yield document.text
        sentences = split_sentences(document.text)
        yield from sentences if len(sentences) > 1 else ()


def added_tables(observations: Sequence[TaskObservation], seed: int) -> tuple[Table, Table]:
    """The AUCs without and with added data, over all terms and by term; observations alternate."""
    whole: list[tuple[Cell, ...]] = []
    by_term: list[tuple[Cell, ...]] = []
    for without, with_data in zip(observations[::2], observations[1::2], strict=True):
        model, a, b = without.name, without.result.scored, with_data.result.scored
        before, after = (_areas(observation) for observation in (without, with_data))
        change = roc_auc_difference(a.toxic, b.values, a.values, a.units())
        all_sentences = (before["AUC", "all"], after["AUC", "all"])
        whole.append((model, "all sentences", 1, *all_sentences, change, change.p))
        for kind in ("subgroup", "BPSN", "BNSP"):
            areas = np.array([(before[key], after[key]) for key in before if key[0] == f"{kind} AUC"]).reshape(-1, 2)
            gaps = np.abs(areas - np.array(all_sentences))
            for name, values in ((f"{kind}, mean", areas), (f"{kind}, mean distance from all", gaps)):
                changes = values[:, 1] - values[:, 0]
                mean = mean_interval(changes, rng=generator(seed, name), unit="terms")
                whole.append((model, name, len(values), *values.mean(0), mean, mean_test(changes, 0.0)))
        for statistic, group in before:
            if statistic == "BPSN AUC":
                term = group.removeprefix(TERM)
                of = a.areas(term)["BPSN"]
                change = roc_auc_difference(a.toxic[of], b.values[of], a.values[of], a.units(of))
                by_term.append((model, term, before[statistic, group], after[statistic, group], change, change.p))
    return (
        Table(
            "AUC without and with added data",
            ("model", "AUC", "terms", "without", "with", "change", "p"),
            tuple(whole),
            "The same sentences, scored by a classifier trained without and one trained with the added data. All "
            "sentences: DeLong's interval, those that differ in the term alone counting as one; means: intervals over "
            "terms. A distance of 0: the term makes no difference.",
        ),
        Table(
            "BPSN AUC by term, without and with added data",
            ("model", "term", "without", "with", "change", "p"),
            tuple(by_term),
            "Harmless sentences that name the term against hateful ones that do not; DeLong over sentences, p "
            "uncorrected.",
        ),
    )


def _areas(observation: TaskObservation) -> dict[tuple[str, str], float]:
    """The AUCs of a classifier by statistic and group."""
    estimates = observation.result.estimates
    return {(each.statistic, each.group): each.value for each in estimates if each.statistic.endswith("AUC")}
