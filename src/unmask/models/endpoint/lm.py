"""A model behind an endpoint, as measures and the engine use it: texts go out, tokens with log-probabilities come in.

The tokenizer is the server's: a token's id is a number given to its text when it is first seen. The server cannot be
asked for anything but the tokens of a text, each after those before it; what else a probe asks is refused. Some texts
are asked a second time: a server that answers at random fails the check `contract`.
"""

from __future__ import annotations

import math
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from unmask.core.errors import ModelError, Unscorable, quote
from unmask.core.progress import Step
from unmask.core.types import Check, Encoded, Probe
from unmask.models.answerer import Answerer
from unmask.models.batches import BatchLimits, Readings, Submission
from unmask.models.endpoint.completions import (
    Answer,
    AnswerStore,
    Completion,
    Completions,
    ScoredToken,
    is_logprob,
    spell,
)
from unmask.models.endpoint.contract import TOLERANCE, Contract
from unmask.models.fill import SlotPrediction
from unmask.models.lm import TextModel
from unmask.models.store import Store

BEGIN = 0  # the id of what the server puts in front of a text
LEAST_REPEATED, REPEATED = 3, 0.01  # texts asked a second time: at least so many, and this share
MISSPELT = "the tokens of the server do not spell the sentence"
ITEMS = 128  # dataset items planned and scored together, at least
OTHER_START = "the server began the sentence otherwise than the known prompts"
ONLY = "an endpoint gives the log-probability of each token of a text given those before it, and nothing else"


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A text as the server encodes it, the characters of each token, and what it says of each."""

    encoded: Encoded
    spans: tuple[tuple[int, int], ...]
    scores: tuple[ScoredToken, ...]


@dataclass(slots=True)
class _Repeats:
    """How far the answers to texts that were asked a second time are apart."""

    texts: int = 0  # that were answered, of which some are asked again
    asked: int = 0
    apart: float = 0.0  # nats; infinite where the second answer has other tokens, or is none

    def detail(self) -> str:
        """Part of the line of a check."""
        if not self.asked:
            return "no text was asked a second time"
        if self.apart <= TOLERANCE:
            return f"{self.asked} texts asked a second time agree to {self.apart:.1g} nats"
        found = f"{self.apart:.3g} nats" if math.isfinite(self.apart) else "their tokens"
        return f"the answers to {self.asked} texts asked a second time differ by {found}, expected {TOLERANCE} at most"


@dataclass(frozen=True, eq=False)
class EndpointLm(TextModel):
    """A causal model behind an endpoint."""

    server: Completions
    contract: Contract
    sentences: dict[str, _Sentence | str] = field(default_factory=dict, repr=False)  # a string: why there is none
    scores: dict[tuple[int, ...], tuple[ScoredToken, ...]] = field(default_factory=dict, repr=False)
    _repeats: _Repeats = field(default_factory=_Repeats, repr=False)
    _ids: dict[str, int] = field(default_factory=dict, repr=False)
    _texts: list[str] = field(default_factory=lambda: [""], repr=False)  # by id
    _stores: list[Store] = field(default_factory=list, repr=False)  # the one in use is the last

    @property
    def store(self) -> Store:
        """Where answers are kept; the user's cache unless an engine was given another."""
        if not self._stores:
            store = Store.of(self.namespace)
            weakref.finalize(self, _close, store)
            self._stores.append(store)
        return self._stores[-1]

    def answerer(self, store: Store | None = None, *, tokens: int | None = None) -> EndpointAnswerer:
        """What answers probes of this model, and keeps answers in the store."""
        self._stores.append(store or Store(None))
        return EndpointAnswerer(self)

    def opening_check(self) -> Check:
        """What was found when the endpoint was opened, and when texts were asked a second time."""
        detail = f"{self.contract.detail()}; {self._repeats.detail()}"
        return Check("contract", self._repeats.apart <= TOLERANCE, detail)

    def search_words(self, befores: Sequence[str], k: int, max_rows: int) -> tuple[SlotPrediction, ...]:
        """The likeliest words after texts, by the likeliest tokens that the server gives."""
        from unmask.models.endpoint.words import search_words

        return search_words(self, befores, k, max_rows)

    def prime(self, texts: Sequence[str], progress: Step | None = None) -> None:
        """Ask the server for many texts at once; `progress` receives the share of them that was answered."""
        new = list(dict.fromkeys(text for text in texts if text not in self.sentences))
        empty = [text for text in new if not text]
        self.sentences.update(dict.fromkeys(empty, "no text: the tokenizer finds no token in the sentence"))
        asked = [text for text in new if text]
        answered: dict[str, Answer] = {}
        for done, (text, answer) in enumerate(self._answers(asked), 1):
            if progress is not None:
                progress(done / len(asked))
            found = answer if isinstance(answer, str) else self._sentence(text, answer)
            self.sentences[text] = found
            if isinstance(found, _Sentence):
                self.scores[found.encoded.ids] = found.scores
            if not isinstance(answer, str):
                answered[text] = answer
        self._ask_again(answered)

    def encode(self, text: str, second: str | None = None) -> Encoded:
        """The tokens of a text; with `second`, of both, whose content is the second."""
        return self._find(text).encoded if second is None else self._encode_continuation(text, second)

    def pieces(self, text: str) -> tuple[int, ...]:
        """The text's token ids without what the server puts in front."""
        encoded = self.encode(text)
        return tuple(encoded.ids[position] for position in encoded.content)

    def text(self, ids: Sequence[int]) -> str:
        """Token ids as text."""
        return "".join(self._texts[token] for token in ids)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Token ids as the server's tokens."""
        return [self._texts[token] if token != BEGIN else self.contract.begin or "" for token in ids]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Character spans of all tokens of `encode(text)`; (0, 0) for what the server puts in front."""
        front = [] if self.begin is None else [(0, 0)]
        return [*front, *self._find(text).spans]

    def _find(self, text: str) -> _Sentence:
        if text not in self.sentences:
            self.prime([text])
        found = self.sentences[text]
        if isinstance(found, str):
            raise Unscorable(found)
        return found

    def _answers(self, texts: Sequence[str]) -> Iterable[tuple[str, Answer | str]]:
        """The answers to texts, those of the store first."""
        kept = AnswerStore(self.store, "echo")
        known = kept.fetch(texts)
        yield from ((text, known[text]) for text in texts if text in known)
        for text, given in self.server.complete_all([text for text in texts if text not in known]):
            answer = given if isinstance(given, str) else echo_answer(text, given)
            if not isinstance(answer, str):
                kept.save({text: answer})
            yield text, answer

    def _ask_again(self, answers: Mapping[str, Answer]) -> None:
        """Ask some texts a second time, stored ones too, and record how far the answers are apart."""
        known = self._repeats
        known.texts += len(answers)
        due = max(LEAST_REPEATED, math.ceil(REPEATED * known.texts)) - known.asked
        texts = list(answers)[:: max(1, len(answers) // due)][:due] if due > 0 else []
        for text, given in self.server.complete_all(texts):
            again = given if isinstance(given, str) else echo_answer(text, given)
            known.asked += 1
            known.apart = max(known.apart, _distance(answers[text], again))

    def _sentence(self, text: str, answer: Answer) -> _Sentence | str:
        spelt = spell(
            text, Completion(tuple(token.text for token in answer), tuple(token.logprob for token in answer), ())
        )
        if spelt is None:
            return MISSPELT
        scores = answer[spelt.front : spelt.end]
        if (scores[0].logprob is None) != (self.begin is None):
            return OTHER_START
        front = () if self.begin is None else (BEGIN,)
        ids = (*front, *self._ids_of(text, scores, spelt.spans))
        content = tuple(range(len(front), len(ids)))
        return _Sentence(Encoded(ids, content), spelt.spans, ((*((ScoredToken("", None),) * len(front)), *scores)))

    def _ids_of(self, text: str, scores: Answer, spans: Sequence[tuple[int, int]]) -> Iterator[int]:
        """The ids of tokens; parts of characters, which have no text of their own, by the characters they spell."""
        number = 0
        for at, (score, (a, b)) in enumerate(zip(scores, spans, strict=True)):
            number = number + 1 if at and spans[at - 1] == (a, b) else 0
            whole = score.text.removeprefix(" ") == text[a:b].removeprefix(" ")
            yield (
                self.token_id(score.text)
                if whole
                else self.token_id(f"{text[a:b]}\0{number}", "" if number else text[a:b])
            )

    def token_id(self, token: str, text: str | None = None) -> int:
        """The number given to a token, and with it the text that it adds: by default its own."""
        if token not in self._ids:
            self._ids[token] = len(self._texts)
            self._texts.append(token if text is None else text)
        return self._ids[token]


def _close(store: Store) -> None:
    with suppress(sqlite3.ProgrammingError):  # of another thread, which is gone
        store.close()


def echo_answer(text: str, completion: Completion) -> Answer | str:
    """What an answer says about the tokens of the text, in the precision of the store; or why it says nothing."""
    spelt = spell(text, completion)
    if spelt is None:
        return MISSPELT
    for at, (token, value) in enumerate(zip(completion.tokens[: spelt.end], completion.logprobs, strict=False)):
        if not is_logprob(value) and (at > 0 or value is not None):  # the first has nothing before it
            found = "no log-probability" if value is None else f"the log-probability {value:g}"
            return f"the server gives {found} for {quote(token)}, expected a number below 0"
    return tuple(_scored(completion, at) for at in range(spelt.end))


def _scored(completion: Completion, at: int) -> ScoredToken:
    value, top = completion.logprobs[at], completion.top[at]
    if value is None:
        return ScoredToken(completion.tokens[at], None)
    is_first = bool(top) and value >= max(top.values()) - 1e-9
    return ScoredToken(completion.tokens[at], min(0.0, float(np.float32(value))), is_first)


def _distance(one: Answer, other: Answer | str) -> float:
    """The largest difference of two answers, in nats; infinite if they do not have the same tokens."""
    if isinstance(other, str) or [token.text for token in one] != [token.text for token in other]:
        return math.inf
    values = [(a.logprob, b.logprob) for a, b in zip(one, other, strict=True)]
    if any((a is None) != (b is None) for a, b in values):
        return math.inf
    return max((abs(a - b) for a, b in values if a is not None and b is not None), default=0.0)


class EndpointAnswerer(Answerer):
    """Answers probes with what the server said about the texts; each text is asked once."""

    def __init__(self, lm: EndpointLm) -> None:
        self.lm: EndpointLm = lm
        self.rows_run = 0
        items = max(ITEMS, 16 * lm.server.client.serving.parallel)
        self.limits = BatchLimits(tokens=0, padding=0, attention=0, items=items)

    def submit(self, probes: Iterable[Probe], progress: Step | None = None) -> Callable[[], Readings]:
        """Answer all probes; ModelError for what an endpoint cannot answer."""
        asked = Submission(probes, self.lm.mask_id)
        if asked.attention.any() or asked.is_next.any() or asked.alone.any():
            raise self._refusal()
        for read, (owner, position, token) in enumerate(
            zip(asked.read_input.tolist(), asked.read_position.tolist(), asked.read_token.tolist(), strict=True)
        ):
            ids = asked.inputs[owner][0]
            scores = self.lm.scores.get(ids)
            if scores is None or ids[position + 1 : position + 2] != (token,) or scores[position + 1].logprob is None:
                raise self._refusal()
            score = scores[position + 1]
            asked.logprobs[read], asked.ranks[read] = score.logprob, 0 if score.is_first else 1
        asked.is_read[:] = True
        self.rows_run += len(asked.inputs)
        if progress is not None:
            progress(1.0)
        return lambda: Readings(asked)

    def _refusal(self) -> ModelError:
        return ModelError(f"{self.lm.facts.id}: {ONLY}; use measures such as ll, cll and sld, or a local model")
