"""The rows of the page's tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from unmask.report import charts, run, words
from unmask.report.meanings import in_nats
from unmask.report.run import BAND, Run
from unmask.types import Estimate


def estimate_row(estimate: Estimate, result: Run) -> dict[str, Any]:
    """One estimate as the tables print it."""
    digits = words.digits_of(estimate.statistic)
    return {
        "label": run.label(estimate, result),
        "measure": estimate.measure,
        "group": run.group_name(estimate),
        "statistic": estimate.statistic,
        "value": words.number(estimate.value, digits),
        "interval": words.interval(estimate, digits),
        "null": words.number(estimate.null, 0),
        "n": f"{estimate.n:,}",
        "ties": f"{estimate.ties:,}",
        "unscored": f"{estimate.unscored:,}",
        "method": estimate.method,
        "p": words.p_value(estimate.p),
        "p_holm": words.p_value(estimate.p_holm),
        "marked": words.holm(estimate) == words.DIFFERS,
        "lean": words.tone(estimate),
        "reading": words.reading(estimate),
    }


def findings(result: Run) -> list[tuple[str, list[dict[str, Any]]]]:
    """The headline rows by dataset, under the dataset's title."""
    cards = result.meta.get("data") or []
    titles = {card.get("name"): card.get("title") or card.get("name") for card in cards}
    found: dict[str, list[dict[str, Any]]] = {}
    for estimate in run.headlines(result):
        found.setdefault(estimate.data, []).append(estimate_row(estimate, result))
    return [(str(titles.get(data, data)), rows) for data, rows in found.items()]


def spread_row(estimate: Estimate, result: Run) -> dict[str, str]:
    """How far apart the two scores of a pair are, for one measure."""
    sizes = np.abs(np.array(run.differences(result, estimate)))
    name = run.label(estimate, result)
    if not sizes.size:
        return {"label": name, "n": "0", "inside": "–", "median": "–", "largest": "–", "beyond": "–"}
    inside = int(np.sum(sizes <= BAND))
    share = f"{inside:,} ({words.number(100 * inside / sizes.size, 0)}%)"
    limit = charts.reach(sizes.tolist(), banded=in_nats(estimate.measure))
    return {
        "label": name,
        "n": f"{sizes.size:,}",
        "inside": share if in_nats(estimate.measure) else "–",
        "median": words.number(float(np.median(sizes)), 3),
        "largest": words.number(float(sizes.max()), 2),
        "beyond": f"{int(np.sum(sizes > limit)):,}",
    }
