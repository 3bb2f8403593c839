"""The pairs with the largest and smallest differences, with each token's contribution, as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from unmask.audit.attribution import (
    Explanation,
    Rows,
    TokenPart,
    explain_rows,
    largest_differences,
    smallest_differences,
)
from unmask.audit.interpretation import slot_sides
from unmask.audit.result import AuditResult
from unmask.audit.token_text import glyphs
from unmask.core.estimate import Estimate
from unmask.findings.numbers import is_number, number, signed_number
from unmask.findings.sentences import side_words
from unmask.report.selection import groups_of, is_open, items_of

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


@dataclass(frozen=True, slots=True)
class SideNames:
    """What the sentences of a pair are called, and what a pair leans towards."""

    labels: Mapping[str, str]
    towards: Mapping[str, str]


PAIR = SideNames(
    {"more": "stereotyping", "less": "other", "unrelated": "unrelated"},
    {"more": "the stereotyping sentence", "less": "the other sentence", "": "neither"},
)


def side_names(run: AuditResult, estimate: Estimate) -> SideNames:
    """Those of pairs, or of a template the words of its slot."""
    if not is_open(estimate):
        return PAIR
    more, less = side_words(slot_sides(run, estimate.data))
    labels = {"more": more.removeprefix("the "), "less": less.removeprefix("the ")}
    return SideNames(labels, {"more": more, "less": less, "": "neither"})


def decided_pairs(run: AuditResult, estimates: Sequence[Estimate]) -> list[tuple[list[PairView], list[PairView]]]:
    """For every estimate the pairs with the largest differences, and those with the smallest.

    Of the largest, half lean in each direction if there are enough. The tokens are read once, for all of them.
    """
    chosen = []
    for estimate in estimates:
        scored = items_of(run, estimate)
        largest, smallest = largest_differences(scored, SHOWN), smallest_differences(scored, UNDECIDED)
        shown = {row["item"] for row in largest}  # of few pairs the smallest are among the largest: once is enough
        chosen.append((side_names(run, estimate), largest, [row for row in smallest if row["item"] not in shown]))
    tokens = run.tokens_of({row["item"] for _, largest, smallest in chosen for row in (*largest, *smallest)})
    return [
        (_pair_views(largest, tokens, names), _pair_views(smallest, tokens, names))
        for names, largest, smallest in chosen
    ]


def _pair_views(rows: Rows, tokens: pa.Table, names: SideNames) -> list[PairView]:
    explanations = explain_rows(rows, tokens)
    return [_pair_view(row, found, names) for row, found in zip(rows, explanations, strict=True)]


def _pair_view(row: Mapping[str, Any], found: Explanation, names: SideNames) -> PairView:
    sides = {"more": found.more, "less": found.less}
    if is_number(row.get("unrelated")):
        sides["unrelated"] = found.unrelated
    sizes = [abs(token.contribution or 0.0) for token in (*found.more, *found.less)]
    largest, totals = max(sizes, default=0.0) or 1.0, found.blocks
    sentences = [
        Sentence(
            side,
            names.labels.get(side, side),
            str(row.get(f"text_{side}") or f"{row['item']} (text not stored)"),
            number(row.get(side), 3),
            _tokens(tokens, totals, largest),
        )
        for side, tokens in sides.items()
    ]
    note = NO_TOKENS if not totals else "" if found.adds_up else NO_SUM
    lean = "more" if found.difference > 0 else "less" if found.difference < 0 else ""
    towards = f"towards {names.towards[lean]}"
    difference = signed_number(found.difference, 3)
    return PairView(found.item, groups_of(row), lean, towards, difference, note, tuple(sentences))


def _tokens(tokens: Sequence[TokenPart], totals: Mapping[int, float], largest: float) -> tuple[Token, ...]:
    shown = []
    for token, (text, glued) in zip(tokens, glyphs([token.token for token in tokens]), strict=True):
        share = (token.contribution or 0.0) / largest
        lean = "" if abs(share) < FAINT else "more" if share > 0 else "less"
        shown.append(Token(text, glued, token.in_span, lean, round(abs(share), 3), _title(token, totals)))
    return tuple(shown)


def _title(token: TokenPart, totals: Mapping[int, float]) -> str:
    if not is_number(token.logprob):
        return "not scored by this measure"
    product = f"log-probability {number(token.logprob, 3)} × weight {number(token.weight, 3)}"
    if token.block is None or token.contribution is None:
        return product
    return f"{product}; with its counterpart in the other sentence {signed_number(totals[token.block], 3)}"
