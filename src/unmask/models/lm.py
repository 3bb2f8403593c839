"""A loaded language model: its tokenizer as measures use it, its network, and its metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from operator import not_
from typing import Any, Literal, cast

from unmask.core.errors import Unscorable
from unmask.core.progress import Step
from unmask.core.types import Check, Encoded, Kind
from unmask.models.network import Network

ModelKind = Kind | Literal["classifier", "encoder"]
_CACHED_TEXTS = 16384  # encodings kept in memory


def special_reason(token: str) -> str:
    """Why a text with this special token written in it is not scored."""
    return f"the item has {token} written in it, which this model reads as a special token"


@dataclass(frozen=True)
class ModelFacts:
    """The model metadata that results record; it contains no local path."""

    id: str
    revision: str | None
    kind: ModelKind
    architecture: str
    parameters: int | None  # None: not known, of an endpoint
    fingerprint: str  # content hash of weights, configuration and tokenizer
    dtype: str
    device: str
    max_length: int
    begin_rule: str  # causal: how the first token is scored
    built_in: bool
    warnings: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)  # what it was made from: a GGUF file, an adapter, …
    shortcuts: tuple[str, ...] = ()  # what `models.fast` replaces in its forward pass, without changing results


def max_length(model: Any, tokenizer: Any) -> int:
    """The longest input in tokens, special tokens included, that the model and its tokenizer take."""
    config = model.config
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    for name, table in model.named_modules():
        # RoBERTa and its relatives: position ids start after the padding index
        if name.endswith("position_embeddings") and getattr(table, "padding_idx", None) is not None:
            positions = table.num_embeddings - table.padding_idx - 1
    return int(min(positions or 10**9, tokenizer.model_max_length or 10**9, 10**9))


@dataclass(frozen=True, eq=False)  # hashable: each opened model is its own
class Lm:
    """A loaded language model; satisfies `Reader`. Create one with `open_lm`."""

    tokenizer: Any
    network: Network
    facts: ModelFacts
    namespace: str  # readings of equal namespaces are interchangeable
    _encoded: dict[tuple[str, str | None], Encoded] = field(default_factory=dict, repr=False)

    @property
    def kind(self) -> Kind:
        """Masked or causal."""
        return cast("Kind", self.facts.kind)

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
        """The id of the begin-of-text token that precedes every input of a causal model."""
        return self.tokenizer.bos_token_id  # type: ignore[no-any-return]

    @cached_property
    def start(self) -> int | None:
        """The token StereoSet's rule conditions the first token on: begin-of-text, else end-of-text."""
        return self.tokenizer.eos_token_id if self.begin is None else self.begin

    @cached_property
    def marks_spaces(self) -> bool:
        """Whether a word's first token differs after a space, as in byte-level BPE."""
        spaced, plain = self.pieces(" a"), self.pieces("a")
        return spaced != plain and len(spaced) == 1

    @property
    def search_words(self) -> Callable[[Sequence[str], int, int], tuple[Any, ...]] | None:
        """A model's own search for the likeliest words after texts, if it has one (`models.fill`)."""
        return None

    def opening_check(self) -> Check:
        """What was checked when the model was opened."""
        return Check("lm-head", True, f"every weight of {self.facts.architecture} came from the checkpoint")

    @property
    def has_next_sentence_head(self) -> bool:
        """Whether the model has a next-sentence-prediction head."""
        return self.network.next_sentence is not None

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of the unknown token, where the tokenizer has one."""
        return self.tokenizer.unk_token_id  # type: ignore[no-any-return]

    def prime(self, texts: Sequence[str], progress: Step | None = None) -> None:
        """Encode many texts at once into the cache that `encode` reads; the oldest entries are evicted.

        `progress` is for models that take long to answer (`endpoint.lm`).
        """
        new = list(dict.fromkeys(text for text in texts if (text, None) not in self._encoded))
        for text, encoded in zip(new, self._encode_all(new) if new else (), strict=True):
            self._encoded[text, None] = encoded
        for key in list(self._encoded)[:-_CACHED_TEXTS]:
            del self._encoded[key]

    def encode(self, text: str, second: str | None = None) -> Encoded:
        """The model input for a text; with `second`, a sentence pair whose content is the second text."""
        encoded = self._encoded.get((text, second))
        if encoded is None:
            encoded = self._encode_all([text])[0] if second is None else self._encode_pair(text, second)
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
        """Positions in `encode(text)` of the tokens that overlap these characters."""
        return tuple(position for position, (a, b) in enumerate(self.offsets(text)) if a < end and b > begin)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Character spans of all tokens of `encode(text)`; (0, 0) for special tokens."""
        if not self.tokenizer.is_fast:
            raise Unscorable("this tokenizer does not give character offsets of tokens")
        encoded = self.tokenizer.backend_tokenizer.encode(text, add_special_tokens=self.kind == "masked")
        front = [(0, 0)] if self.kind == "causal" and self.begin is not None else []
        return [*front, *encoded.offsets]

    def special_in(self, text: str) -> str:
        """The first special token (`[MASK]`) that a text spells out and the tokenizer reads as such; empty if none.

        Of an endpoint, whose tokenizer is not here, always empty.
        """
        if not any(first in text for first in self._first_letters):
            return ""
        spelt = [token for token in self._special_ids if token in text]
        ids = set(self.pieces(text)) if spelt else set()
        return min((each for each in spelt if self._special_ids[each] in ids), key=text.index, default="")

    @cached_property
    def _special_ids(self) -> Mapping[str, int]:
        """The ids of the special tokens by their text."""
        if self.tokenizer is None:
            return {}
        known = self.tokenizer.added_tokens_decoder.items()
        return {str(token): number for number, token in known if token.special and str(token).strip()}

    @cached_property
    def _first_letters(self) -> frozenset[str]:
        """With what their texts begin."""
        return frozenset(token[0] for token in self._special_ids)

    def mask_positions(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Positions of the mask token."""
        return tuple(position for position, token in enumerate(ids) if token == self.mask_id)

    def _encode_all(self, texts: list[str]) -> list[Encoded]:
        if self.kind == "causal":
            front = () if self.begin is None else (self.begin,)
            rows = self._tokenize(texts, special=False)
            return [Encoded((*front, *ids), tuple(range(len(front), len(front) + len(ids)))) for ids, _ in rows]
        return [
            Encoded(tuple(ids), tuple(compress(range(len(ids)), map(not_, special))))
            for ids, special in self._tokenize(texts, special=True)
        ]

    def _tokenize(self, texts: list[str], *, special: bool) -> list[tuple[list[int], list[int]]]:
        """Token ids and special-token masks of many texts; uses the Rust tokenizer where there is one."""
        if self.tokenizer.is_fast:
            encoded = self.tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=special)
            return [(encoding.ids, encoding.special_tokens_mask) for encoding in encoded]
        encoded = self.tokenizer(texts, add_special_tokens=special, return_special_tokens_mask=True, verbose=False)
        return list(zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True))

    def _encode_pair(self, first: str, second: str) -> Encoded:
        if self.kind == "causal":
            before, both = self.encode(first).ids, self.encode(f"{first} {second}").ids
            shared = next((i for i, (a, b) in enumerate(zip(before, both, strict=False)) if a != b), len(before))
            return Encoded(both, tuple(range(shared, len(both))))
        pair = self.tokenizer(first, second, return_special_tokens_mask=True, verbose=False)
        special = pair["special_tokens_mask"]
        inner = next(position for position, flag in enumerate(special[1:], start=1) if flag)
        content = tuple(position for position, flag in enumerate(special) if not flag and position > inner)
        split = content[0] if content and any(pair.get("token_type_ids", ())) else 0
        return Encoded(tuple(pair["input_ids"]), content, split)
