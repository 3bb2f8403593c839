"""Compare two runs: the paired changes with intervals that `unmask compare` prints."""

from __future__ import annotations

import functools
from typing import Any

from unmask.audit.compare import compare
from unmask.audit.result import AuditResult, load
from unmask.core.files import plain
from unmask.report.wording import digits_of


def compare_runs(first: AuditResult, second: AuditResult) -> list[dict[str, Any]]:
    """The change of every statistic over the items of both runs; ResultError if they share none."""
    return _compare_folders(str(first.folder.resolve()), str(second.folder.resolve()))


@functools.lru_cache(maxsize=64)
def _compare_folders(first: str, second: str) -> list[dict[str, Any]]:
    """Cached: resampling takes seconds on a large run."""
    changes = compare(load(first), load(second))
    return [plain(change) | {"digits": digits_of(change.statistic)} for change in changes]
