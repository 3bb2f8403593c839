"""Paraphrase files with one sentence per row, in the format of Finspector (Kwon & Mihindukulasooriya, 2023).

`bias_type`, `sent_index` (which original), `para_index` (0: the original itself), `more_or_less`
(`sent_more`: the stereotyping sentence) and `sent`; `stereo_type` may give the direction. Two rows make a
pair. The authors' score columns (`bert`, `roberta`, …) are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unmask.core.errors import DataError

ORIGINAL, NUMBER = "original", "paraphrase"  # the groups of a set of paraphrases
ITSELF = "0"  # the number of the original among its paraphrases
SENTENCE = ("sent", "sentence")
SIDE = ("more_or_less", "more/less", "side")
DIRECTION = ("stereo_type", "stereo_antistereo", "direction", "stereo/anti")
CATEGORY = ("bias_type", "category")
_SIDES = {"sent_more": "more", "more": "more", "sent_less": "less", "less": "less"}
_DIRECTIONS = {"stereo": "stereo", "antistereo": "antistereo", "anti": "antistereo"}


def is_finspector(records: Sequence[Any]) -> bool:
    """Whether the records have the columns of Finspector."""
    first = records[0] if records else None
    if not isinstance(first, Mapping):
        return False
    names = {_name(column) for column in first}
    return {"sent_index", "para_index"} <= names and bool(names & set(SIDE))


def pair_rows(records: Sequence[Mapping[str, Any]], where: str) -> list[dict[str, str]]:
    """Join two rows into one pair, ordered by the first of them, with `original` and `paraphrase`."""
    pairs: dict[tuple[str, str, str], dict[str, str]] = {}
    for row, record in enumerate(records):
        at = f"{where}, row {row} (from 0)"
        fields = {_name(column): _text(value) for column, value in record.items()}
        category, direction = (_cell(fields, names).strip() for names in (CATEGORY, DIRECTION))
        needed = (("sent_index",), ("para_index",), SIDE)
        original, number, side = (_required_cell(fields, names, at).strip() for names in needed)
        if side.lower() not in _SIDES:
            raise DataError(f"{at}: {side!r} for the side, expected 'sent_more' or 'sent_less'")
        name, side = f"{category}/{original}" if category else original, _SIDES[side.lower()]
        groups = {"category": category, ORIGINAL: name, NUMBER: number}
        pair = pairs.setdefault((category, original, number), groups)
        if side in pair:
            which = f"sentence {original}, paraphrase {number}"
            raise DataError(f"{at}: a second {side} sentence of {which}; expected one of each side")
        pair[side] = _required_cell(fields, SENTENCE, at)  # exactly as written
        pair["direction"] = pair.get("direction") or _DIRECTIONS.get(direction.lower(), "")
    for (_, original, number), pair in pairs.items():
        lacking = {"more", "less"} - pair.keys()
        if lacking:
            raise DataError(
                f"{where}: sentence {original}, paraphrase {number} has no row with sent_{lacking.pop()}; "
                "expected sent_more and sent_less for every original and paraphrase"
            )
    return list(pairs.values())


def _name(column: object) -> str:
    return str(column).strip().lower()


def _text(value: object) -> str:
    """A cell as text; an index that a data frame converted to float becomes an integer again."""
    if value is None or value != value:  # noqa: PLR0124 - only NaN differs from itself
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _cell(fields: Mapping[str, str], names: Sequence[str]) -> str:
    """The first cell of these columns that is not empty."""
    return next((fields[name] for name in names if fields.get(name, "").strip()), "")


def _required_cell(fields: Mapping[str, str], names: Sequence[str], at: str) -> str:
    """The first cell of these columns that is not empty; DataError if all are."""
    if not (cell := _cell(fields, names)):
        raise DataError(f"{at}: nothing in column {' or '.join(map(repr, names))}; fill it in")
    return cell
