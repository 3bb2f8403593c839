"""Diagnoses of the measures themselves, one module each, found by being there.

    result = unmask.diagnose("direction", "bert-base-cased", data="crows-pairs")
    result.estimates, result.findings

Diagnoses of other packages are found through the entry point group `unmask.diagnoses`.
"""

from __future__ import annotations

from operator import attrgetter

from unmask.core.lazy_imports import make_callable
from unmask.core.registry import Registry
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, ScoreOptions, UnitOptions

DIAGNOSES = Registry(
    "diagnosis", Diagnosis, home=__name__, group="unmask.diagnoses", constructor="Diagnosis(", order=attrgetter("order")
)
find = DIAGNOSES.find
EVERYTHING = "all"  # in the place of names
make_callable(__name__, "unmask.diagnose.run", "diagnose")

__all__ = ["DIAGNOSES", "EVERYTHING", "Diagnosis", "DiagnosisObservation", "ScoreOptions", "UnitOptions", "find"]
