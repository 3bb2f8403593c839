"""Diagnoses of the measures themselves, one module each. To add one: its module, its `Diagnosis` in `catalog.py`.

    result = unmask.diagnose("direction", "bert-base-cased", data="crows-pairs")
    result.estimates, result.findings

Diagnoses of other packages are found through the entry point group `unmask.diagnoses`.
"""

from __future__ import annotations

from unmask.core.callable_package import make_callable
from unmask.core.registry import Registry
from unmask.diagnose.spec import Diagnosis, DiagnosisSettings

DIAGNOSES = Registry(
    "diagnosis",
    Diagnosis,
    home="unmask.diagnose.catalog",
    group="unmask.diagnoses",
    order=lambda diagnosis: diagnosis.order,
)
find = DIAGNOSES.find
EVERYTHING = "all"  # in the place of names
make_callable(__name__, "unmask.diagnose.run", "diagnose")

__all__ = ["DIAGNOSES", "EVERYTHING", "Diagnosis", "DiagnosisSettings", "find"]
