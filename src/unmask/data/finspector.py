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
Key = tuple[str, str, str]  # bias type, original, paraphrase


def is_finspector(records: Sequence[Any]) -> bool:
    """Whether the records have the columns of Finspector."""
    first = records[0] if records else None
    if not isinstance(first, Mapping):
        return False
    names = {_name(column) for column in first}
    return {"sent_index", "para_index"} <= names and bool(names & set(SIDE))


def pair_rows(records: Sequence[Mapping[str, Any]], where: str) -> list[dict[str, str]]:
    """Join two rows into one pair, ordered by the first of them, with `original` and `paraphrase`."""
    pairs: dict[Key, dict[str, str]] = {}
    for row, record in enumerate(records):
        at = f"{where}, row {row} (from 0)"
        fields = {_name(column): _text(value) for column, value in record.items()}
        category = _first_value(fields, CATEGORY)
        key = (
            category,
            _required_value(fields, ("sent_index",), at),
            _required_value(fields, ("para_index",), at),
        )
        pair = pairs.setdefault(key, _groups(key))
        side = _side(_required_value(fields, SIDE, at), at)
        if side in pair:
            raise DataError(f"{at}: a second {side} sentence of {_describe(key)}; expected one of each side")
        pair[side] = _required_value(fields, SENTENCE, at)
        pair["direction"] = pair.get("direction") or _DIRECTIONS.get(
            _first_value(fields, DIRECTION).lower(), ""
        )
    for key, pair in pairs.items():
        lacking = {"more", "less"} - pair.keys()
        if lacking:
            raise DataError(
                f"{where}: {_describe(key)} has no row with sent_{lacking.pop()}; expected sent_more "
                "and sent_less for every original and paraphrase"
            )
    return list(pairs.values())


def _groups(key: Key) -> dict[str, str]:
    category, original, number = key
    name = f"{category}/{original}" if category else original
    return {"category": category, ORIGINAL: name, NUMBER: number}


def _describe(key: Key) -> str:
    return f"sentence {key[1]}, paraphrase {key[2]}"


def _name(column: object) -> str:
    return str(column).strip().lower()


def _text(value: object) -> str:
    """A cell as text; an index that a data frame converted to float becomes an integer again."""
    if value is None or value != value:  # noqa: PLR0124 - only NaN differs from itself
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _first_value(fields: Mapping[str, str], names: Sequence[str]) -> str:
    return next((fields[name].strip() for name in names if fields.get(name, "").strip()), "")


def _required_value(fields: Mapping[str, str], names: Sequence[str], at: str) -> str:
    """The first non-empty cell of these columns, exactly as written."""
    cell = next((fields[name] for name in names if fields.get(name, "").strip()), "")
    if not cell:
        raise DataError(f"{at}: nothing in column {' or '.join(map(repr, names))}; fill it in")
    return cell if names == SENTENCE else cell.strip()


def _side(text: str, at: str) -> str:
    if text.lower() not in _SIDES:
        raise DataError(f"{at}: {text!r} for the side, expected 'sent_more' or 'sent_less'")
    return _SIDES[text.lower()]
