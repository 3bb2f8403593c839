"""Token attribution: the contribution of every token to the difference between the two sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmask.audit.result import require_measure
from unmask.core.errors import ResultError

if TYPE_CHECKING:
    from unmask.audit.result import Result


@dataclass(frozen=True, slots=True)
class TokenPart:
    """A token and its contribution to the score; `logprob` is None if the measure does not read it."""

    position: int
    token: str
    logprob: float | None
    weight: float
    in_span: bool

    @property
    def part(self) -> float:
        """Weight × log-probability."""
        return 0.0 if self.logprob is None else self.weight * self.logprob


@dataclass(frozen=True, slots=True)
class Explanation:
    """One item scored by one measure, token by token."""

    item: str
    measure: str
    outcome: str
    difference: float
    text_more: str
    text_less: str
    more: tuple[TokenPart, ...]
    less: tuple[TokenPart, ...]

    def deciding(self) -> list[tuple[str, float, bool]]:
        """Tokens by the size of their contribution: (token, contribution, in the changed span).

        A token that both sentences share contributes the difference of its two weighted log-probabilities.
        The contributions of shared and changed tokens add up to the difference of the pair.
        """
        shared = [[token for token in side if not token.in_span] for side in (self.more, self.less)]
        parts: list[tuple[str, float, bool]] = []
        if len(shared[0]) == len(shared[1]):
            both = zip(*shared, strict=True)
            parts += [(a.token, a.part - b.part, False) for a, b in both]
        else:
            parts += [(token.token, token.part, False) for token in shared[0]]
            parts += [(token.token, -token.part, False) for token in shared[1]]
        parts += [(token.token, token.part, True) for token in self.more if token.in_span]
        parts += [(token.token, -token.part, True) for token in self.less if token.in_span]
        return sorted(parts, key=lambda part: -abs(part[1]))


def explain_item(result: Result, item: str, measure: str | None = None) -> Explanation:
    """Explain one item from the tables of a result folder."""
    import pyarrow.compute as pc

    table = result.items
    rows: list[dict[str, Any]] = table.filter(pc.equal(table["item"], item)).to_pylist()
    if not rows:
        example = table["item"][0].as_py() if len(table) else "none"
        raise ResultError(f"no item {item!r} in this result; items look like {example!r}")
    if measure is not None:
        require_measure(result, measure)
    fitting = [row for row in rows if measure in (None, row["measure"])]
    row = next((row for row in fitting if row["outcome"] != "unscored"), fitting[0])
    if row["outcome"] == "unscored":
        raise ResultError(f"{item} was not scored by {row['measure']}: {row['reason']}")
    tokens = result.tokens
    of_item = pc.and_(pc.equal(tokens["item"], item), pc.equal(tokens["measure"], row["measure"]))
    parts = tokens.filter(of_item).to_pylist()
    return Explanation(
        item,
        row["measure"],
        row["outcome"],
        row["difference"],
        row["text_more"],
        row["text_less"],
        _side(parts, "more"),
        _side(parts, "less"),
    )


def _side(parts: Sequence[dict[str, Any]], side: str) -> tuple[TokenPart, ...]:
    return tuple(
        TokenPart(part["position"], part["token"], part["logprob"], part["weight"], part["in_span"])
        for part in parts
        if part["side"] == side
    )
