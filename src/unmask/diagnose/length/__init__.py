"""`length`: how much of a score is sentence length?"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.diagnose import explaining
from unmask.diagnose.length import tables
from unmask.diagnose.length.looking import WHAT, observe
from unmask.diagnose.types import Diagnosis, Seen, Settings
from unmask.findings import Finding


def conclude(seen: Sequence[Seen], settings: Settings) -> Finding:
    """How far measures follow length, scores by which sentence is longer, and AULA's two normalisations."""
    listed = explaining.cases(seen, [one.what.explained for one in seen])
    return Finding(
        (*tables.answers(seen), *explaining.answers(listed, what=WHAT), *tables.aula_answers(seen)),
        (
            tables.counts(seen),
            *explaining.tables(listed, what=WHAT, step="token"),
            *(
                table
                for table in (tables.by_class(seen), tables.within(seen), tables.aula(seen))
                if table.rows
            ),
        ),
        (*explaining.slopes_plot(listed, id="length-slopes", what=WHAT), *tables.plot(seen)),
    )


LENGTH = Diagnosis(
    name="length",
    title="Sentence length",
    question="How much of a score is the length of the sentences?",
    observe=observe,
    conclude=conclude,
    unfit=explaining.no_pairs,
    citation="kaneko-bollegala-2022-unmasking",
)
