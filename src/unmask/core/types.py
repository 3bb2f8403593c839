"""The shared data types.

data ──► probes ──► engine ──► readings ──► measure ──► score table ──► estimates ──► result folder

All dataclasses are frozen. Conventions: natural logarithms; a positive difference is a preference for the
stereotype; side `more` is always the stereotyping sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"  # text: most that is listed here needs no numpy
Ints: TypeAlias = "NDArray[np.int64]"
Kind = Literal["masked", "causal"]
Side = Literal["more", "less", "unrelated"]
Outcome = Literal["more", "less", "tie", "unscored"]
SAME = "same_as"  # group of pairs some of which are equal: the id of the first pair with these sentences

# ------------------------------------------------------------------------------------------- data


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences about different groups; a StereoSet triple adds an unrelated third sentence.

    `groups` are the columns by which estimates can be split; `category`, `direction` (`stereo` or
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
        """The sentences by side; the unrelated one only if there is one."""
        both: dict[Side, str] = {"more": self.more, "less": self.less}
        return both if self.unrelated is None else {**both, "unrelated": self.unrelated}


@dataclass(frozen=True, slots=True)
class DataFile:
    """One original file of a dataset: name, URL (empty if a package ships it) and sha256."""

    name: str
    url: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Card:
    """The data card of a dataset: origin, licence, citation, size and known problems."""

    name: str  # "crows-pairs"
    title: str
    folder: str  # its folder below a data directory ("crows_pairs"), or in `package` for files without URL
    files: tuple[DataFile, ...]
    licence: str
    languages: tuple[str, ...]
    citation: str  # BibTeX
    source: str  # "nyu-mll/crows-pairs@8aaac11:data/crows_pairs_anonymized.csv"
    size: int  # number of items; 0 if it is not known
    problems: str
    package: str = "unmask.data"  # the package that ships its files without URL
    manual: str = ""  # how to get the files, if they cannot be downloaded by name; they have no checksum then
    hub: str = ""  # the repository of the same data on the Hugging Face hub, "owner/name"
    revision: str = ""  # of data read from the hub: the commit


@dataclass(frozen=True, slots=True)
class CardFact:
    """Something measured about a dataset, and the command that printed it."""

    about: str  # "reliability", "design effect", "smallest visible difference"
    value: str
    command: str
    date: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A loaded dataset: its card, its items, and whether the file is the published one."""

    card: Card
    items: tuple[Pair, ...]
    sha256: str
    verified: bool  # False: the file differs from the card's; the result says `unverified`
    warnings: tuple[str, ...] = ()  # e.g. malformed rows that were left out, with row numbers
    total: int | None = None  # of a subset: number of items of the whole dataset
    sides: tuple[str, str] | None = None  # of templates not about gender: the words of `more` and of `less`

    @property
    def whole_size(self) -> int:
        """Number of items of the whole dataset."""
        return len(self.items) if self.total is None else self.total

    def facts(self) -> dict[str, Any]:
        """What a result records about the data."""
        card = self.card
        return {
            "name": card.name,
            "title": card.title,
            "licence": card.licence,
            "languages": list(card.languages),
            "citation": card.citation,
            "source": card.source,
            **{name: value for name in ("hub", "revision") if (value := getattr(card, name))},
            "problems": card.problems,
            "n": len(self.items),
            **({} if self.total is None else {"subset_of": self.total}),
            **({} if self.sides is None else {"sides": list(self.sides)}),
            "size": card.size,
            "sha256": self.sha256,
            "verified": self.verified if card.folder else None,  # user data: no checksum to verify
            "warnings": list(self.warnings),
        }


# ------------------------------------------------------------------------ probes and readings


@dataclass(frozen=True)
class Encoded:
    """A text as the tokenizer encodes it for the model, special tokens included."""

    ids: tuple[int, ...]
    content: tuple[int, ...]  # positions of the text tokens, in order; of two texts, those of the second
    split: int = 0  # start of segment 1, for models with token type ids; else 0
    context: tuple[int, int] = (0, 0)  # positions from and to of a prefix: context, neither scored nor aligned

    @cached_property
    def own_reads(self) -> tuple[tuple[int, int], ...]:
        """Every content token read at its own position."""
        return tuple(zip(self.content, map(self.ids.__getitem__, self.content), strict=True))


class Probe(NamedTuple):
    """A query to the model: mask some positions of a sentence, read log-probabilities at others.

    With `one_at_a_time` the sentence is run once for every position in `masked`, with only that position
    masked, and each read is taken from the run in which its own position is masked. Otherwise it is run
    once with all of `masked` masked together (no masking if `masked` is empty).
    """

    ids: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]  # (position, token id)
    masked: tuple[int, ...] = ()
    one_at_a_time: bool = False
    attention: bool = False  # also return the mean attention every position receives
    split: int = 0
    head: Literal["lm", "next"] = "lm"  # `next`: the next-sentence head, with reads ((0, class),)

    def __hash__(self) -> int:
        """Enough to tell most probes apart: hashing the reads too takes several times as long."""
        return hash((self.ids, self.masked, self.attention))


@dataclass(frozen=True, slots=True)
class Reading:
    """The output of the model for one probe; arrays are aligned with `Probe.reads`."""

    logprobs: Floats
    ranks: Ints  # how many others are at least as likely at its position; 0: it alone is the most likely one
    attention_received: Floats | None = None  # per position of `Probe.ids`; sums to one
    known_finite: bool = False  # that every number is finite was checked already

    @property
    def is_finite(self) -> bool:
        """Whether every number is finite; only then do the log-probabilities and ranks mean anything."""
        if self.known_finite:
            return True
        import numpy as np

        weights = self.attention_received
        return bool(np.isfinite(self.logprobs).all() and (weights is None or np.isfinite(weights).all()))


