"""Every noun of the project on one page.

data ──► probes ──► engine ──► readings ──► measure ──► score table ──► estimates ──► result folder

All records are frozen. Signs and units are fixed: natural logarithms; a positive difference
leans towards the stereotype; side `more` is always the stereotyping sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Kind = Literal["masked", "causal"]
Side = Literal["more", "less", "unrelated"]
Outcome = Literal["more", "less", "tie", "unscored"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# ------------------------------------------------------------------------------------------- data


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences that differ in whom they speak of; a StereoSet triple adds the unrelated third.

    `groups` are the columns estimates can be split by; `category`, `direction` (`stereo` or
    `antistereo`: is the disadvantaged group in `more`?) and `target` have a fixed meaning. A pair with a
    `slot` is a filled template: `more` has the masculine word in it, `less` the feminine one.
    """

    id: str  # stable: "crows-pairs/0017" is the 0-based data row 17 of the original file
    more: str
    less: str
    unrelated: str | None = None
    context: str | None = None  # StereoSet: the sentence with BLANK, or the sentence before
    groups: Mapping[str, str] = field(default_factory=dict)

    def sides(self) -> dict[Side, str]:
        """The sentences by side, the unrelated one only where there is one."""
        both: dict[Side, str] = {"more": self.more, "less": self.less}
        return both if self.unrelated is None else {**both, "unrelated": self.unrelated}


@dataclass(frozen=True, slots=True)
class DataFile:
    """One original file of a dataset: its name, where it comes from, what it must hash to."""

    name: str
    url: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Card:
    """What one must know of a dataset before believing a number computed on it."""

    name: str  # "crows-pairs"
    title: str
    folder: str  # its folder below a data directory: "crows_pairs"
    files: tuple[DataFile, ...]
    licence: str
    languages: tuple[str, ...]
    citation: str  # BibTeX
    source: str  # "nyu-mll/crows-pairs@8aaac11:data/crows_pairs_anonymized.csv"
    size: int
    problems: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A loaded dataset: its card, its items, and whether the bytes read were the published ones."""

    card: Card
    items: tuple[Pair, ...]
    sha256: str
    verified: bool  # False: another file than the card's; the result says `unverified`
    warnings: tuple[str, ...] = ()  # e.g. malformed rows that were left out, with row numbers


# -------------------------------------------------------------------------- questions to a model


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text as the tokenizer encodes it for the model, special tokens included."""

    ids: tuple[int, ...]
    content: tuple[int, ...]  # positions of the tokens that are text, in order; of two texts, the second's
    split: int = 0  # where segment 1 begins, for models that tell two texts apart; else 0


