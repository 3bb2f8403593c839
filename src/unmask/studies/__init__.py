"""Reproductions of papers, one module each: every table and figure next to the published numbers.

    from unmask.studies import Runtime, StudyOptions, find, plan_study, run
    result = run(plan_study(find("aul"), StudyOptions(reduced=True), Runtime()), Path("aul"))

To add one: write its module in `papers/`, then register it here.
"""

from __future__ import annotations

from unmask.core.errors import UnknownName
from unmask.studies.papers.aul import AUL
from unmask.studies.papers.debiasing import DEBIASING
from unmask.studies.papers.gbef import GBEF
from unmask.studies.papers.paraphrase import PARAPHRASE
from unmask.studies.papers.prompts import PROMPTS
from unmask.studies.run import StudyPlan, StudyResult, plan_study, run
from unmask.studies.spec import Runtime, Step, StepKind, Study, StudyOptions

STUDIES: dict[str, Study] = {study.name: study for study in (AUL, PARAPHRASE, DEBIASING, PROMPTS, GBEF)}


def find(name: str) -> Study:
    """The study with this name; UnknownName lists the others."""
    if name not in STUDIES:
        raise UnknownName("study", name, STUDIES)
    return STUDIES[name]


__all__ = [
    "STUDIES",
    "Runtime",
    "Step",
    "StepKind",
    "Study",
    "StudyOptions",
    "StudyPlan",
    "StudyResult",
    "find",
    "plan_study",
    "run",
]