@dataclass(frozen=True, slots=True)
class Columns:
    """What was read of many sentences, one after another."""

    logprobs: Floats
    ranks: Ints
    counts: Ints  # for each sentence, how many tokens were read
    received: Floats | None  # the attention received at the position of each read, if it was asked for

    def total(self, values: Floats) -> Floats:
        """The sum over each sentence of a value for each token."""
        import numpy as np

        sentence = np.repeat(np.arange(len(self.counts)), self.counts)
        return np.asarray(np.bincount(sentence, values, len(self.counts)), np.float64)

    def repeat(self, values: Floats) -> Floats:
        """A value for each sentence, repeated for each of its tokens."""
        import numpy as np

        return np.repeat(values, self.counts)


class Reader(Protocol):
    """The interface of a language model that measures use: its tokenizer, never its weights."""

    @property
    def kind(self) -> Kind:
        """Masked or causal."""

    @property
    def mask_token(self) -> str:
        """The mask token as text; empty for a causal model."""

    @property
    def begin(self) -> int | None:
        """The begin-of-text token id of a causal model, or None if it has none."""

    @property
    def start(self) -> int | None:
        """The token id before the first token by StereoSet's rule: begin-of-text, else end-of-text."""

    @property
    def marks_spaces(self) -> bool:
        """Whether the first token of a word differs after a space (byte-level BPE)."""

    @property
    def has_next_sentence_head(self) -> bool:
        """Whether the model has a next-sentence prediction head."""

    def encode(self, text: str, second: str | None = None) -> Encoded:
        """Encode one text, or two as segments, as model input; Unscorable if it is too long."""

    def pieces(self, text: str) -> tuple[int, ...]:
        """The token ids of a text without special tokens."""

    def text(self, ids: Sequence[int]) -> str:
        """Token ids as text."""

    def token_positions(self, text: str, begin: int, end: int) -> tuple[int, ...]:
        """Positions in `encode(text)` of the tokens of characters `begin` to `end`; Unscorable if unknown."""

    def mask_positions(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Positions of the mask token."""


# ---------------------------------------------------------------------------------------- scores


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """One measure's score of one sentence, and the tokens it is made of.

    `value` equals the sum of `weights * logprobs`, except for StereoSet's own measures and `ppd`, which are
    probabilities, and for `lpbs` of a causal model, which compares two sentences.
    """

    value: float
    positions: tuple[int, ...]
    logprobs: Floats
    weights: Floats
    tokens: tuple[int, ...] | None = None  # the token ids read, if not those of the sentence


@dataclass(frozen=True, slots=True)
class Published:
    """A published value for comparison."""

    value: float
    model: str
    data: str
    where: str  # "Kaneko & Bollegala 2022, Table 5"


Probes = Mapping[Side, tuple[Probe, ...]]
Summary = Literal["share", "magnitude", "lean", "association", "lms", "ss", "icat"]
ONE_TRAINING = "items only: one training"  # how the method of an interval ends that no other seed is part of
USUAL = "usual_gender"  # group of a template's word as a direction: `stereo` of men's professions, else `antistereo`
DESCRIPTIONS = ("near-zero",)  # recorded among the checks of a result, but without a verdict


@dataclass(frozen=True, slots=True)
class Measure:
    """A published measure: its probes, its score of one sentence, and how to interpret the result."""

    name: str
    title: str
    reads: str  # one plain sentence: the meaning of a value above the null
    kinds: tuple[Kind, ...]
    probes: Callable[[Pair, Reader], Probes]
    score: Callable[[Sequence[Probe], Sequence[Reading]], SentenceScore]
    citation: str  # BibTeX key in docs/references.bib
    summary: Summary = "share"
    null: float | None = 50.0  # expected value for a model without a preference
    needs: tuple[Literal["unrelated", "context", "target", "slot", "word"], ...] = ()
    in_nats: bool = False  # a difference is a difference of summed log-probabilities
    one_at_a_time: bool = False  # masks tokens one at a time: a forward pass for each
    reads_spans: bool = False  # reads the tokens that the two sentences share, or those they do not
    decimals: int | None = None  # scores are compared after rounding, as the published code does
    empty_span_loses: bool = False  # an empty span counts as a pair not won, as published
    baseline: bool = False  # reads no word of the sentences: no evidence of a preference, and not tested as one
    published: tuple[Published, ...] = ()

    @property
    def has_band(self) -> bool:
        """Whether its scores are log-probabilities, sums or means, so that differences inside `BAND` are small."""
        return self.summary in ("share", "magnitude")

    @property
    def resolution(self) -> float:
        """The last decimal of scores that are rounded before they are compared; 0 if they are not."""
        return 0.0 if self.decimals is None else 10.0**-self.decimals


@dataclass(frozen=True, slots=True)
class Row:
    """One item scored by one measure: a row of `items.parquet`."""

    measure: str
    data: str
    item: str
    groups: Mapping[str, str]
    scores: Mapping[Side, float]  # empty when unscored
    outcome: Outcome
    reason: str = ""
    precision: str = ""  # of its scores: fp32, tf32, fp16, bf16

    @property
    def difference(self) -> float:
        """Score of `more` minus score of `less`; NaN if unscored."""
        return self.scores["more"] - self.scores["less"] if self.scores else float("nan")


@dataclass(frozen=True, slots=True)
class Check:
    """A test that the model was loaded and scored correctly, or that the scores are meaningful."""

    name: str
    ok: bool
    detail: str
    measures: tuple[str, ...] = ()  # those that failed it; empty: it passed, or concerns all

    @property
    def is_description(self) -> bool:
        """Whether it only describes the scores: it has no verdict, and is not counted among the checks."""
        return self.name.rpartition("/")[2] in DESCRIPTIONS
