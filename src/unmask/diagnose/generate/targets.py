"""Target words of a pair: the shared content words that carry the stereotyped characteristic.

A word's contribution to the CrowS-Pairs difference is the sum over its tokens. Words with the largest
contribution come first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from unmask.audit.scoring import ScoredItem
from unmask.core.types import Pair, SentenceScore
from unmask.data.language import Span
from unmask.diagnose.generate.words import is_usable
from unmask.models import TextModel

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Target:
    """A word both sentences share: its spans, and its contribution to their score difference."""

    word: str
    more: Span
    less: Span
    moves: float


def targets(item: ScoredItem, lm: TextModel) -> list[Target]:
    """Replaceable words of a pair, by decreasing contribution to its score difference."""
    pair = item.item
    in_more = _contributions(pair.more, item.sentences["more"], lm)
    in_less = _contributions(pair.less, item.sentences["less"], lm)
    shared = [
        Target(pair.more[slice(*more)], more, less, in_more.get(more, 0.0) - in_less.get(less, 0.0))
        for more, less in shared_words(pair)
        if more[0] > 0 and is_usable(pair.more[slice(*more)])
    ]
    return sorted(shared, key=lambda target: -abs(target.moves))


def shared_words(pair: Pair) -> list[tuple[Span, Span]]:
    """Spans of the words both sentences share, in order; changed words are never replaced."""
    more, less = _spans(pair.more), _spans(pair.less)
    words = [pair.more[slice(*span)] for span in more], [pair.less[slice(*span)] for span in less]
    blocks = SequenceMatcher(None, words[0], words[1], autojunk=False).get_matching_blocks()
    return [(more[b.a + step], less[b.b + step]) for b in blocks for step in range(b.size)]


def changed_words(pair: Pair) -> set[str]:
    """The words in which the sentences differ, in lower case."""
    shared = list(zip(*shared_words(pair), strict=True)) or [(), ()]
    return {
        text[slice(*span)].lower()
        for text, kept in zip((pair.more, pair.less), shared, strict=True)
        for span in _spans(text)
        if span not in kept
    }


def _spans(text: str) -> list[Span]:
    return [match.span() for match in _WORD.finditer(text)]


def _contributions(text: str, score: SentenceScore, lm: TextModel) -> Mapping[Span, float]:
    """Contribution of each word's tokens to the score of its sentence."""
    by_position = dict(zip(score.positions, score.logprobs.tolist(), strict=True))
    offsets = lm.offsets(text)
    return {
        span: sum(
            value
            for position, value in by_position.items()
            if offsets[position][0] < span[1] and offsets[position][1] > span[0]
        )
        for span in _spans(text)
    }
