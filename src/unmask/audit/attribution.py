"""Token attribution: the contribution of every token to the difference between the two scores of a pair.

The two sentences are aligned into blocks: a token that both share is a block with its counterpart; changed
words between two shared tokens are a block with the words that replace them. All contributions of a pair add
up to its difference if the scores are sums of weighted log-probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unmask.audit.token_text import readable
from unmask.core.errors import ResultError
from unmask.findings.envelope import Result
from unmask.findings.numbers import signed_number
from unmask.findings.tables import SIDES, select_items

ARITHMETIC = "contributions add up to the difference: that is arithmetic, not a cause"
CLOSE = 1e-3  # relative tolerance: contributions add up to the difference but for rounding
NO_SUM = "(contributions do not add up: these scores are not sums of log-probabilities)"
NO_LOGPROBS = "(no log-probabilities of tokens in this result: audit the model to see what each contributes)"
Rows = Sequence[Mapping[str, Any]]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TokenPart:
    """A token of a sentence, what the measure read of it, and its contribution to the difference."""

    position: int
    token: str
    logprob: float | None  # None if the measure does not read the token
    weight: float
    in_span: bool  # whether it differs between the sentences
    block: int | None = None  # None in a third sentence, which is not part of the difference
    contribution: float | None = None  # None if the token was not scored

    @property
    def value(self) -> float:
        """Weight × log-probability, its term in the score of its own sentence."""
        return 0.0 if self.logprob is None else self.weight * self.logprob


@dataclass(frozen=True, slots=True)
class Explanation:
    """One item scored by one measure, token by token; the difference of an unscored item is NaN."""

    item: str
    measure: str
    outcome: str
    difference: float
    text_more: str
    text_less: str
    more: tuple[TokenPart, ...]
    less: tuple[TokenPart, ...]
    unrelated: tuple[TokenPart, ...] = ()
    template: bool = False  # whether its sides are two words for a slot, neither of which is the stereotype

    @property
    def blocks(self) -> dict[int, float]:
        """The contribution of every block with a scored token: the sum over its tokens in both sentences."""
        totals: dict[int, float] = {}
        for token in (*self.more, *self.less):
            if token.block is not None and token.contribution is not None:
                totals[token.block] = totals.get(token.block, 0.0) + token.contribution
        return totals

    @property
    def adds_up(self) -> bool:
        """Whether the contributions add up to the difference: there are some, and the scores are sums."""
        total = sum(self.blocks.values())
        return bool(self.blocks) and abs(total - self.difference) <= CLOSE * max(1.0, abs(self.difference))

    def deciding(self) -> list[tuple[str, float, bool]]:
        """Blocks by the size of their contribution: (tokens, contribution, changed).

        A shared token is named once, changed words as `she / he`.
        """
        changed = {token.block for token in (*self.more, *self.less) if token.in_span}
        ranked = sorted(self.blocks.items(), key=lambda block: -abs(block[1]))
        return [(self._name(block), total, block in changed) for block, total in ranked]

    def text(self, top: int = 5) -> str:
        """Who wins by how much, the sentences with the changed words in brackets, and the `top` contributions."""
        winner = {"more": self._side("more"), "less": self._side("less"), "tie": "neither"}.get(self.outcome)
        won = f"{winner} wins by {abs(self.difference):.4f}" if winner else "not scored"
        lines = [
            f"{self.item}  {self.measure}: {won}",
            f"  more: {_mark_changed(self.more) or self.text_more}",
            f"  less: {_mark_changed(self.less) or self.text_less}",
        ]
        for words, contribution, changed in self.deciding()[:top]:
            lines.append(
                f"    {signed_number(contribution, 4):>9}  {words}  ({'changed' if changed else 'shared'} word)"
            )
        note = NO_SUM if any(token.logprob is not None for token in (*self.more, *self.less)) else NO_LOGPROBS
        return "\n".join(lines if self.adds_up else [*lines, f"    {note}"])

    def __str__(self) -> str:
        """The text with five contributions, and what they are not."""
        return f"{self.text()}\n    ({ARITHMETIC})" if self.adds_up else self.text()

    def _side(self, side: str) -> str:
        """What a side is called: its sentence, or of a template the word in its slot."""
        tokens, name = (self.more, "stereotyping") if side == "more" else (self.less, "other")
        words = " ".join(text for part, text in _with_texts(tokens) if part.in_span) if self.template else ""
        return f"“{words}”" if words else f"the {name} sentence"

    def _name(self, block: int) -> str:
        """The tokens of a block: a shared one once, changed ones as `she / he`."""
        more, less = (
            " ".join(text for part, text in _with_texts(side) if part.block == block) for side in (self.more, self.less)
        )
        return more if more == less else f"{more or '–'} / {less or '–'}"


def _mark_changed(tokens: Sequence[TokenPart]) -> str:
    """The tokens of a sentence, changed ones in brackets."""
    return " ".join(f"[{text}]" if token.in_span else text for token, text in _with_texts(tokens))


def _with_texts(tokens: Sequence[TokenPart]) -> list[tuple[TokenPart, str]]:
    """The tokens of a sentence, each with its text."""
    return list(zip(tokens, readable([token.token for token in tokens]), strict=True))


def largest_differences(scored: pa.Table, count: int) -> Rows:
    """The rows of scored items with the largest differences, half in each direction if there are enough."""
    ranked = _by_size(scored)
    difference, half = scored["difference"].to_numpy()[ranked], count // 2
    more, less = ranked[difference > 0], ranked[difference < 0]
    chosen = more[: max(count - half, count - len(less))], less[: max(half, count - len(more))]
    return _take(scored, np.concatenate(chosen))


def smallest_differences(scored: pa.Table, count: int) -> Rows:
    """The rows of scored items with the smallest differences, the smallest first."""
    return _take(scored, _by_size(scored)[::-1][:count])


def _by_size(scored: pa.Table) -> Array:
    """The rows of scored items by the size of their difference, the largest first."""
    return np.argsort(-np.abs(scored["difference"].to_numpy()), kind="stable")


def _take(table: pa.Table, rows: Array) -> Rows:
    chosen: list[dict[str, Any]] = table.take(pa.array(rows, pa.int64())).to_pylist()
    return chosen


def explain(
    run: Result | str | Path, item: str | None = None, *, measure: str | None = None, top: int = 5
) -> tuple[Explanation, ...]:
    """Explain one item of an audit, or the `top` items with the largest differences in both directions."""
    from unmask.audit.result import load_audit

    result = run if isinstance(run, Result) else load_audit(run)
    if measure is not None:
        result.require_measure(measure)
    if item is not None:
        return (explain_item(result, item, measure),)
    if not result.measures():
        raise ResultError("this result has no estimates: run the audit again")
    name = measure or result.measures()[0]
    scored = result.items.filter((pc.field("measure") == name) & (pc.field("outcome") != "unscored"))
    rows = largest_differences(scored, top)
    return tuple(explain_rows(rows, result.tokens_of({row["item"] for row in rows})))


def explain_item(result: Result, item: str, measure: str | None = None) -> Explanation:
    """Explain one item from the tables of a result folder."""
    table = result.items
    rows: list[dict[str, Any]] = table.filter(pc.equal(table["item"], item)).to_pylist()
    if not rows:
        example = table["item"][0].as_py() if len(table) else "none"
        raise ResultError(f"no item {item!r} in this result; items look like {example!r}")
    if measure is not None:
        result.require_measure(measure)
    fitting = [row for row in rows if measure in (None, row["measure"])]
    row = next((row for row in fitting if row["outcome"] != "unscored"), fitting[0])
    if row["outcome"] == "unscored":
        raise ResultError(f"{item} was not scored by {row['measure']}: {row['reason']}")
    return explain_rows([row], result.tokens_of({item}))[0]


def explain_rows(rows: Rows, tokens: pa.Table) -> list[Explanation]:
    """Explain rows of the table of items from the table of tokens."""
    parts: dict[tuple[str, str, str], list[TokenPart]] = {}
    for token in select_items(tokens, {row["item"] for row in rows}).to_pylist():
        values = {name: token[name] for name in TokenPart.__slots__}
        parts.setdefault((token["measure"], token["item"], token["side"]), []).append(TokenPart(**values))
    explanations = []
    for row in rows:
        more, less, unrelated = (tuple(parts.get((row["measure"], row["item"], side), ())) for side in SIDES)
        names = (row["item"], row["measure"], row["outcome"])
        difference = float("nan") if row["difference"] is None else row["difference"]
        texts = (row.get("text_more") or "", row.get("text_less") or "")
        explanation = Explanation(*names, difference, *texts, more, less, unrelated, template=bool(row.get("slot")))
        explanations.append(explanation)
    return explanations


def with_contributions(tokens: pa.Table) -> pa.Table:
    """The table of tokens with the columns `block` and `contribution`.

    A token's value is its weight × log-probability. Its contribution is that value minus its share of the
    mean of the two sides of its block, with the sign of its side; if only one side of the block was scored,
    the value itself. The tokens of a sentence must be in order; `in_span` marks the changed ones.
    """
    side = pc.index_in(tokens["side"].cast(pa.string()), pa.array(SIDES)).to_numpy()
    pair = _codes(tokens["measure"]) * (tokens.num_rows + 1) + _codes(tokens["item"])
    order = np.lexsort((side, pair))
    order = order[side[order] < 2]  # a third sentence is not part of the difference
    side, pair = side[order], np.unique(pair[order], return_inverse=True)[1]
    slot = _slots(pair, side, ~tokens["in_span"].to_numpy()[order])
    with np.errstate(invalid="ignore"):
        value = (tokens["weight"].to_numpy() * tokens["logprob"].to_numpy())[order]
    scored, width = np.isfinite(value), slot.max(initial=0) + 1
    used, block = np.unique(pair * width + slot, return_inverse=True)
    cell, cells = 2 * block + side, 2 * len(used)  # a cell: one side of a block
    totals = np.bincount(cell, np.where(scored, value, 0.0), cells).reshape(-1, 2)
    counts = np.bincount(cell, scored, cells).reshape(-1, 2)
    means = np.where(counts.all(axis=1), totals.sum(axis=1) / 2, 0.0)
    signed = (1 - 2 * side) * (value - means[block] / np.maximum(counts[block, side], 1)) + 0.0  # never -0.0
    index = block - np.searchsorted(used, pair * width)
    tokens = tokens.append_column("block", _column(index, order, tokens.num_rows, pa.int32()))
    return tokens.append_column("contribution", _column(signed[scored], order[scored], tokens.num_rows, pa.float64()))


def _slots(pair: Array, side: Array, shared: Array) -> Array:
    """Number the blocks of every sentence: shared token k is 2k + 1, changed words before it are 2k.

    Tokens are sorted by pair and side. A pair whose sides have unequal numbers of shared tokens is one block.
    """
    sentence = 2 * pair + side
    before = np.cumsum(shared) - shared
    before -= before[np.searchsorted(sentence, sentence)]
    numbers = np.bincount(sentence, shared, 2 * (pair.max(initial=-1) + 1)).reshape(-1, 2)
    return np.where((numbers[:, 0] == numbers[:, 1])[pair], 2 * before + shared, 0)


def _codes(column: pa.ChunkedArray) -> Array:
    """An integer for each distinct text."""
    return np.asarray(column.cast(pa.string()).combine_chunks().dictionary_encode().indices, np.int64)


def _column(values: Array, rows: Array, size: int, kind: pa.DataType) -> pa.Array:
    """A column with these values in these rows, null elsewhere."""
    column, absent = np.zeros(size, values.dtype), np.ones(size, np.bool_)
    column[rows], absent[rows] = values, False
    return pa.array(column, kind, mask=absent)
