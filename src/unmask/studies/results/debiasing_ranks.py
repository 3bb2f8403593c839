"""Table 2 of `debiasing`: Kendall's τ between intrinsic and extrinsic scores, and its change by fine-tuning."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats.agreement import MIN_RANKED, RankTest, kendall, kendall_taus
from unmask.stats.bootstrap import RESAMPLES, percentile_interval
from unmask.studies.papers.debiasing import AFTER, BEFORE, ORIGINAL, ZERO_SHOT
from unmask.studies.results.debiasing_versions import ModelVersion

METHOD_SETS = {"as published": ("at-code", "cda-kaneko", "DO"), "corrected": ("AT", "CDA", "DO")}


@dataclass(frozen=True, slots=True)
class RankCell:
    """How alike an intrinsic and an extrinsic measure rank the versions, at one time."""

    methods: str  # which mitigations: "as published"
    intrinsic: str
    extrinsic: str  # the task, or `SIZES`
    task: str
    when: str  # BEFORE or AFTER fine-tuning
    tau: Value
    unit: str  # what is resampled for its interval
    test: RankTest
    by_training: tuple[float, ...]  # τ of every training alone
    resampled: Floats
    ranked: Mapping[str, tuple[float, float]]  # by version: the two scores, means over trainings


def method_sets(methods: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The mitigations that are ranked together: the published ones, the corrected ones, and all if there are others."""
    complete: dict[str, tuple[str, ...]] = {name: of for name, of in METHOD_SETS.items() if set(of) <= set(methods)}
    others = set(methods) - {method for of in complete.values() for method in of}
    return {**complete, "chosen": tuple(methods)} if others or not complete else complete


def rank_cells(versions: Sequence[ModelVersion], methods: Sequence[str], seed: int) -> tuple[list[RankCell], list[str]]:
    """τ for all mitigations, measures, tasks and times; and notes on what could not be ranked."""
    cells, notes = [], []
    for name, chosen in method_sets(methods).items():
        used = [version for version in versions if version.version in (ORIGINAL, *chosen)]
        tasks = dict.fromkeys(task for version in used for training in version.trainings for task in training.tasks)
        for when in (BEFORE, AFTER):
            for task in (task for task in tasks if when == BEFORE or task not in ZERO_SHOT):
                found = _cells(used, name, task, when, seed)
                cells += found
                if not found:
                    notes.append(f"{task}, {when} fine-tuning: fewer than {MIN_RANKED} versions can be ranked")
    return cells, list(dict.fromkeys(notes))


def _cells(versions: Sequence[ModelVersion], methods: str, task: str, when: str, seed: int) -> list[RankCell]:
    """The cells of one task at one time, over the versions all of whose trainings have scores."""
    scores: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    by_name = {version.name: version for version in versions}
    for version in versions:
        for training in version.trainings:
            inside = training.intrinsic if when == BEFORE else training.tasks[task].intrinsic
            for extrinsic, (outside, _) in training.extrinsic(task, when).items():
                for intrinsic, (score, _) in inside.items():
                    pairs = scores.setdefault((intrinsic, extrinsic), {}).setdefault(version.name, [])
                    pairs += [(score.value, abs(outside.value))] if math.isfinite(outside.value) else []
    cells = []
    for (intrinsic, extrinsic), by_version in scores.items():
        names = [name for name, pairs in by_version.items() if len(pairs) == len(by_name[name].trainings)]
        if len(names) < MIN_RANKED:
            continue
        table = np.array([by_version[name] for name in names])  # versions × trainings × (intrinsic, extrinsic)
        models = [by_name[name].model for name in names]
        several = len(set(models)) >= MIN_RANKED
        resampled = resampled_taus(table, models if several else names, seed=seed, label=f"{intrinsic}/{extrinsic}")
        means = table.mean(axis=1)
        test = kendall(*means.T)
        unit = "models with their versions" if several else "versions, of too few models"
        trainings = table.shape[1]
        unit = unit if trainings == 1 else f"{unit}, and over trainings"
        alone = tuple(kendall_taus(*np.moveaxis(table, (2, 1), (0, 1))).tolist()) if trainings > 1 else ()
        tau = percentile_interval(resampled, test.value, unit)
        ranked = {name: (float(x), float(y)) for name, (x, y) in zip(names, means, strict=True)}
        cells.append(RankCell(methods, intrinsic, extrinsic, task, when, tau, unit, test, alone, resampled, ranked))
    return cells


def resampled_taus(table: Floats, families: Sequence[str], *, seed: int, label: str) -> Floats:
    """τ in every resample: families of versions are drawn whole, and trainings within each version.

    `table` is versions × trainings × 2 measures; both scores of a training stay together.
    """
    rng, (versions, trainings, _) = generator(seed, label), table.shape
    names, family = np.unique(np.array(families), return_inverse=True)
    drawn = rng.integers(0, names.size, size=(RESAMPLES, names.size))
    times = (drawn[:, :, None] == np.arange(names.size)).sum(axis=1)[:, family].astype(np.float64)
    runs = rng.integers(0, trainings, size=(RESAMPLES, versions, trainings))
    means = table[np.arange(versions)[:, None], runs].mean(axis=2)  # resamples × versions × 2
    return kendall_taus(means[..., 0], means[..., 1], times)


def tau_changes(cells: Sequence[RankCell]) -> list[tuple[RankCell, Value]]:
    """By measure and task, τ after − τ before, over the same resamples of models and trainings."""
    before = {_key(cell): cell for cell in cells if cell.when == BEFORE}
    changes = []
    for after in cells:
        first = before.get(_key(after))
        if after.when == AFTER and first is not None and list(first.ranked) == list(after.ranked):
            change = after.test.value - first.test.value
            changes.append((after, percentile_interval(after.resampled - first.resampled, change, after.unit)))
    return changes


def _key(cell: RankCell) -> tuple[str, str, str]:
    return cell.methods, cell.intrinsic, cell.extrinsic
