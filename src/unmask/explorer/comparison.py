"""Two runs side by side: the paired changes, with their intervals, that `unmask compare` prints."""

from __future__ import annotations

import functools
from typing import Any

from unmask.audit.result import Result, as_json, load
from unmask.audit.run import compare
from unmask.report.wording import digits_of


def compare_runs(first: Result, second: Result) -> list[dict[str, Any]]:
    """Every statistic over all items that both runs have; ResultError when they share none."""
    return _compared(str(first.folder.resolve()), str(second.folder.resolve()))


@functools.lru_cache(maxsize=64)
def _compared(first: str, second: str) -> list[dict[str, Any]]:
    """Resampling takes seconds on a large run, so every comparison is made once."""
    found = compare(load(first), load(second))
    return [as_json(one) | {"digits": digits_of(one.statistic)} for one in found]
