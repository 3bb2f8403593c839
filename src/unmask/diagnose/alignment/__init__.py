"""`alignment`: how much of a score depends on which tokens two sentences are said to share?"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.diagnose import regression_tables
from unmask.diagnose.alignment import findings
from unmask.diagnose.alignment.observe import observe
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Finding


def conclude(seen: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Counts of awkward pairs, bias scores with and without them, and outcomes in the other order."""
    made = (findings.count_table(seen), findings.subset_table(seen), findings.order_table(seen))
    return Finding(tuple(findings.answers(seen)), tuple(one for one in made if one.rows), findings.plot(seen))


ALIGNMENT = Diagnosis(
    name="alignment",
    title="Span alignment",
    question="How much of a score depends on which tokens the two sentences are said to share?",
    observe=observe,
    conclude=conclude,
    unfit=regression_tables.not_pairs_reason,
    citation="nangia-etal-2020-crows",
)
