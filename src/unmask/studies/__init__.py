"""Reproductions of papers, one module each: every table and figure next to the published numbers.

    result = unmask.study("aul", out="aul", reduced=True)
    result.estimates, result.findings

To add one, write its module in `papers/`, and its `Study` in `catalog.py`. Studies of other packages are found
through the entry point group `unmask.studies`.
"""

from __future__ import annotations

from unmask.core.registry import Registry
from unmask.studies.spec import Runtime, Step, StepKind, Study, StudyOptions

STUDIES = Registry("study", Study, home="unmask.studies.catalog", group="unmask.studies")
find = STUDIES.find

__all__ = ["STUDIES", "Runtime", "Step", "StepKind", "Study", "StudyOptions", "find"]
