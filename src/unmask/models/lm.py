"""Language models as scoring uses them: their tokens, and the metadata that results record.

`TextModel` is what every model can do, wherever its weights are; `Lm` is a model that is loaded here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Any, Literal, cast

from unmask.core.errors import DataError, ModelError, Unscorable
from unmask.core.progress import Step
from unmask.core.types import Check, Encoded, Kind

if TYPE_CHECKING:
    from unmask.models.answerer import Answerer
    from unmask.models.engine import Engine
    from unmask.models.fill import SlotPrediction
    from unmask.models.network import Network
    from unmask.models.store import Store

ModelKind = Kind | Literal["classifier", "encoder"]
FP32 = ("fp32", "float32")  # the dtype of a model that was opened, or made in memory
QUANTISED = ("int8", "int4")  # weights of another model than the original, which is computed in fp32
SERVED = "as served"  # the dtype of an endpoint, which does not tell it
NOT_FINITE = "the model's output is not finite (NaN or infinity)"
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

    @classmethod
    def of(cls, model: Any, tokenizer: Any, kind: ModelKind, **known: Any) -> ModelFacts:
        """The metadata of a model in memory: what can be read from it, and what is known otherwise."""
        if kind != "causal":
            begin_rule = "not a causal model"
        elif tokenizer.bos_token is None:
            begin_rule = "no begin-of-text token: the first token is context only"
        else:
            begin_rule = f"every sentence is preceded by {tokenizer.bos_token}"
        return cls(
            kind=kind,
            architecture=type(model).__name__,
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            max_length=max_length(model, tokenizer),
            begin_rule=begin_rule,
            **known,
        )


def max_length(model: Any, tokenizer: Any) -> int:
    """The longest input in tokens, special tokens included, that the model and its tokenizer take."""
    config = model.config
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    for name, table in model.named_modules():
        # RoBERTa and its relatives: position ids start after the padding index
        if name.endswith("position_embeddings") and getattr(table, "padding_idx", None) is not None:
            positions = table.num_embeddings - table.padding_idx - 1
    return int(min(positions or 10**9, tokenizer.model_max_length or 10**9, 10**9))


def refuse_bad_outputs(bad: int, total: int, what: str, facts: ModelFacts | None, *, share: float = 0.0) -> None:
    """Raise ModelError if more than this share of a model's outputs, named by `what`, is not finite."""
    if bad <= share * total:
        return
    model, dtype = ("the model", "") if facts is None else (facts.id, f" in {facts.dtype}")
    overflow = facts is not None and facts.dtype in ("fp16", "float16")
    advice = (
        "its activations overflow, use dtype fp32 or bf16"
        if overflow
        else "its weights are damaged, or it diverged in training; use another checkpoint"
    )
    raise ModelError(f"{bad:,} of {total:,} {what} of {model}{dtype} are not finite (NaN or infinity): {advice}")


