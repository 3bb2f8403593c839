"""The selection of what pages show of a result: estimates, names, items and differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unmask.audit.interpretation import Interpretation
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.statistic import BALANCED, BAND, statistic
from unmask.findings.envelope import Result
from unmask.findings.tables import PER_TOKEN

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of runs that are compared


def by_group(run: Result, column: str) -> list[Estimate]:
    """The headline estimates for every group of one column; over all pairs where it has one direction alone."""
    wanted = {(e.measure, e.data): e.statistic for e in run.headlines()}
    split = [e for e in run.estimates if e.group.startswith(f"{column}=")]
    kept: dict[tuple[str, str, str], Estimate] = {}
    for e in split:
        head, key = wanted[e.measure, e.data], (e.measure, e.data, e.group)
        if e.statistic == head or (e.statistic == head.removeprefix(BALANCED) and key not in kept):
            kept[key] = e
    return list(kept.values())


def group_name(group: str) -> str:
    """`gender` of `category=gender`."""
    return group.partition("=")[2] or group


def groups_of(row: Mapping[str, Any]) -> str:
    """Category, direction and word of an item, as the pages show them."""
    return " · ".join(str(row[name]) for name in ("category", "direction", "word") if row.get(name))


def is_open(estimate: Estimate) -> bool:
    """Whether it is computed on templates, whose sides are two words for one slot."""
    return statistic(estimate.statistic).question == "slots"


def has_direction(estimate: Estimate) -> bool:
    """Whether the side of the reference value on which it lies is that of the stereotype, or of one of two words."""
    return statistic(estimate.statistic).directed or is_open(estimate)


def tone(known: Interpretation) -> str:
    """The place of a statistic that has a direction, else `no direction`, as of a baseline or what was not tested.

    `invalid` if a check of the run forbids to interpret the number.
    """
    estimate = known.estimate
    untested = estimate.group == "all" and estimate.p is not None and estimate.p_holm is None
    if known.doubt == "invalid":
        return known.doubt
    return "no direction" if known.baseline or untested or not has_direction(estimate) else known.place


def by_dataset(run: Result) -> dict[str, list[Estimate]]:
    """The headline estimates of every dataset."""
    headlines: dict[str, list[Estimate]] = {}
    for estimate in run.headlines():
        headlines.setdefault(estimate.data, []).append(estimate)
    return headlines


def item_kinds(estimates: Sequence[Estimate]) -> set[str]:
    """Whether the estimates are of `pairs`, of `templates` or of both; of `pairs` if there are none."""
    return {"templates" if is_open(estimate) else "pairs" for estimate in estimates} or {"pairs"}


def model_names(runs: Sequence[Result]) -> list[str]:
    """A name for each run: its model; with its folder or number if two runs have the same model."""
    ids = [str((run.meta["model"] or {}).get("id", "a language model")) for run in runs]
    full = [
        name if ids.count(name) == 1 or run.folder is None else f"{name} ({run.folder.resolve().name})"
        for name, run in zip(ids, runs, strict=True)
    ]
    return [name if full.count(name) == 1 else f"{name} #{i}" for i, name in enumerate(full, start=1)]


def lettered_names(names: Sequence[str]) -> list[str]:
    """The models' names prefixed with their letters, which order the legends."""
    return [f"{letter} {name}" for letter, name in zip(LETTERS, names, strict=False)]


def label(estimate: Estimate, run: Result) -> str:
    """The name of the measure, with that of the dataset if the run has several."""
    return f"{estimate.measure} · {estimate.data}" if len({e.data for e in run.estimates}) > 1 else estimate.measure


def items_of(run: Result, estimate: Estimate, *columns: str) -> pa.Table:
    """The scored items of one measure on one dataset, with these columns or all."""
    items = run.items
    mask = pc.and_(pc.equal(items["measure"], estimate.measure), pc.is_finite(items["difference"]))
    mask = pc.and_(mask, pc.equal(items["data"], estimate.data))
    return (items.select(columns) if columns else items).filter(mask)


def differences(run: AuditResult, estimate: Estimate) -> tuple[list[float], bool]:
    """The differences of the scored items, and whether the near-zero band applies to them.

    It applies to differences per token, which are taken if the measure sums log-probabilities, and to those of their
    means; not to sums of sentences whose tokens are not known, as of imported results.
    """
    measure, rows = run.measure(estimate.measure), items_of(run, estimate, "difference", PER_TOKEN)
    per_token = measure.in_nats and not rows[PER_TOKEN].null_count
    values: list[float] = rows[PER_TOKEN if per_token else "difference"].to_numpy().tolist()
    return values, measure.has_band and (per_token or not measure.in_nats)


def reach(values: Sequence[float], *, banded: bool) -> float:
    """Half-width of a histogram: it covers 98% of the values, and the near-zero band where there is one."""
    return max(1.6 * BAND if banded else 1e-9, float(np.quantile(np.abs(values), 0.98)))


def unscored_reasons(run: Result) -> list[tuple[str, str, int]]:
    """Items that could not be scored: measure, reason and count."""
    rows = run.items.filter(pc.field("outcome") == "unscored")
    counts = Counter(zip(rows["measure"].to_pylist(), rows["reason"].to_pylist(), strict=True))
    return [(measure, reason, n) for (measure, reason), n in counts.items()]


def duplicate_measures(run: Result) -> dict[tuple[str, str], str]:
    """Measures whose differences equal those of an earlier measure item by item, and the name of the latter.

    `ss`, `lms` and `icat` read the same sentences; so do `pll` and `sld`.
    """
    earlier: list[tuple[Estimate, pa.Table]] = []
    duplicates: dict[tuple[str, str], str] = {}
    for estimate in run.headlines():
        rows = items_of(run, estimate, "item", "difference")
        twins = (e.measure for e, known in earlier if e.data == estimate.data and rows.num_rows and rows.equals(known))
        if twin := next(twins, None):
            duplicates[estimate.measure, estimate.data] = twin
        else:
            earlier.append((estimate, rows))
    return duplicates