@dataclass(frozen=True, slots=True)
class Probe:
    """One question: hide some positions of a sentence, read log-probabilities at others.

    With `one_at_a_time` the sentence is asked once for every position in `masked`, that one alone hidden,
    and each read is taken where its own position is hidden. Otherwise it is asked once with all of
    `masked` hidden together (nothing hidden when `masked` is empty).
    """

    ids: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]  # (position, token id)
    masked: tuple[int, ...] = ()
    one_at_a_time: bool = False
    attention: bool = False  # also bring back the mean attention every position receives
    split: int = 0
    head: Literal["lm", "next"] = "lm"  # `next`: the next-sentence head; its reads are ((0, class),)


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer to one probe; arrays run along `Probe.reads`."""

    logprobs: Floats
    ranks: Ints  # 0: the token read is the one the model finds likeliest there
    attention_received: Floats | None = None  # per position of `Probe.ids`; sums to one


class Reader(Protocol):
    """The face of a language model that measures see: its tokenizer, never its weights."""

    @property
    def kind(self) -> Kind:
        """Masked or causal."""

    @property
    def mask_token(self) -> str:
        """The mask as text; empty for a causal model."""

    @property
    def begin(self) -> int | None:
        """The begin-of-text token a causal model is fed first, or None where it has none."""

    @property
    def start(self) -> int | None:
        """What StereoSet's rule conditions the first token on: begin-of-text, else end-of-text."""

    @property
    def marks_spaces(self) -> bool:
        """Does a word's first token differ after a space (byte-level BPE)?"""

    @property
    def has_next_sentence_head(self) -> bool:
        """Can it judge whether one sentence follows another?"""

    def encode(self, text: str, second: str | None = None) -> Encoded:
        """The text (or two, as segments) as the model is fed it; Unscorable when it is too long."""

    def pieces(self, text: str) -> tuple[int, ...]:
        """The text's token ids without special tokens."""

    def text(self, ids: Sequence[int]) -> str:
        """Token ids as text."""

    def token_positions(self, text: str, begin: int, end: int) -> tuple[int, ...]:
        """Positions in `encode(text)` of the tokens of some characters; Unscorable when none can tell."""

    def mask_positions(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Where the mask token stands."""


# ---------------------------------------------------------------------------------------- scores


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """One measure's score of one sentence, and the tokens it is made of.

    `value` equals the sum of `weights * logprobs`, except for StereoSet's own measures and `ppd`, which are
    probabilities, and for `lpbs` of a causal model, which sets two sentences against each other.
    """

    value: float
    positions: tuple[int, ...]
    logprobs: Floats
    weights: Floats
    tokens: tuple[int, ...] | None = None  # the ids read, where positions are not the sentence's own


@dataclass(frozen=True, slots=True)
class Published:
    """A number from the literature, to be set beside ours."""

    value: float
    model: str
    data: str
    where: str  # "Kaneko & Bollegala 2022, Table 5"


Probes = Mapping[Side, tuple[Probe, ...]]
Summary = Literal["share", "magnitude", "lean", "association", "lms", "ss", "icat"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A published measure: what it asks, how it scores one sentence, and how to read the result."""

    name: str
    title: str
    reads: str  # one plain sentence: what a value above the null means
    kinds: tuple[Kind, ...]
    probes: Callable[[Pair, Reader], Probes]
    score: Callable[[Sequence[Probe], Sequence[Reading]], SentenceScore]
    citation: str  # BibTeX key in docs/references.bib
    summary: Summary = "share"
    null: float | None = 50.0  # the value a model without the preference would have
    needs: tuple[Literal["unrelated", "context", "target", "slot", "word"], ...] = ()
    in_nats: bool = False  # a difference is a difference of summed log-probabilities
    decimals: int | None = None  # scores are compared after rounding, as the published code does
    empty_span_loses: bool = False  # an empty span counts as a pair not won, as published
    published: tuple[Published, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One item under one measure: a line of `items.parquet`."""

    measure: str
    data: str
    item: str
    groups: Mapping[str, str]
    scores: Mapping[Side, float]  # empty when unscored
    outcome: Outcome
    reason: str = ""

    @property
    def difference(self) -> float:
        """Score of `more` minus score of `less`; NaN when unscored."""
        return self.scores["more"] - self.scores["less"] if self.scores else float("nan")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its uncertainty; `statistic` says which of a measure's numbers it is."""

    measure: str
    data: str
    group: str  # "all", or "category=gender"
    statistic: str  # "bias-score", "mean-difference", "asld", "lms", …
    value: float
    low: float
    high: float
    null: float | None
    n: int
    ties: int
    unscored: int
    method: str  # "wilson", "bca", …
    p: float | None = None  # against the null
    p_holm: float | None = None  # corrected over the categories of the same measure and data

    @property
    def signed(self) -> float | None:
        """Distance from the null, towards the stereotype when positive: the form of Kaneko et al. (2022)."""
        return None if self.null is None else self.value - self.null


@dataclass(frozen=True, slots=True)
class Check:
    """Evidence that the model was really read, or a warning that the number may not mean much."""

    name: str
    ok: bool
    detail: str
