"""The claims of `debiasing` as tests: over models, each with its versions and trainings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Literal

import numpy as np

from unmask.core.seeds import generator
from unmask.findings import Section
from unmask.stats.agreement import MIN_RANKED
from unmask.stats.intervals import mean_interval, mean_test
from unmask.studies.claims import ClaimTest, claims_section
from unmask.studies.papers.debiasing import AFTER, BEFORE, INTRINSIC, JOINED, ORIGINAL
from unmask.studies.results.debiasing_ranks import RankCell, method_sets, tau_changes
from unmask.studies.results.debiasing_versions import SIZES, ModelVersion
from unmask.studies.results.debiasing_words import PAPER_TEXTS

LOWER = "Do mitigations lower intrinsic bias?"
HIGHER = "Do mitigations raise bias in applications?"
FURTHER = "Do mitigations raise bias in tasks that the paper did not take?"
COMBINED = "Does a combination of mitigations lower bias further than a part of it?"
LOWER_STS = "Do mitigations lower bias on STS-bias?"
RELEARNT = "Does bias grow during fine-tuning?"
ALIKE = {
    when: f"Do intrinsic and extrinsic measures rank versions alike, {when} fine-tuning?" for when in (BEFORE, AFTER)
}
CLOSER = "Do they agree more after fine-tuning than before?"


def claims(
    versions: Sequence[ModelVersion], cells: Sequence[RankCell], methods: Sequence[str], notes: Sequence[str] = ()
) -> Section:
    """Every claim of the paper with its tests; `notes` say what cannot be interpreted."""
    tests = [*_changes(versions, methods), *_combinations(versions), *_growth(versions), *_ranks(cells)]
    few = len({version.model for version in versions}) < MIN_RANKED
    of_few = ["Tests over models need several: with fewer than three hardly anything can be decided."] if few else []
    return claims_section(tests, [*of_few, *notes])


def size_changes(versions: Sequence[ModelVersion], methods: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """By measure, by model: |score of the mitigated version| − |score of the original|, per method and training."""
    return _size_changes(versions, dict.fromkeys(methods, ORIGINAL))


def _size_changes(versions: Sequence[ModelVersion], earlier: Mapping[str, str]) -> dict[str, dict[str, list[float]]]:
    """By measure, by model: the change of size from the earlier version to each, by training."""
    by_name = {(version.model, version.version): version for version in versions}
    found: dict[str, dict[str, list[float]]] = {}
    for version in versions:
        before = by_name.get((version.model, earlier.get(version.version, "")))
        for new, old in zip(version.trainings, before.trainings, strict=True) if before else ():
            for measure in (name for name in old.scores if name in new.scores):
                change = abs(new.scores[measure][0].value) - abs(old.scores[measure][0].value)
                found.setdefault(measure, {}).setdefault(version.model, []).append(change)
    return found


def _changes(versions: Sequence[ModelVersion], methods: Sequence[str]) -> Iterator[ClaimTest]:
    """The change of size by mitigation, a test for every measure."""
    for name, chosen in method_sets(methods).items():
        for measure, by_model in size_changes(versions, chosen).items():
            claim = _claim(measure)
            where = f"{measure}, {', '.join(chosen)} ({name})"
            yield _over_models(claim, where, "mean change of size", by_model, below=claim in (LOWER, LOWER_STS))


def _claim(measure: str) -> str:
    """What the paper says of a measure."""
    if measure.lower() in INTRINSIC:
        return LOWER
    if measure == "STS-bias":
        return LOWER_STS
    return HIGHER if measure in (*PAPER_TEXTS, SIZES) else FURTHER


def _combinations(versions: Sequence[ModelVersion]) -> Iterator[ClaimTest]:
    """The size of a combination less that of every part of it that was run alone, a test for every measure."""
    names = dict.fromkeys(version.version for version in versions)
    for combination in (name for name in names if JOINED in name):
        for part in dict.fromkeys(part for part in combination.split(JOINED) if part in names):
            for measure, by_model in _size_changes(versions, {combination: part}).items():
                where = f"{measure}, {combination} against {part}"
                yield _over_models(COMBINED, where, "mean change of size", by_model, below=True)


def _growth(versions: Sequence[ModelVersion]) -> Iterator[ClaimTest]:
    """The size of the bias at the last point less that at the first after step 0, where the head is random."""
    found: dict[str, dict[str, list[float]]] = {}
    for version in versions:
        for training in version.trainings:
            for task, run in training.tasks.items():
                points = [point for point in (run.curve.points if run.curve else ()) if point.step]
                if len(points) > 1:
                    change = abs(points[-1].bias.value) - abs(points[0].bias.value)
                    found.setdefault(task, {}).setdefault(version.model, []).append(change)
    for task, by_model in found.items():
        yield _over_models(RELEARNT, f"{task}, all versions", "size at the last point − at the first", by_model)


def _over_models(
    claim: str, where: str, statistic: str, by_model: Mapping[str, Sequence[float]], *, below: bool = False
) -> ClaimTest:
    """Student's test of the means of models."""
    values = np.array([fmean(changes) for changes in by_model.values()])
    value = mean_interval(values, rng=generator(0, claim), unit="models")
    p = mean_test(values, 0.0)
    side: Literal["above", "below"] = "below" if below else "above"
    return ClaimTest(claim, where, statistic, value, values.size, 0.0, side, p, "paired t over models")


def _ranks(cells: Sequence[RankCell]) -> Iterator[ClaimTest]:
    """τ against 0 before and after fine-tuning, and its change."""
    for cell in cells:
        where = f"{cell.intrinsic} and {cell.extrinsic} ({cell.methods})"
        n, method = len(cell.ranked), f"τ-b, {cell.test.method}"
        yield ClaimTest(ALIKE[cell.when], where, "Kendall's τ", cell.tau, n, p=cell.test.p, method=method)
    for cell, change in tau_changes(cells):
        where = f"{cell.intrinsic} and {cell.extrinsic} ({cell.methods})"
        yield ClaimTest(CLOSER, where, "τ after − τ before", change, n=len(cell.ranked))
