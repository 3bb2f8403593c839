"""The pairs with the largest and smallest differences, with each token's contribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from unmask.audit.token_parts import Part, Parts, TokenRow, parts
from unmask.core.estimate import Estimate
from unmask.findings.numbers import is_number, number, signed_number
from unmask.report.glyphs import glyphs
from unmask.report.selection import Run, is_open, items_of

SHOWN = 8  # pairs with the largest differences, per measure
UNDECIDED = 4  # pairs with the smallest differences
NO_TOKENS = "The tokens of some of these pairs were not stored, or none of them was scored."
NO_SUM = (
    "These scores are not sums of log-probabilities: the colours show where log-probabilities differ, but "
    "do not add up to the difference."
)
FAINT = 0.05  # contributions below this share of the largest get no colour


@dataclass(frozen=True, slots=True)
class Token:
    """One token as shown on the page."""

    text: str
    glued: bool  # joined to the previous token
    changed: bool  # one of the tokens in which the sentences differ
    lean: str  # "more", "less" or ""
    shade: float  # 0 to 1
    title: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a pair with its score; `tokens` is empty if none were stored."""

    side: str
    label: str  # the side in words
    text: str
    score: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class PairView:
    """One pair as shown on the page."""

    item: str
    groups: str
    lean: str  # "more", "less", or "" if both scores are equal
    towards: str  # the lean in words
    difference: str
    note: str  # why contributions do not add up to the difference; empty if they do
    sentences: tuple[Sentence, ...]


SIDES = {"more": "stereotyping", "less": "other", "unrelated": "unrelated"}
OPEN_SIDES = {"more": "masculine word", "less": "feminine word"}
TOWARDS = {
    "more": "towards the stereotyping sentence",
    "less": "towards the other sentence",
    "": "towards neither",
}
OPEN_TOWARDS = {
    "more": "towards the masculine word",
    "less": "towards the feminine word",
    "": "towards neither",
}


def largest_differences(run: Run, estimate: Estimate, count: int = SHOWN) -> list[PairView]:
    """The pairs with the largest differences, half in each direction if there are enough."""
    rows = _by_size(run, estimate)[::-1]
    more = [row for row in rows if row["difference"] > 0]
    less = [row for row in rows if row["difference"] < 0]
    half = count // 2
    chosen = more[: max(half, count - len(less))] + less[: max(half, count - len(more))]
    return _pair_views(run, estimate, chosen)


def smallest_differences(run: Run, estimate: Estimate, count: int = UNDECIDED) -> list[PairView]:
    """The pairs with the smallest differences."""
    return _pair_views(run, estimate, _by_size(run, estimate)[:count])


def _by_size(run: Run, estimate: Estimate) -> list[dict[str, Any]]:
    """The scored items by size of the difference, ascending; of equal ones the later first."""
    rows = items_of(run, estimate).to_pylist()[::-1]
    return sorted(rows, key=lambda row: abs(row["difference"]))


def _pair_views(run: Run, estimate: Estimate, rows: Sequence[Mapping[str, Any]]) -> list[PairView]:
    tokens = _tokens_of(run, estimate.measure, [row["item"] for row in rows])
    return [_pair_view(row, tokens.get(row["item"], {}), slot=is_open(estimate)) for row in rows]


def _tokens_of(run: Run, measure: str, items: list[str]) -> dict[str, dict[str, list[TokenRow]]]:
    table = run.tokens
    if table.num_rows == 0 or not items:
        return {}
    mask = (pc.field("measure") == measure) & pc.field("item").isin(items)
    by_item: dict[str, dict[str, list[TokenRow]]] = {}
    for row in sorted(table.filter(mask).to_pylist(), key=lambda row: row["position"]):
        by_item.setdefault(row["item"], {}).setdefault(row["side"], []).append(row)
    return by_item


def _pair_view(row: Mapping[str, Any], tokens: Mapping[str, Sequence[TokenRow]], *, slot: bool) -> PairView:
    more, less, third = (tokens.get(side, ()) for side in ("more", "less", "unrelated"))
    split = parts(more, less)
    known = [part.own for side in split for part in side if part is not None]
    largest = max(map(abs, known), default=0.0) or 1.0
    sentences = [
        _sentence(row, "more", _tokens(more, split[0], largest), slot=slot),
        _sentence(row, "less", _tokens(less, split[1], largest), slot=slot),
    ]
    if is_number(row.get("unrelated")):
        sentences.append(_sentence(row, "unrelated", _tokens(third, [None] * len(third), largest), slot=slot))
    groups = " · ".join(str(row[name]) for name in ("category", "direction", "word") if row.get(name))
    difference = row["difference"]
    exact = abs(sum(known) - difference) <= 1e-3 * max(1.0, abs(difference))
    note = NO_TOKENS if not known else "" if exact else NO_SUM
    lean = "more" if difference > 0 else "less" if difference < 0 else ""
    towards = (OPEN_TOWARDS if slot else TOWARDS)[lean]
    return PairView(row["item"], groups, lean, towards, signed_number(difference, 3), note, tuple(sentences))


def _sentence(row: Mapping[str, Any], side: str, tokens: tuple[Token, ...], *, slot: bool) -> Sentence:
    text = str(row.get(f"text_{side}") or f"{row['item']} (text not stored)")
    label = (OPEN_SIDES if slot else SIDES).get(side, side)
    return Sentence(side, label, text, number(row.get(side), 3), tokens)


def _tokens(rows: Sequence[TokenRow], split: Parts, largest: float) -> tuple[Token, ...]:
    shown = glyphs([str(row.get("token") or "") for row in rows])
    return tuple(
        _token(row, part, largest, text=text, glued=glued)
        for row, part, (text, glued) in zip(rows, split, shown, strict=True)
    )


def _token(row: TokenRow, part: Part | None, largest: float, *, text: str, glued: bool) -> Token:
    share = 0.0 if part is None else part.own / largest
    lean = "" if abs(share) < FAINT else "more" if share > 0 else "less"
    return Token(text, glued, bool(row.get("in_span")), lean, round(abs(share), 3), _title(row, part))


def _title(row: TokenRow, part: Part | None) -> str:
    if not is_number(row.get("logprob")):
        return "not scored by this measure"
    product = f"log-probability {number(row.get('logprob'), 3)} × weight {number(row.get('weight'), 3)}"
    if part is None:
        return product
    return f"{product}; with its counterpart in the other sentence {signed_number(part.block, 3)}"
