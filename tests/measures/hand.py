"""A reader made by hand: its tokens can be told from the text, so that every probe can be written down.

A word is split after every fourth letter: `doctor` is `doct` and `##or`; punctuation marks are tokens. A
masked reader puts `[CLS]` before and `[SEP]` after, a causal one `[BOS]` before, unless it has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace

import numpy as np

from unmask.core.errors import Unscorable
from unmask.core.types import Check, Encoded, Kind, Pair, Probe, Reading
from unmask.models.batches import Readings, Submission

CLS, SEP, MASK, BOS, EOS, UNKNOWN = "[CLS]", "[SEP]", "[MASK]", "[BOS]", "[EOS]", "[UNK]"
SPECIAL = (CLS, SEP, MASK, BOS, EOS, UNKNOWN)


class Hand:
    """Tokenizes by rule; with `spaced` a word after a space is another token: `_man`, else `man`."""

    def __init__(
        self,
        kind: Kind = "masked",
        *,
        begin: bool = True,
        end: bool = True,
        spaced: bool = False,
        next_sentence: bool = False,
        longest: int = 99,
    ) -> None:
        self.kind = kind
        self.spaced = spaced
        self.has_next_sentence_head = next_sentence
        self.longest = longest
        self.known = list(SPECIAL)
        self.mask_token = MASK if kind == "masked" else ""
        self.mask_id = self.id(MASK) if kind == "masked" else -1
        self.unknown_id = self.id(UNKNOWN)
        self.begin = self.id(BOS) if kind == "causal" and begin else None
        self.start = self.begin if self.begin is not None else self.id(EOS) if end else None
        self.marks_spaces = spaced
        self.facts = SimpleNamespace(architecture="HandForMaskedLM", kind=kind, dtype="fp32")
        self.primed: list[list[str]] = []
        self.texts: list[str] = []  # all that were encoded

    def opening_check(self) -> Check:
        return Check("lm-head", True, f"every weight of {self.facts.architecture} came from the checkpoint")

    def id(self, token: str) -> int:
        if token not in self.known:
            self.known.append(token)
        return self.known.index(token)

    def ids(self, *tokens: str) -> tuple[int, ...]:
        return tuple(map(self.id, tokens))

    def tokens(self, ids: Iterable[int]) -> list[str]:
        return [self.known[one] for one in ids]

    def prime(self, texts: Sequence[str], progress: object = None) -> None:
        self.primed.append(list(texts))

    def cut(self, text: str) -> list[tuple[str, int, int]]:
        """Every token with where it begins and ends in the text."""
        found = []
        for word in re.finditer(r"\[MASK\]|\[UNK\]|\w+|[^\w\s]", text):
            whole, at = word.group(), word.start()
            step = len(whole) if whole in SPECIAL else 4
            for begin in range(0, len(whole), step):
                piece = whole[begin : begin + step]
                after_space = self.spaced and text[at - 1 : at] == " " and whole not in SPECIAL
                front = "##" if begin else "_" if after_space else ""
                found.append((front + piece, at + begin, at + begin + len(piece)))
        return found

    def pieces(self, text: str) -> tuple[int, ...]:
        return self.ids(*(token for token, _, _ in self.cut(text)))

    def text(self, ids: Sequence[int]) -> str:
        tokens = self.tokens(ids)
        if self.spaced:
            return "".join(token.removeprefix("##").replace("_", " ") for token in tokens)
        return "".join(token[2:] if token.startswith("##") else f" {token}" for token in tokens).strip()

    def encode(self, text: str, second: str | None = None) -> Encoded:
        self.texts.append(text)
        first = self.pieces(text)
        if self.kind == "causal":
            front = () if self.begin is None else (self.begin,)
            rest = () if second is None else self.pieces(f" {second}")
            ids = (*front, *first, *rest)
            skipped = len(front) + (len(first) if second is not None else 0)
            content = tuple(range(skipped, len(ids)))
            split = 0
        elif second is None:
            ids, content, split = (self.id(CLS), *first, self.id(SEP)), tuple(range(1, len(first) + 1)), 0
        else:
            rest, split = self.pieces(second), len(first) + 2
            ids = (self.id(CLS), *first, self.id(SEP), *rest, self.id(SEP))
            content = tuple(range(split, split + len(rest)))
        if len(ids) > self.longest:
            raise Unscorable(f"too long: {len(ids)} tokens")
        if not content:
            raise Unscorable("no text")
        return Encoded(ids, content, split)

    def token_positions(self, text: str, begin: int, end: int) -> tuple[int, ...]:
        shift = self.encode(text).content[0]
        return tuple(at + shift for at, (_, a, b) in enumerate(self.cut(text)) if a < end and b > begin)

    def special_in(self, text: str) -> str:
        """The first special token that a text spells out: none is looked for."""
        return ""

    def mask_positions(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(at for at, one in enumerate(ids) if one == self.mask_id)

    def describe(self, probe: Probe) -> tuple[list[str], str]:
        """The tokens read and where, and the sentence with what is masked in brackets."""
        tokens = self.tokens(probe.ids)
        text = " ".join(f"<{token}>" if at in probe.masked else token for at, token in enumerate(tokens))
        return [f"{token}@{place}" for (place, _), token in zip(probe.reads, self.read(probe), strict=True)], text

    def read(self, probe: Probe) -> list[str]:
        return self.tokens(token for _, token in probe.reads)


def reading(*logprobs: float, ranks: Sequence[int] = (), received: Sequence[float] | None = None) -> Reading:
    """An answer with these log-probabilities."""
    places = np.array(ranks or [0] * len(logprobs), dtype=np.int64)
    attention = None if received is None else np.array(received)
    return Reading(np.array(logprobs), places, attention)


def readings(probes: Iterable[Probe], rule: Callable[[Probe], Reading]) -> Readings:
    """What an engine returns if the model answers by a rule."""
    asked = Submission(probes, mask=-1)
    for probe, number in asked.numbers.items():
        answer = rule(probe)
        begin = asked.begin_of_probe[number]
        places = asked.read_of_probe[begin : begin + len(probe.reads)]
        asked.logprobs[places], asked.ranks[places] = answer.logprobs, answer.ranks
        if answer.attention_received is not None:
            asked.receive(int(asked.input_of_probe[number]), answer.attention_received)
    return Readings(asked)


class RecordingEngine:
    """Stands in the engine's place: answers by a rule, and remembers what it was asked."""

    def __init__(self, lm: Hand, rule: Callable[[Probe], Reading], *, items: int = 1000, by_length: int = 1) -> None:
        self.lm, self.rule = lm, rule
        self.limits = SimpleNamespace(items=items, by_length=by_length)
        self.asked: list[list[Probe]] = []

    def submit(self, probes: Iterable[Probe], step: Callable[[float], None]) -> Callable[[], Readings]:
        wanted = list(probes)
        self.asked.append(list(dict.fromkeys(wanted)))
        step(0.5)
        step(1.0)
        return lambda: readings(wanted, self.rule)


def pair(more: str, less: str, unrelated: str | None = None, context: str | None = None, **groups: str) -> Pair:
    """An item of these sentences."""
    return Pair("made/0", more, less, unrelated, context, groups)
