"""The rows of the page's tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from unmask.report import charts, run, words
from unmask.report.run import BAND, Run
from unmask.types import Estimate


def estimate_row(estimate: Estimate, result: Run) -> dict[str, Any]:
    """One estimate as the tables print it."""
    digits = words.digits_of(estimate.statistic)
    return {
        "label": run.label(estimate, result),
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
        "lean": words.lean(estimate),
        "reading": words.reading(estimate),
    }


def spread_row(estimate: Estimate, result: Run) -> dict[str, str]:
    """How far apart the two scores of a pair are, for one measure."""
    sizes = np.abs(np.array(run.differences(result, estimate)))
    name = run.label(estimate, result)
    if not sizes.size:
        return {"label": name, "n": "0", "inside": "–", "median": "–", "largest": "–", "beyond": "–"}
    inside = int(np.sum(sizes <= BAND))
    return {
        "label": name,
        "n": f"{sizes.size:,}",
        "inside": f"{inside:,} ({words.number(100 * inside / sizes.size, 0)}%)",
        "median": words.number(float(np.median(sizes)), 3),
        "largest": words.number(float(sizes.max()), 2),
        "beyond": f"{int(np.sum(sizes > charts.reach(sizes.tolist()))):,}",
    }
