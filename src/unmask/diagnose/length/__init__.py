"""`length`: how much of a score is sentence length?"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.diagnose import regression_tables
from unmask.diagnose.length import findings
from unmask.diagnose.length.observe import WHAT, observe
from unmask.diagnose.spec import Diagnosis, Seen, Settings
from unmask.findings import Finding


def conclude(seen: Sequence[Seen], settings: Settings) -> Finding:
    """How far measures follow length, scores by which sentence is longer, and AULA's two normalisations."""
    listed = regression_tables.cases(seen, [one.what.explained for one in seen])
    return Finding(
        (
            *findings.answers(seen),
            *regression_tables.answers(listed, what=WHAT),
            *findings.aula_answers(seen),
        ),
        (
            findings.counts(seen),
            *regression_tables.tables(listed, what=WHAT, step="token"),
            *(
                table
                for table in (findings.by_class(seen), findings.within(seen), findings.aula(seen))
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
    unfit=regression_tables.no_pairs,
    citation="kaneko-bollegala-2022-unmasking",
)
