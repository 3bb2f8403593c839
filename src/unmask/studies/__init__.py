"""Reproductions of papers, one module each: every table and figure next to the published numbers.

    result = unmask.study("aul", out="aul", reduced=True)
    result.estimates, result.findings

To add one, write its module in `papers/`, with its `Study`. Studies of other packages are found
through the entry point group `unmask.studies`.
"""

from __future__ import annotations

from unmask.core.registry import Registry
from unmask.studies.spec import Runtime, Step, StepKind, Study, StudyOptions

STUDIES = Registry("study", Study, home="unmask.studies.papers", group="unmask.studies")
find = STUDIES.find

__all__ = ["STUDIES", "Runtime", "Step", "StepKind", "Study", "StudyOptions", "find"]
