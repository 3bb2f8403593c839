"""`alignment`: how much of a score depends on which tokens of a pair are aligned as shared?"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.diagnose import regression_tables
from unmask.diagnose.alignment import findings
from unmask.diagnose.alignment.observe import observe
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Finding


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Counts of awkward pairs, bias scores with and without them, and outcomes with the sentences swapped."""
    tables = (
        findings.count_table(observations),
        findings.subset_table(observations),
        findings.order_table(observations),
    )
    return Finding(
        tuple(findings.answers(observations)),
        tuple(estimate for estimate in tables if estimate.rows),
        findings.plot(observations),
    )


ALIGNMENT = Diagnosis(
    name="alignment",
    title="Span alignment",
    question="How much of a score depends on which tokens the two sentences are said to share?",
    observe=observe,
    conclude=conclude,
    unfit_reason=regression_tables.not_pairs_reason,
    citation="nangia-etal-2020-crows",
)
