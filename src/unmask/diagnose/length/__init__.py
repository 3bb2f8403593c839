"""`length`: how much of a score is sentence length?"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.diagnose import regression_tables
from unmask.diagnose.length import findings
from unmask.diagnose.length.observe import WHAT, observe
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Finding


def conclude(seen: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """How far measures follow length, scores by which sentence is longer, and AULA's two normalisations."""
    listed = regression_tables.regression_cases(seen, [one.what.explained for one in seen])
    return Finding(
        (
            *findings.answers(seen),
            *regression_tables.answers(listed, what=WHAT),
            *findings.aula_answers(seen),
        ),
        (
            findings.count_table(seen),
            *regression_tables.tables(listed, what=WHAT, step="token"),
            *(
                table
                for table in (
                    findings.class_table(seen),
                    findings.correlation_table(seen),
                    findings.aula_table(seen),
                )
                if table.rows
            ),
        ),
        (*regression_tables.slopes_plot(listed, id="length-slopes", what=WHAT), *findings.plot(seen)),
    )


LENGTH = Diagnosis(
    name="length",
    title="Sentence length",
    question="How much of a score is the length of the sentences?",
    observe=observe,
    conclude=conclude,
    unfit=regression_tables.not_pairs_reason,
    citation="kaneko-bollegala-2022-unmasking",
)
