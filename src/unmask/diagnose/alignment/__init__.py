"""`alignment`: how much of a score depends on which tokens two sentences are said to share?"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.diagnose import explaining
from unmask.diagnose.alignment import tables
from unmask.diagnose.alignment.looking import observe
from unmask.diagnose.types import Diagnosis, Seen, Settings
from unmask.findings import Finding


def conclude(seen: Sequence[Seen], settings: Settings) -> Finding:
    """Counts of awkward pairs, bias scores with and without them, and outcomes in the other order."""
    made = (tables.counts(seen), tables.parts(seen), tables.orders(seen))
    return Finding(tuple(tables.answers(seen)), tuple(one for one in made if one.rows), tables.plot(seen))


ALIGNMENT = Diagnosis(
    name="alignment",
    title="Span alignment",
    question="How much of a score depends on which tokens the two sentences are said to share?",
    observe=observe,
    conclude=conclude,
    unfit=explaining.no_pairs,
    citation="nangia-etal-2020-crows",
)