@dataclass(frozen=True, eq=False, kw_only=True)  # hashable: each opened model is its own
class TextModel(ABC):
    """A language model that scores texts, a `Reader`; its weights may be elsewhere. Open one with `open_lm`."""

    facts: ModelFacts
    namespace: str  # readings of equal namespaces are interchangeable; empty: they change, and are not shared
    begin: int | None  # the begin-of-text token that precedes every input of a causal model
    start: int | None  # what StereoSet's rule conditions the first token on: begin-of-text, else end-of-text
    mask_id: int = -1  # -1 and no text for a causal model
    mask_token: str = ""
    unknown_id: int | None = None  # the unknown token, where one is known
    has_next_sentence_head: bool = False

    @property
    def kind(self) -> Kind:
        """Masked or causal."""
        return cast("Kind", self.facts.kind)

    @cached_property
    def marks_spaces(self) -> bool:
        """Whether a word's first token differs after a space, as in byte-level BPE."""
        spaced, plain = self.pieces(" a"), self.pieces("a")
        return spaced != plain and len(spaced) == 1

    @property
    def precisions(self) -> tuple[TextModel, ...]:
        """The same model in faster precisions, the fastest first, and itself last."""
        return (self,)

    def token_positions(self, text: str, begin: int, end: int) -> tuple[int, ...]:
        """Positions in `encode(text)` of the tokens that overlap these characters."""
        return tuple(position for position, (a, b) in enumerate(self.offsets(text)) if a < end and b > begin)

    def mask_positions(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Positions of the mask token."""
        return tuple(position for position, token in enumerate(ids) if token == self.mask_id)

    def special_in(self, text: str) -> str:
        """The first special token (`[MASK]`) that a text spells out and the tokenizer reads as such; empty if none."""
        return ""

    @abstractmethod
    def encode(self, text: str, second: str | None = None) -> Encoded:
        """The model input for a text; with `second`, a sentence pair whose content is the second text."""

    @abstractmethod
    def pieces(self, text: str) -> tuple[int, ...]:
        """The text's token ids without special tokens."""

    @abstractmethod
    def text(self, ids: Sequence[int]) -> str:
        """Token ids as text."""

    @abstractmethod
    def prime(self, texts: Sequence[str], progress: Step | None = None) -> None:
        """Encode many texts at once into the cache that `encode` reads; `progress` where that takes long."""

    @abstractmethod
    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Token ids as the tokenizer's own pieces."""

    @abstractmethod
    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Character spans of all tokens of `encode(text)`; (0, 0) for special tokens and those of a prefix."""

    @abstractmethod
    def opening_check(self) -> Check:
        """What was checked when the model was opened."""

    @abstractmethod
    def search_words(self, befores: Sequence[str], k: int, max_rows: int) -> tuple[SlotPrediction, ...]:
        """The k likeliest words after every text, of a causal model (`models.fill`)."""

    @abstractmethod
    def answerer(self, store: Store | None = None, *, tokens: int | None = None) -> Answerer:
        """What answers probes of this model; `tokens` limits the padded tokens of a batch."""

    def _encode_continuation(self, first: str, second: str) -> Encoded:
        """Both texts of a causal model, whose content are the tokens that the second adds."""
        before, both = self.encode(first).ids, self.encode(f"{first} {second}").ids
        shared = next((i for i, (a, b) in enumerate(zip(before, both, strict=False)) if a != b), len(before))
        return Encoded(both, tuple(range(shared, len(both))))


@dataclass(frozen=True, eq=False)
class Lm(TextModel):
    """A loaded language model: a tokenizer and a network.

    A `prefix` is read in front of every text, as a part of the same string. It is context: `content` are the tokens of
    the text, and character spans count from its beginning.
    """

    tokenizer: Any
    network: Network
    prefix: str = ""
    _encoded: dict[tuple[str, str | None], Encoded] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, tokenizer: Any, network: Network, facts: ModelFacts, namespace: str) -> Lm:
        """A model with the special tokens that its tokenizer names."""
        begin, mask = tokenizer.bos_token_id, tokenizer.mask_token_id
        has_mask = facts.kind == "masked" and mask is not None
        return cls(
            tokenizer,
            network,
            facts=facts,
            namespace=namespace,
            begin=begin,
            start=tokenizer.eos_token_id if begin is None else begin,
            mask_id=int(mask) if has_mask else -1,
            mask_token=str(tokenizer.mask_token) if has_mask else "",
            unknown_id=tokenizer.unk_token_id,
            has_next_sentence_head=network.next_sentence is not None,
        )

    def with_prefix(self, prefix: str) -> Lm:
        """The same model with a prefix, and a space unless it ends in white space; DataError without offsets."""
        if not self.tokenizer.is_fast:
            name = self.facts.id
            raise DataError(f"{name}: its tokenizer does not say which characters a token is, which a prefix needs")
        space = " " if prefix and not prefix[-1].isspace() else ""
        return replace(self, prefix=prefix + space, _encoded={})

    @property
    def precisions(self) -> tuple[Lm, ...]:
        """The same model in faster precisions, the fastest first, and itself last."""
        from unmask.models.precision import ladder

        return ladder(self)

    def opening_check(self) -> Check:
        """That every weight was in the checkpoint."""
        return Check("lm-head", True, f"every weight of {self.facts.architecture} came from the checkpoint")

    def answerer(self, store: Store | None = None, *, tokens: int | None = None) -> Engine:
        """An engine for this model."""
        from unmask.models.engine import Engine

        return Engine(self, store, tokens=tokens)

    def search_words(self, befores: Sequence[str], k: int, max_rows: int) -> tuple[SlotPrediction, ...]:
        """The k likeliest words after every text, by best-first search."""
        from unmask.models.fill import search_words

        return search_words(self, befores, k, max_rows)

    def prime(self, texts: Sequence[str], progress: Step | None = None) -> None:
        """Encode many texts at once into the cache that `encode` reads; the oldest entries are evicted."""
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

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Character spans of all tokens of `encode(text)`; (0, 0) for special tokens and those of the prefix."""
        begin = len(self.prefix)
        return [(max(0, a - begin), max(0, b - begin)) for a, b in self._spans(self.prefix + text)]

    def _spans(self, whole: str) -> list[tuple[int, int]]:
        if not self.tokenizer.is_fast:
            raise Unscorable("this tokenizer does not give character offsets of tokens")
        encoded = self.tokenizer.backend_tokenizer.encode(whole, add_special_tokens=self.kind == "masked")
        front = [(0, 0)] if self.kind == "causal" and self.begin is not None else []
        return [*front, *encoded.offsets]

    def special_in(self, text: str) -> str:
        """The first special token (`[MASK]`) that a text spells out and the tokenizer reads as such; empty if none."""
        spelt = [token for token in self._special_ids if token in text]
        ids = set(self.pieces(text)) if spelt else set()
        return min((token for token in spelt if self._special_ids[token] in ids), key=text.index, default="")

    @cached_property
    def _special_ids(self) -> Mapping[str, int]:
        """The ids of the special tokens by their text."""
        known = self.tokenizer.added_tokens_decoder.items()
        return {str(token): number for number, token in known if token.special and str(token).strip()}

    def _encode_all(self, texts: list[str]) -> list[Encoded]:
        wholes = [self.prefix + text for text in texts]
        rows = self._tokenize(wholes)
        front = (self.begin,) if self.kind == "causal" and self.begin is not None else ()
        encoded = [
            Encoded((*front, *ids), tuple(range(len(front), len(front) + len(ids))))
            if self.kind == "causal"
            else Encoded(tuple(ids), tuple(compress(range(len(ids)), map(not_, special))))
            for ids, special in rows
        ]
        return list(map(self._as_context, encoded, wholes)) if self.prefix else encoded

    def _tokenize(self, texts: list[str]) -> list[tuple[list[int], list[int]]]:
        """Token ids and special-token masks of many texts; uses the Rust tokenizer where there is one."""
        special = self.kind == "masked"
        if self.tokenizer.is_fast:
            encoded = self.tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=special)
            return [(encoding.ids, encoding.special_tokens_mask) for encoding in encoded]
        encoded = self.tokenizer(texts, add_special_tokens=special, return_special_tokens_mask=True, verbose=False)
        return list(zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True))

    def _as_context(self, encoded: Encoded, whole: str) -> Encoded:
        """An encoded prefix and text, with only the tokens of the text as its content."""
        spans, begin = self._spans(whole), len(self.prefix)
        if any(spans[at][0] < len(self.prefix.rstrip()) and spans[at][1] > begin for at in encoded.content):
            raise Unscorable("a token spans the end of the prefix and the beginning of the sentence")
        before = [at for at in encoded.content if spans[at][1] <= begin]
        content = tuple(at for at in encoded.content if spans[at][1] > begin)
        context = (before[0], before[-1] + 1) if before else (0, 0)
        return Encoded(encoded.ids, content, encoded.split, context)

    def _encode_pair(self, first: str, second: str) -> Encoded:
        if self.kind == "causal":
            return self._encode_continuation(first, second)
        pair = self.tokenizer(self.prefix + first, second, return_special_tokens_mask=True, verbose=False)
        special = pair["special_tokens_mask"]
        inner = next(position for position, flag in enumerate(special[1:], start=1) if flag)
        content = tuple(position for position, flag in enumerate(special) if not flag and position > inner)
        split = content[0] if content and any(pair.get("token_type_ids", ())) else 0
        return Encoded(tuple(pair["input_ids"]), content, split)
