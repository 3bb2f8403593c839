"""`length`: how much of a score is sentence length?"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.diagnose import regression_tables
from unmask.diagnose.length import findings
from unmask.diagnose.length.observe import WHAT, observe
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Finding


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Regression on length, scores by which sentence is longer, and AULA's two normalisations."""
    listed = regression_tables.regression_cases(
        observations, [observation.result.regressions for observation in observations]
    )
    return Finding(
        (
            *findings.answers(observations),
            *regression_tables.answers(listed, what=WHAT),
            *findings.aula_answers(observations),
        ),
        (
            findings.count_table(observations),
            *regression_tables.tables(listed, what=WHAT, step="token"),
            *(
                table
                for table in (
                    findings.class_table(observations),
                    findings.correlation_table(observations),
                    findings.aula_table(observations),
                )
                if table.rows
            ),
        ),
        (*regression_tables.slopes_plot(listed, id="length-slopes", what=WHAT), *findings.plot(observations)),
    )


LENGTH = Diagnosis(
    name="length",
    title="Sentence length",
    question="How much of a score is the length of the sentences?",
    observe=observe,
    conclude=conclude,
    unfit_reason=regression_tables.not_pairs_reason,
    citation="kaneko-bollegala-2022-unmasking",
)
