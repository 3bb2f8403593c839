"""Rows of the tables on a page."""

from __future__ import annotations

from typing import Any

import numpy as np

from unmask.core.estimate import Estimate
from unmask.findings import numbers
from unmask.report import charts, selection, wording
from unmask.report.measure_texts import in_nats
from unmask.report.selection import BAND, Run


def estimate_row(estimate: Estimate, result: Run) -> dict[str, Any]:
    """One estimate as a table row."""
    digits = wording.digits_of(estimate.statistic)
    return {
        "label": selection.label(estimate, result),
        "measure": estimate.measure,
        "group": selection.group_name(estimate),
        "statistic": estimate.statistic,
        "value": numbers.number(estimate.value, digits),
        "interval": wording.interval(estimate, digits),
        "null": numbers.number(estimate.null, 0),
        "n": f"{estimate.n:,}",
        "ties": f"{estimate.ties:,}",
        "unscored": f"{estimate.unscored:,}",
        "method": estimate.method,
        "p": numbers.p_value(estimate.p),
        "p_holm": numbers.p_value(estimate.p_holm),
        "marked": wording.holm(estimate) == wording.DIFFERS,
        "lean": wording.tone(estimate),
        "reading": wording.reading(estimate),
    }


def headlines_by_dataset(result: Run) -> list[tuple[str, list[dict[str, Any]]]]:
    """The headline rows of every dataset, with its title."""
    cards = result.meta.get("data") or []
    titles = {card.get("name"): card.get("title") or card.get("name") for card in cards}
    by_dataset: dict[str, list[dict[str, Any]]] = {}
    for estimate in selection.headlines(result):
        by_dataset.setdefault(estimate.data, []).append(estimate_row(estimate, result))
    return [(str(titles.get(data, data)), rows) for data, rows in by_dataset.items()]


def spread_row(estimate: Estimate, result: Run) -> dict[str, str]:
    """Size of the differences between the two scores of a pair, for one measure."""
    sizes = np.abs(np.array(selection.differences(result, estimate)))
    name = selection.label(estimate, result)
    if not sizes.size:
        return {"label": name, "n": "0", "inside": "–", "median": "–", "largest": "–", "beyond": "–"}
    inside = int(np.sum(sizes <= BAND))
    share = f"{inside:,} ({numbers.number(100 * inside / sizes.size, 0)}%)"
    limit = charts.reach(sizes.tolist(), banded=in_nats(estimate.measure))
    return {
        "label": name,
        "n": f"{sizes.size:,}",
        "inside": share if in_nats(estimate.measure) else "–",
        "median": numbers.number(float(np.median(sizes)), 3),
        "largest": numbers.number(float(sizes.max()), 2),
        "beyond": f"{int(np.sum(sizes > limit)):,}",
    }
