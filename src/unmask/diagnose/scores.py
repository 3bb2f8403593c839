"""Scores of pairs as several diagnoses read them, why data are unsuitable, all results in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unmask import data as datasets
from unmask.audit.session import has_field
from unmask.core.errors import DataError, Unscorable
from unmask.core.types import SAME, Dataset, Encoded, Outcome, Pair, Row, Side
from unmask.diagnose.spec import DiagnosisObservation, Observations, ScoreOptions, UnitOptions
from unmask.measures import find
from unmask.measures.stereoset import BLANK

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.models import TextModel
    from unmask.stats.table import ScoreTable

Groups = Mapping[str, Mapping[str, str]]  # by pair: the group columns that name its unit of resampling
EncodedSentences = dict[str, list[Encoded]]  # the sentences of every pair


def score_rows(session: Session, data: Dataset, options: ScoreOptions) -> dict[str, list[Row]]:
    """Score rows of every pair under the requested measures, or the default ones."""
    scores = session.scores(data, session.pair_measures(data, options.measures))
    return {name: [item.row for item in items] for name, items in scores.items()}


def score_table(rows: Sequence[Row], measure: str, data: str, options: UnitOptions) -> ScoreTable:
    """Score rows of a measure as a table, over the units of the data unless pairs are taken for independent."""
    from unmask.stats.table import ScoreTable

    return ScoreTable.of(find(measure), rows, data=data, independent=options.independent)


def observed_table(observation: DiagnosisObservation, measure: str, options: UnitOptions) -> ScoreTable:
    """The table of a measure's observed rows."""
    return score_table(observation.result[measure], measure, observation.data.card.name, options)


def unit_groups(data: Dataset, *, independent: bool) -> dict[str, Mapping[str, str]]:
    """By item, the group columns that name its unit of resampling; those of equal pairs alone if independent."""
    return {
        item.id: {name: value for name, value in item.groups.items() if name == SAME or not independent}
        for item in data.items
    }


def without_category(row: Row) -> Row:
    """The row with the columns that name its unit, but no category: for comparisons of all pairs together."""
    return replace(row, groups={name: value for name, value in row.groups.items() if name != "category"})


def swap_sides(row: Row) -> Row:
    """The row of a pair with its two sentences swapped."""
    sides: dict[Side, Side] = {"more": "less", "less": "more"}
    outcomes: dict[Outcome, Outcome] = {"more": "less", "less": "more"}
    scores = {sides[side]: score for side, score in row.scores.items() if side in sides}
    return replace(row, scores=scores, outcome=outcomes.get(row.outcome, row.outcome))


def encode_sentences(items: Sequence[Pair], texts: Callable[[Pair], list[str]], lm: TextModel) -> EncodedSentences:
    """Encode the given sentences of every pair, leaving out pairs with none, an unscorable one or a special token."""
    from unmask.audit.scoring import special_token_in

    wanted = {item.id: texts(item) for item in items if not special_token_in(item, lm)}
    lm.prime([text for sentences in wanted.values() for text in sentences])
    version: EncodedSentences = {}
    for item, sentences in wanted.items():
        try:
            version |= {item: [lm.encode(text) for text in sentences]} if sentences else {}
        except Unscorable:
            continue
    return version


def find_originals(names: AbstractSet[str]) -> dict[str, Pair]:
    """Originals of paraphrases or controls in the installed datasets that their ids name: `nine-axes/0000`."""
    originals: dict[str, Pair] = {}
    for source in sorted({name.rpartition("/")[0] for name in names} & set(datasets.names())):
        try:
            items = datasets.load(source).items
        except DataError:
            continue
        originals |= {item.id: item for item in items if item.id in names}
    return originals


def require(*groups: str) -> Callable[[Dataset], str]:
    """A function that says why data are unsuitable without these groups or fields of pairs; empty if they fit."""

    def reason(data: Dataset) -> str:
        fit = all(has_field(data, name) for name in groups)
        return "" if fit else f"its pairs have no {' and '.join(groups)}"

    return reason


def template_reason(data: Dataset) -> str:
    """Why the items have no stereotyping side; empty if they have one."""
    return "its items are templates, of which neither side is the stereotype" if has_field(data, "slot") else ""


def not_pairs_reason(data: Dataset) -> str:
    """Why the items are not minimal pairs; empty if they are."""
    if has_field(data, "slot"):
        return "its items are templates, neither sentence is the stereotyping one"
    loose = [item for item in data.items if item.context and BLANK not in item.context]
    return "its sentences are free text after a context, no minimal pairs" if loose else ""


def results(observations: Observations, part: str = "") -> Iterator[tuple[DiagnosisObservation, Any, Any]]:
    """Every entry of the observed mappings, e.g. by measure; `part` is the attribute that is the mapping."""
    for observation in observations:
        mapping = getattr(observation.result, part) if part else observation.result
        for name, value in mapping.items():
            yield observation, name, value


def distinct_notes(observations: Observations) -> tuple[str, ...]:
    """The notes of all results, each once."""
    return tuple(dict.fromkeys(note for observation in observations for note in observation.result.notes))
