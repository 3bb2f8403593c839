"""What a page needs of a run, and the choice of what it shows of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from unmask.core.types import Check, Estimate

BAND = 0.25  # differences inside it are "nearly equally likely" (Kwon & Mihindukulasooriya, 2022)
ALPHA = 0.05


class Run(Protocol):
    """The face of `unmask.audit.result.Result` that a page reads."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """The content of result.json."""

    @property
    def estimates(self) -> Sequence[Estimate]:
        """All numbers with their intervals."""

    @property
    def checks(self) -> Sequence[Check]:
        """The evidence that the model was really read."""

    @property
    def items(self) -> pa.Table:
        """One row per item and measure."""

    @property
    def tokens(self) -> pa.Table:
        """One row per token, sentence and measure."""


def headlines(run: Run) -> list[Estimate]:
    """The first number over all items of every measure and dataset, in the order of the run."""
    first: dict[tuple[str, str], Estimate] = {}
    for estimate in run.estimates:
        if estimate.group == "all":
            first.setdefault((estimate.measure, estimate.data), estimate)
    return list(first.values())


def secondary_estimates(run: Run) -> list[Estimate]:
    """The other numbers over all items."""
    shown = {id(estimate) for estimate in headlines(run)}
    return [e for e in run.estimates if e.group == "all" and id(e) not in shown]


def split_columns(run: Run) -> list[str]:
    """The columns the estimates are split by, `category` first."""
    columns = dict.fromkeys(e.group.partition("=")[0] for e in run.estimates if "=" in e.group)
    return sorted(columns, key=lambda column: column != "category")


def by_group(run: Run, column: str) -> list[Estimate]:
    """The headline numbers of every group of one column."""
    wanted = {(e.measure, e.data, e.statistic) for e in headlines(run)}
    return [
        e
        for e in run.estimates
        if e.group.startswith(f"{column}=") and (e.measure, e.data, e.statistic) in wanted
    ]


def group_name(estimate: Estimate) -> str:
    """`gender` of `category=gender`."""
    return plain_group(estimate.group)


def plain_group(group: str) -> str:
    """`gender` of `category=gender`."""
    return group.partition("=")[2] or group


def is_open(estimate: Estimate) -> bool:
    """Is it of sentences with an open slot, whose sides are a man's and a woman's word?"""
    return estimate.statistic in ("appd", "association", "effect-size")


def model_names(runs: Sequence[Run]) -> list[str]:
    """What to call each run: its model; with its folder, or its number, where two have the same model."""
    ids = [str((run.meta.get("model") or {}).get("id", "a language model")) for run in runs]
    folders = [getattr(run, "folder", None) for run in runs]
    full = [
        one if ids.count(one) == 1 or folder is None else f"{one} ({folder.resolve().name})"
        for one, folder in zip(ids, folders, strict=True)
    ]
    return [one if full.count(one) == 1 else f"{one} #{i}" for i, one in enumerate(full, start=1)]


def label(estimate: Estimate, run: Run) -> str:
    """The measure's name, with the dataset's where the run has several."""
    several = len({e.data for e in run.estimates}) > 1
    return f"{estimate.measure} · {estimate.data}" if several else estimate.measure


def items_of(run: Run, estimate: Estimate) -> pa.Table:
    """The items of one measure on one dataset that were scored."""
    mask = (pc.field("measure") == estimate.measure) & pc.is_finite(pc.field("difference"))
    if "data" in run.items.column_names:
        mask &= pc.field("data") == estimate.data
    return run.items.filter(mask)


def differences(run: Run, estimate: Estimate) -> list[float]:
    """Their differences."""
    return [float(value.as_py()) for value in items_of(run, estimate)["difference"]]


def unscored_reasons(run: Run) -> list[tuple[str, str, int]]:
    """Measure, reason and number of the items that could not be scored."""
    if "outcome" not in run.items.column_names:
        return [(e.measure, "no reason recorded", e.unscored) for e in headlines(run) if e.unscored]
    rows = run.items.filter(pc.field("outcome") == "unscored").to_pylist()
    counts = Counter((row["measure"], row.get("reason") or "no reason recorded") for row in rows)
    return [(measure, reason, n) for (measure, reason), n in counts.items()]


def duplicate_measures(run: Run) -> dict[tuple[str, str], str]:
    """Measures whose differences equal an earlier measure's, item by item, and that measure's name.

    `ss`, `lms` and `icat` read the same sentences; so do `pll` and `sld`.
    """
    seen: dict[object, str] = {}
    found: dict[tuple[str, str], str] = {}
    for estimate in headlines(run):
        rows = items_of(run, estimate)
        key = (estimate.data, tuple(rows["item"].to_pylist()), tuple(rows["difference"].to_pylist()))
        if rows.num_rows and key in seen:
            found[estimate.measure, estimate.data] = seen[key]
        seen.setdefault(key, estimate.measure)
    return found
