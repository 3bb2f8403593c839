"""Several trainings of the versions of `gbef`: ASLD and APPD with their spread, and the claims over trainings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from unmask.audit.result import load
from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.findings import Cell, Table
from unmask.findings.envelope import Result
from unmask.stats.intervals import mean_test
from unmask.studies.claims import ClaimTest
from unmask.studies.papers.gbef import BALANCED, BASE, CDS, GbefOptions, reminded_version
from unmask.studies.results.gbef_curves import CATEGORIES
from unmask.studies.results.gbef_words import FIGURES, GENDERED, distance_changes, word_entry
from unmask.studies.spec import Outputs
from unmask.studies.trainings import deviation, over_trainings

Trainings = Mapping[str, Mapping[int, Result]]  # by version and seed; the model itself has one
NOTE = "Mean over trainings with Student's interval, and their standard deviation; items are the same in all."


def load_trainings(outputs: Outputs, name: str, options: GbefOptions) -> dict[str, dict[int, Result]]:
    """The audits of every version by seed; those of the first seed have roles without one."""
    found: dict[str, dict[int, Result]] = {}
    for role, folder in outputs.items():
        if role[0] == name:
            seed = int(role[2]) if role[2:] else options.seed
            found.setdefault(role[1], {})[seed] = load(folder)
    return found


def asld_tables(sld: Trainings, options: GbefOptions) -> list[Table]:
    """ASLD of every version over trainings; nothing if there is one training."""
    rows: list[tuple[Cell, ...]] = [
        (options.label(version), label, *_over(np.array([_asld(each, group) for each in by_seed.values()])))
        for version, by_seed in sld.items()
        if len(by_seed) > 1
        for group, label in CATEGORIES.items()
    ]
    columns = ("trained on", "category", "ASLD", "SD", "trainings")
    return [Table("ASLD over trainings", columns, tuple(rows), NOTE)] if rows else []


def asld_claims(
    sld: Trainings, claims: Mapping[str, tuple[str, str, str]], options: GbefOptions
) -> Iterator[ClaimTest]:
    """The claims about ASLD over trainings, both versions of one seed; none if there is one training."""
    for claim, (before, after, expected) in claims.items():
        pairs = _of_one_seed(sld, before, after, options)
        changes = np.array([_asld(second, "all") - _asld(first, "all") for first, second in pairs])
        if changes.size > 1:
            where = f"{options.label(before)} → {options.label(after)}, combined, over trainings"
            yield ClaimTest(
                *(claim, where, "change of ASLD, nats", _over(changes)[0], changes.size),
                expected="above" if expected == "above" else "below",
                p=mean_test(changes, 0.0),
                method="t test over trainings",
            )


def word_tables(ppd: Trainings, after: str, options: GbefOptions) -> list[Table]:
    """How far the words of the figures moved towards 0, over trainings; nothing if there is one."""
    figures = FIGURES if after == BALANCED else GENDERED
    rows: list[tuple[Cell, ...]] = []
    pairs = _of_one_seed(ppd, BASE, after, options)
    for category in figures:
        moved = [
            list(distance_changes({BASE: first, after: second}, after, {category: ""}).values())
            for first, second in pairs
        ]
        if len(moved) > 1 and moved[0]:
            rows.append((category, len(moved[0]), *_over(np.array([np.mean(each) for each in moved]))))
    columns = ("category", "words", "change of |APPD|", "SD", "trainings")
    return [Table("Mean change of |APPD| over trainings", columns, tuple(rows), NOTE, digits=3)] if rows else []


def reminder_tables(ppd: Trainings, options: GbefOptions) -> list[Table]:
    """APPD of every reminded word over trainings; nothing if there is one."""
    rows: list[tuple[Cell, ...]] = []
    for word in options.words:
        for version in (CDS, *(reminded_version(word, times) for times in options.reminders)):
            entries = [word_entry({version: each}, version, word) for each in ppd.get(version, {}).values()]
            values = np.array([entry.value for entry in entries if entry is not None])
            if values.size > 1:
                rows.append((options.label(version), word, *_over(values)))
    columns = ("trained on", "word", "APPD", "SD", "trainings")
    return [Table("APPD over trainings", columns, tuple(rows), NOTE)] if rows else []


def _of_one_seed(trainings: Trainings, before: str, after: str, options: GbefOptions) -> list[tuple[Result, Result]]:
    """Two versions of every seed that has both; the model itself is the same for all seeds."""
    first, second = (trainings.get(version, {}) for version in (before, after))
    if before == BASE and options.seed in first:
        first = dict.fromkeys(second, first[options.seed])
    return [(first[seed], result) for seed, result in second.items() if seed in first]


def _asld(result: Result, group: str) -> float:
    """The ASLD of a category, NaN without it."""
    found = (each.value for each in result.estimates if (each.statistic, each.group) == ("asld", group))
    return next(found, float("nan"))


def _over(values: Floats) -> tuple[Value, float | None, int]:
    """The mean over trainings, the deviation, and how many they are."""
    numbers = values.tolist()
    return over_trainings([Value(number) for number in numbers]), deviation(numbers), len(numbers)
