"""A language model with a prefix in front of every text: the prefix is context, its tokens are never scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unmask.core.errors import DataError, Unscorable
from unmask.core.types import Encoded
from unmask.models.lm import Lm


@dataclass(frozen=True, eq=False)
class PromptedLm(Lm):
    """A model that reads `prefix`, a space unless it ends in white space, and the text.

    Texts are encoded as part of the whole string, as a user would write it; `content` are the tokens of the text, and
    character spans count from its beginning.
    """

    prefix: str = ""

    @property
    def front(self) -> str:
        """The characters in front of every text."""
        return f"{self.prefix} " if self.prefix and not self.prefix[-1].isspace() else self.prefix

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Character spans of all tokens of `encode(text)`; (0, 0) for special tokens and those of the prefix."""
        begin = len(self.front)
        return [(max(0, a - begin), max(0, b - begin)) for a, b in super().offsets(self.front + text)]

    def _encode_all(self, texts: list[str]) -> list[Encoded]:
        wholes = super()._encode_all([self.front + text for text in texts])
        return [self._as_context(whole, text) for whole, text in zip(wholes, texts, strict=True)]

    def _encode_pair(self, first: str, second: str) -> Encoded:
        return super()._encode_pair(first if self.kind == "causal" else self.front + first, second)

    def _as_context(self, whole: Encoded, text: str) -> Encoded:
        """An encoded prefix and text, with only the tokens of the text as its content."""
        if not self.prefix:
            return whole
        begin = len(self.front)
        spans = Lm.offsets(self, self.front + text)
        if any(a < len(self.prefix.rstrip()) and b > begin for a, b in (spans[at] for at in whole.content)):
            raise Unscorable("a token spans the end of the prefix and the beginning of the sentence")
        inside = tuple(at for at in whole.content if spans[at][1] > begin)
        before = [at for at in whole.content if at not in set(inside)]
        context = (before[0], before[-1] + 1) if before else (0, 0)
        return Encoded(whole.ids, inside, whole.split, context)


def with_prefix(lm: Lm, prefix: str) -> PromptedLm:
    """The same model with a prefix; DataError if its tokenizer does not give character offsets."""
    tokenizer: Any = lm.tokenizer
    if not tokenizer.is_fast:
        raise DataError(f"{lm.facts.id}: its tokenizer does not say which characters a token is, which a prefix needs")
    return PromptedLm(tokenizer, lm.network, lm.facts, lm.namespace, prefix=prefix)
