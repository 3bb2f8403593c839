"""An opened language model: its tokenizer as measures see it, its network, and what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from unmask.core.errors import Unscorable
from unmask.core.types import Encoded, Kind
from unmask.models.network import Network

_REMEMBERED = 16384  # encoded texts


@dataclass(frozen=True)
class ModelFacts:
    """What a result records of the model; no path of the machine is in it."""

    id: str
    revision: str | None
    kind: Kind
    architecture: str
    parameters: int
    fingerprint: str  # of weights, configuration and special tokens: the same model, the same fingerprint
    dtype: str
    device: str
    max_length: int
    begin_rule: str  # causal: how the first token is scored
    built_in: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lm:
    """A language model that can be asked; satisfies `Reader`. Make one with `open_lm`."""

    tokenizer: Any
    network: Network
    facts: ModelFacts
    namespace: str  # readings of equal namespaces are interchangeable
    _encoded: dict[tuple[str, str | None], Encoded] = field(default_factory=dict, repr=False)

    @property
    def kind(self) -> Kind:
        """Masked or causal."""
        return self.facts.kind

    @cached_property
    def mask_id(self) -> int:
        """The mask token's id; -1 for a causal model."""
        return -1 if self.kind == "causal" else int(self.tokenizer.mask_token_id)

    @property
    def mask_token(self) -> str:
        """The mask as text; empty for a causal model."""
        return "" if self.kind == "causal" else str(self.tokenizer.mask_token)

    @cached_property
    def begin(self) -> int | None:
        """The begin-of-text token a causal model is fed first."""
        return self.tokenizer.bos_token_id  # type: ignore[no-any-return]

    @cached_property
    def start(self) -> int | None:
        """What StereoSet's rule conditions the first token on: begin-of-text, else end-of-text."""
        return self.tokenizer.eos_token_id if self.begin is None else self.begin

    @cached_property
    def marks_spaces(self) -> bool:
        """Does a word's first token differ after a space, as in byte-level BPE?"""
        spaced, plain = self.pieces(" a"), self.pieces("a")
        return spaced != plain and len(spaced) == 1

    @property
    def has_next_sentence_head(self) -> bool:
        """Can it judge whether one sentence follows another?"""
        return self.network.next_sentence is not None

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of the unknown token, where the tokenizer has one."""
        return self.tokenizer.unk_token_id  # type: ignore[no-any-return]

    def prime(self, texts: Sequence[str]) -> None:
        """Encode many texts in one go; `encode` then looks them up. The last few primings are remembered."""
        new = list(dict.fromkeys(text for text in texts if (text, None) not in self._encoded))
        for text, encoded in zip(new, self._encode_all(new) if new else (), strict=True):
            self._encoded[text, None] = encoded
        for key in list(self._encoded)[:-_REMEMBERED]:
            del self._encoded[key]

    def encode(self, text: str, second: str | None = None) -> Encoded:
        """The text as the model is fed it; with `second`, two segments whose content is the second's."""
        encoded = self._encoded.get((text, second))
        if encoded is None:
            encoded = self._encode_all([text])[0] if second is None else self._encode_two(text, second)
            self._encoded[text, second] = encoded
        if len(encoded.ids) > self.facts.max_length:
            raise Unscorable(f"too long: {len(encoded.ids)} tokens, the model takes {self.facts.max_length}")
        if not encoded.content:
            raise Unscorable("no text: the tokenizer finds no token in the sentence")
        return encoded

    def pieces(self, text: str) -> tuple[int, ...]:
        """The text's token ids without special tokens."""
        return tuple(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def text(self, ids: Sequence[int]) -> str:
        """Token ids as text."""
        return str(self.tokenizer.decode(list(ids)))

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Token ids as the tokenizer's own pieces."""
        return list(self.tokenizer.convert_ids_to_tokens(list(ids)))

    def token_positions(self, text: str, begin: int, end: int) -> tuple[int, ...]:
        """Positions in `encode(text)` of the tokens that some of these characters belong to."""
        return tuple(place for place, (a, b) in enumerate(self.offsets(text)) if a < end and b > begin)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """For every token of `encode(text)` where it begins and ends in the text; special tokens: nowhere."""
        if not self.tokenizer.is_fast:
            raise Unscorable("this tokenizer does not say where a token stands in the text")
        special = self.kind == "masked"
        encoded = self.tokenizer.backend_tokenizer.encode(text, add_special_tokens=special)
        front = [(0, 0)] if self.kind == "causal" and self.begin is not None else []
        return [*front, *encoded.offsets]

    def mask_positions(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Where the mask token stands."""
        return tuple(place for place, token in enumerate(ids) if token == self.mask_id)

    def _encode_all(self, texts: list[str]) -> list[Encoded]:
        if self.kind == "causal":
            front = () if self.begin is None else (self.begin,)
            rows = self._rows(texts, special=False)
            return [
                Encoded((*front, *ids), tuple(range(len(front), len(front) + len(ids)))) for ids, _ in rows
            ]
        return [
            Encoded(tuple(ids), tuple(place for place, one in enumerate(special) if not one))
            for ids, special in self._rows(texts, special=True)
        ]

    def _rows(self, texts: list[str], *, special: bool) -> list[tuple[list[int], list[int]]]:
        """Token ids and special-token marks of many texts; the Rust tokenizer is asked directly if any."""
        if self.tokenizer.is_fast:
            encoded = self.tokenizer.backend_tokenizer.encode_batch(texts, add_special_tokens=special)
            return [(one.ids, one.special_tokens_mask) for one in encoded]
        both = self.tokenizer(
            texts, add_special_tokens=special, return_special_tokens_mask=True, verbose=False
        )
        return list(zip(both["input_ids"], both["special_tokens_mask"], strict=True))

    def _encode_two(self, first: str, second: str) -> Encoded:
        if self.kind == "causal":
            before, both = self.encode(first).ids, self.encode(f"{first} {second}").ids
            shared = next(
                (i for i, (a, b) in enumerate(zip(before, both, strict=False)) if a != b), len(before)
            )
            return Encoded(both, tuple(range(shared, len(both))))
        pair = self.tokenizer(first, second, return_special_tokens_mask=True, verbose=False)
        special = pair["special_tokens_mask"]
        inner = next(place for place, one in enumerate(special[1:], start=1) if one)
        content = tuple(place for place, one in enumerate(special) if not one and place > inner)
        split = content[0] if content and any(pair.get("token_type_ids", ())) else 0
        return Encoded(tuple(pair["input_ids"]), content, split)
