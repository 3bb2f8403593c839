"""Diagnoses of the measures themselves, one module each. To add one, write its module and list it here.

from unmask.diagnose import find, run
(result,) = run([find("direction")], ["bert-base-cased"], data="crows-pairs")
result.finding.answers, result.finding.tables
"""

from __future__ import annotations

from unmask.core.errors import UnknownName
from unmask.diagnose.accuracy import ACCURACY
from unmask.diagnose.agreement import AGREEMENT
from unmask.diagnose.alignment import ALIGNMENT
from unmask.diagnose.calibration import CALIBRATION
from unmask.diagnose.direction import DIRECTION
from unmask.diagnose.frequency import FREQUENCY
from unmask.diagnose.human import HUMAN
from unmask.diagnose.length import LENGTH
from unmask.diagnose.meaning import MEANING
from unmask.diagnose.paraphrase import PARAPHRASE
from unmask.diagnose.run import DiagnosisResult, run
from unmask.diagnose.spec import Diagnosis, DiagnosisSettings
from unmask.diagnose.stability import STABILITY
from unmask.findings import Finding

_ALL = (
    *(ACCURACY, MEANING, FREQUENCY, DIRECTION, HUMAN, PARAPHRASE),
    *(STABILITY, LENGTH, ALIGNMENT, CALIBRATION, AGREEMENT),
)
DIAGNOSES: dict[str, Diagnosis] = {diagnosis.name: diagnosis for diagnosis in _ALL}


def find(name: str) -> Diagnosis:
    """The diagnosis called `name`."""
    if name not in DIAGNOSES:
        raise UnknownName("diagnosis", name, DIAGNOSES)
    return DIAGNOSES[name]


__all__ = ["DIAGNOSES", "Diagnosis", "DiagnosisResult", "DiagnosisSettings", "Finding", "find", "run"]
