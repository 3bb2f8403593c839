"""Scores of several models for the same items: of a table in long form, one row per model, item and wording.

    model,item,template,score,category,direction,group
    bert-base-cased,gest/0017,0,1.38,leaders,male,masked

`model`, `item` and `score` are required. `template` (or `paraphrase`, `wording`) names the wording in which the item
was asked. A positive score is towards the stereotype; an empty one was not scored. `category` and `direction` (which of
two groups the item favours) belong to the item, `group` (masked or causal, say) to the model.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.boundary import Rows
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name
from unmask.core.types import Card, Dataset
from unmask.data.formats import SUFFIXES, is_file, read_bytes, read_records, records
from unmask.data.items import LoadedItems, user_dataset

if TYPE_CHECKING:
    from unmask.core.types import Floats

WORDING = ("template", "wording", "paraphrase")
REQUIRED = ("model", "item", "score")
OPTIONAL = ("category", "direction", "group")
MAX_CELLS = 50_000_000  # models × items × wordings
MAX_SCORE = 1e100  # larger numbers are no scores, and their squares are infinite
EXPECTED = "a table of scores with columns model, item and score"


@dataclass(frozen=True, slots=True, eq=False)  # hashable, so that what is computed from it is cached
class ScoreMatrix:
    """Scores of models × items × wordings; positive: towards the stereotype, NaN: not scored."""

    data: Dataset  # the card and checksum of the files; without items
    models: tuple[str, ...]
    items: tuple[str, ...]
    wordings: tuple[str, ...]  # templates or paraphrases; one empty name if every item has one wording
    scores: Floats
    categories: tuple[str, ...] = ()  # by item; empty: none known
    directions: tuple[str, ...] = ()  # by item: which of two groups its stereotype favours; empty: none known
    groups: tuple[str, ...] = ()  # by model; empty: none known
    nested: bool = False  # the first wording of one item has nothing in common with that of another

    @property
    def name(self) -> str:
        """The name of the data."""
        return self.data.card.name

    @property
    def card(self) -> Card:
        """The card of the data."""
        return self.data.card

    def facts(self) -> dict[str, Any]:
        """What a result records about the data."""
        return self.data.facts() | {"n": len(self.items)}


def is_score_file(path: Path) -> bool:
    """Whether it is a table with columns model, item and score."""
    if path.suffix.lower() not in SUFFIXES or not is_file(path):
        return False
    try:
        rows = read_records(path, EXPECTED)
    except DataError:
        return False  # loading it as another kind of file will report the error
    return bool(rows) and isinstance(rows[0], Mapping) and set(REQUIRED) <= set(_columns(rows[0]))


def load(path: Path, *, name: str) -> ScoreMatrix:
    """Load a table of scores; every invalid row is refused with its line."""
    content, file = read_bytes(path, EXPECTED), file_name(path)
    rows = records(content, path.suffix, file)
    digest = hashlib.sha256(content).hexdigest()
    return _matrix(rows, user_dataset(LoadedItems(()), name, f"Scores of {file}", file, digest))


def _columns(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key).strip().lower(): value for key, value in row.items()}


def _matrix(rows: Rows, data: Dataset) -> ScoreMatrix:
    """The matrix of a table in long form."""
    cells: dict[tuple[str, str, str], float] = {}
    notes: dict[str, dict[str, str]] = {name: {} for name in OPTIONAL}
    for number, row in enumerate(rows):
        at = rows.at(number)
        fields = _fields(row, at)
        key = (_text(fields, "model", at), _text(fields, "item", at), _wording(fields, at))
        if key in cells:
            named = ", ".join(part for part in key if part)
            raise DataError(f"{at}: a second score of {quote(named)}; keep one")
        cells[key] = _score(fields["score"], at)
        for name, owner in (("category", key[1]), ("direction", key[1]), ("group", key[0])):
            given = "" if fields.get(name) is None else str(fields[name]).strip()
            if notes[name].setdefault(owner, given) != given:
                raise DataError(f"{at}: {name} of {quote(owner)} is {quote(given)}, was {quote(notes[name][owner])}")
    if not cells:
        raise DataError(f"{rows.where}: no rows; expected {EXPECTED}")
    axes = [tuple(dict.fromkeys(key[axis] for key in cells)) for axis in range(3)]
    models, items, wordings = axes
    owners = {"category": items, "direction": items, "group": models}
    listed = {name: tuple(notes[name][owner] for owner in owners[name]) for name in OPTIONAL}
    known = {name: values if all(values) else () for name, values in listed.items()}
    if len(set(known["direction"])) not in (0, 2):
        raise DataError(f"{rows.where}: found {len(set(known['direction']))} directions, expected two, or none")
    return ScoreMatrix(
        data,
        models,
        items,
        wordings,
        _fill(cells, axes, rows.where),
        categories=known["category"],
        directions=known["direction"],
        groups=known["group"],
    )


def _fill(cells: Mapping[tuple[str, str, str], float], axes: Sequence[Sequence[str]], where: str) -> Floats:
    """An array of the scores by model, item and wording; NaN where there is none."""
    import numpy as np

    shape = tuple(map(len, axes))
    if math.prod(shape) > MAX_CELLS:
        raise DataError(f"{where}: {' × '.join(map(str, shape))} scores; expected at most {MAX_CELLS:,}, split it")
    places = [{name: place for place, name in enumerate(axis)} for axis in axes]
    scores = np.full(shape, np.nan)
    for (model, item, wording), score in cells.items():
        scores[places[0][model], places[1][item], places[2][wording]] = score
    return scores


def _fields(row: Any, at: str) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise DataError(f"{at}: found {quote(row)}, expected {EXPECTED}")
    fields = _columns(row)
    if lacking := [name for name in REQUIRED if name not in fields]:
        raise DataError(f"{at}: no column {lacking[0]!r}; expected {EXPECTED}")
    return fields


def _text(fields: Mapping[str, Any], name: str, at: str) -> str:
    value = fields[name]
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text:
        raise DataError(f"{at}: {name} is {quote(value)}, expected its name")
    return text


def _wording(fields: Mapping[str, Any], at: str) -> str:
    given = [name for name in WORDING if name in fields]
    if len(given) > 1:
        raise DataError(f"{at}: columns {' and '.join(given)}; expected one of them")
    return _text(fields, given[0], at) if given else ""


def _score(value: Any, at: str) -> float:
    """A finite number; NaN for an empty cell."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= MAX_SCORE:
        raise DataError(f"{at}: score is {quote(value)}, expected a number, or nothing if it was not scored")
    return number
