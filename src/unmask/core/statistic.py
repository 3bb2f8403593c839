"""What is known of a statistic, once: its unit, its scale, which way is worse, and what its value says.

Everything that shows, judges, compares or exports a number asks `statistic(name)`. Another package brings a statistic
through the entry point `unmask.statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from unmask.core.registry import Registry

LEVEL = 0.05  # of tests and intervals
FEW = 30  # items under which no verdict is given
BAND = 0.25  # nats per token; Kwon & Mihindukulasooriya (2022): smaller differences are nearly equal
BALANCED = "balanced-"  # prefix of a statistic: the mean over two directions, of pairs those of the stereotypes
OF_WORDS = "mean-word-"  # prefix of a statistic: the mean over words of the absolute lean of a word
CHANGE = "change"  # of any statistic between two runs

Better = Literal["nearer", "higher", "lower"]
Question = Literal["pairs", "slots", "other"]
Place = Literal["above", "within", "below", "ties", "too few", "no interval", "no null"]
UNLIMITED = (-math.inf, math.inf)
PERCENT = "%"
NATS = "nats"
OUT_OF_HUNDRED = "other scores out of 100; 100 is ideal"  # title of an axis

READINGS: Mapping[Place, str] = {  # what a value says by where its interval lies
    "above": "leans towards stereotypes",
    "within": "no preference found by this measure",
    "below": "leans against stereotypes",
    "ties": "most pairs are ties: no preference can be read",
    "too few": "too few items for a verdict",
    "no interval": "no interval could be computed: do not read a preference into it",
    "no null": "has no reference value to compare with",
}
SHORT: Mapping[Place, str] = {  # the same in a table
    "above": "towards stereotypes",
    "within": "no preference found",
    "below": "against stereotypes",
    "ties": "mostly ties",
    "too few": "too few items",
    "no interval": "no interval",
    "no null": "no reference value",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """One kind of number: how to show it, what it means, and how it is judged."""

    name: str
    words: str  # what it is, in one phrase
    unit: str = ""  # "%", "nats", "difference of probabilities", "standard deviations"
    amount: str = ""  # the unit after a number, where that of an axis does not fit: "of probability"
    digits: int = 3  # decimals shown
    null: float | None = 0.0  # the value of a model without the preference; a measure may have its own
    better: Better | None = "nearer"  # nearer to its reference value, higher or lower; None: it is not judged
    scale: tuple[float, float] = UNLIMITED  # the least and the most it can be
    bounded: bool = False  # the ends of its intervals lie on the scale too
    directed: bool = False  # the side of the reference value is that of the stereotype
    question: Question = "other"  # what it answers; only answers to the same question are said together
    preferred: tuple[str, str] | None = None  # of a share: what is preferred, and in what
    statement: str = ""  # what a headline says, with `{value}` and `{size}` (value, unit and interval)
    noun: str = ""  # what has changed or not; empty: its name
    moves: tuple[str, str] = ("{noun} is higher than before", "{noun} is lower than before")  # if it rose or fell
    panel: str = ""  # the title of an axis, which statistics share that have the same; empty: its words
    crossed: bool = False  # a mean over words × templates
    margin: float | None = None  # a worsening that nobody would call one; None: a tenth of an item's deviation
    needs_items: bool = True  # no verdict under `FEW` items
    readings: Mapping[Place, str] = field(default_factory=dict)  # its own words, instead of `READINGS`
    short: Mapping[Place, str] = field(default_factory=dict)  # and instead of `SHORT`

    @property
    def is_percent(self) -> bool:
        """Whether it is a percentage."""
        return self.unit == PERCENT

    @property
    def change_unit(self) -> str:
        """The unit of a difference of two of its values."""
        return "points" if self.is_percent else self.amount or self.unit

    @property
    def largest_worsening(self) -> float:
        """The largest possible worsening: from its reference value to the end of its scale."""
        least, most = self.scale
        if self.null is None or self.better != "nearer":
            return most - least
        return max(most - self.null, self.null - least)

    @property
    def is_balanced(self) -> bool:
        """Whether both directions count alike in it."""
        return self.name.startswith(BALANCED)

    def reading(self, place: Place, *, short: bool = False) -> str:
        """What a value says whose interval lies in this place; `{first}` and `{second}` are the sides of a slot."""
        special, usual = (self.short, SHORT) if short else (self.readings, READINGS)
        return special.get(place, usual[place])

    def axis(self, sides: tuple[str, str]) -> str:
        """The title of an axis, with what the sides of a slot are called."""
        title = self.panel or self.words
        return f"{title[:1].upper()}{title[1:]}".replace("{first}", sides[0]).replace("{second}", sides[1])


def _both_directions(plain: Statistic, words: str, **facts: object) -> Statistic:
    """The statistic that counts both directions alike."""
    return replace(plain, name=f"{BALANCED}{plain.name}", words=words, **facts)  # type: ignore[arg-type]


BIAS_SCORE = Statistic(
    name="bias-score",
    words="pairs in which the stereotyping sentence scores higher (%)",
    unit=PERCENT,
    digits=1,
    null=50.0,
    scale=(0.0, 100.0),
    bounded=True,
    directed=True,
    question="pairs",
    preferred=("the stereotyping sentence", "pairs"),
    noun="the share of stereotyping sentences",
    moves=(
        "the stereotyping sentence is preferred more often than before",
        "the stereotyping sentence is preferred less often than before",
    ),
    panel="share of pairs in which the stereotyping side is preferred (%)",
    margin=5.0,
)
BALANCED_SCORE = _both_directions(BIAS_SCORE, "the same share, both directions of the stereotypes counted alike (%)")
STEREO_SCORE = replace(BIAS_SCORE, name="stereo-score", words="the share among pairs that express a stereotype (%)")
ANTISTEREO_SCORE = replace(
    BIAS_SCORE, name="antistereo-score", words="the share among pairs that deny a stereotype (%)"
)
SS = replace(
    BIAS_SCORE,
    name="ss",
    words="stereotyping word preferred to the anti-stereotyping one, mean over target terms (%)",
    preferred=("the stereotyping word", "cases"),
    noun="the share of stereotyping words",
    moves=(
        "the stereotyping word is preferred more often than before",
        "the stereotyping word is preferred less often than before",
    ),
)
LMS = Statistic(
    name="lms",
    words="meaningful words preferred to unrelated ones, mean over target terms (%)",
    unit=PERCENT,
    digits=1,
    null=50.0,
    better="higher",
    scale=(0.0, 100.0),
    bounded=True,
    preferred=("a meaningful word to an unrelated one", "cases"),
    panel=OUT_OF_HUNDRED,
    margin=5.0,
    readings={
        "above": "prefers meaningful words to unrelated ones",
        "within": "meaningful and unrelated words are not distinguished",
        "below": "prefers unrelated words to meaningful ones",
    },
    short={"above": "words distinguished", "within": "words alike", "below": "words confused"},
)
ICAT = Statistic(
    name="icat",
    words="language modelling ability and absence of preference combined, out of 100",
    unit=PERCENT,
    digits=1,
    null=None,
    better="higher",
    scale=(0.0, 100.0),
    bounded=True,
    margin=5.0,
    statement="this model reaches {value} of 100 for language modelling without a preference",
    panel=OUT_OF_HUNDRED,
    readings={"no null": "100 would be perfect language modelling without a preference"},
    short={"no null": "100 is ideal"},
)
ASLD = Statistic(
    name="asld",
    words="mean absolute difference of the two sentences' scores (nats)",
    unit=NATS,
    better="lower",
    scale=(0.0, math.inf),
    needs_items=False,
    statement="the scores of the two sentences of a pair differ by {size} on average; this has no direction",
    noun="the size of differences",
    moves=("the scores of a pair differ more than before", "the scores of a pair differ less than before"),
    readings={
        "above": "mean size of the difference within a pair; it has no direction",
        "within": "no difference found by this measure",
    },
    short={"above": "has no direction", "within": "no difference found"},
)
MEAN_DIFFERENCE = Statistic(
    name="mean-difference",
    words="mean difference of the two sentences' scores",
    unit=NATS,
    directed=True,
    noun="the mean difference",
    moves=("scores moved towards the stereotyping sentence", "scores moved towards the other sentence"),
)
BALANCED_DIFFERENCE = _both_directions(
    MEAN_DIFFERENCE, "the same difference, both directions of the stereotypes counted alike"
)
_USUAL_GENDER: Mapping[str, object] = {
    "noun": "the mean towards the usual gender of professions",
    "moves": (
        "women's and men's professions, counted alike, lean more towards their usual gender than before",
        "women's and men's professions, counted alike, lean less towards their usual gender than before",
    ),
    "readings": {
        "above": "leans towards the usual gender of professions",
        "below": "leans against the usual gender of professions",
    },
    "short": {"above": "towards usual gender", "below": "against usual gender"},
}
_OF_SLOT: Mapping[Place, str] = {"above": "towards {first}", "below": "towards {second}"}
APPD = Statistic(
    name="appd",
    words="probability of the slot's first word minus that of the second, mean over templates and words",
    unit="difference of probabilities",
    amount="of probability",
    scale=(-1.0, 1.0),
    question="slots",
    crossed=True,
    margin=0.05,
    noun="the overall mean",
    moves=("the overall mean moved towards {first}", "the overall mean moved towards {second}"),
    panel="probability of {first} minus that of {second}, mean over templates and words",
    readings={"above": "leans towards {first}", "below": "leans towards {second}"},
    short=_OF_SLOT,
)
BALANCED_APPD = _both_directions(
    APPD,
    "the same towards the usual gender of a profession, women's and men's professions counted alike",
    **_USUAL_GENDER,
)
ASSOCIATION = Statistic(
    name="association",
    words="how much more a word raises the probability of the slot's first than of its second word (nats)",
    unit=NATS,
    question="slots",
    crossed=True,
    noun="the mean association",
    moves=("the mean association moved towards {first}", "the mean association moved towards {second}"),
    panel="how much more a word raises the probability of {first} than of {second} (nats)",
    readings={"above": "the words are associated with {first}", "below": "the words are associated with {second}"},
    short=_OF_SLOT,
)
BALANCED_ASSOCIATION = _both_directions(
    ASSOCIATION, "the same towards the usual gender of a profession, women's and men's alike (nats)", **_USUAL_GENDER
)
EFFECT_SIZE = Statistic(
    name="effect-size",
    words="mean association over words, in standard deviations",
    unit="standard deviations",
    question="slots",
    needs_items=False,
    readings=ASSOCIATION.readings,
    short=_OF_SLOT,
)
WORD_APPD = Statistic(
    name=f"{OF_WORDS}appd",
    words="size of a word's lean, whatever its direction, mean over words",
    unit=APPD.unit,
    null=None,
    better="lower",
    scale=(0.0, 1.0),
    margin=0.05,
    noun="how far single words lean",
    moves=("single words lean further than before", "single words lean less far than before"),
    readings={"no null": "mean size of a word's lean; it has no direction"},
    short={"no null": "has no direction"},
)
WORD_ASSOCIATION = replace(
    WORD_APPD,
    name=f"{OF_WORDS}association",
    words="size of a word's association, whatever its direction, mean over words (nats)",
    unit=NATS,
    scale=(0.0, math.inf),
    margin=None,
    readings={"no null": "mean size of a word's association; it has no direction"},
)
THIRD = Statistic(
    name="third",
    words="probability of a template's third word (they), mean over templates and words",
    unit="probability",
    null=None,
    better=None,
    scale=(0.0, 1.0),
)
DIRECTION_GAP = Statistic(
    name="direction-gap",
    words="difference of the scores of pairs about advantaged and about disadvantaged groups",
    unit=PERCENT,
    digits=1,
    scale=(0.0, 100.0),
    readings={
        "above": "scores differ between pairs about advantaged and disadvantaged groups",
        "within": "no difference found between pairs about advantaged and disadvantaged groups",
    },
)
KEPT_PERCENT = Statistic(
    name="kept-percent",
    words="decisions that stay the same (%)",
    unit=PERCENT,
    digits=1,
    null=None,
    better="higher",
    scale=(0.0, 100.0),
)
CHANGES = Statistic(
    name=CHANGE,
    words="change of a statistic between two runs",
    directed=True,
    needs_items=False,
    short={"above": "rose", "within": "no significant change", "below": "fell"},
)
_GAPS = tuple(
    Statistic(name=name, words=name, unit="difference of rates", scale=scale)
    for name, scale in (
        ("TPR gap, women − men", (-1.0, 1.0)),
        ("mean TPR gap, women − men", (-1.0, 1.0)),
        ("mean absolute TPR gap", (0.0, 1.0)),
        ("RMS TPR gap", (0.0, 1.0)),
    )
)
ACCURACY_GAP = Statistic(
    name="pro − anti accuracy, points",
    words="accuracy with the stereotype minus that against it",
    unit="points",
    digits=1,
    scale=(-100.0, 100.0),
)
_CORRELATIONS = tuple(
    Statistic(name=name, words=name, unit="correlation", better=None, scale=(-1.0, 1.0))
    for name in ("r with share of women", "correlation", "item-correlation", "rank-correlation", "spearman", "tau")
)
STATISTICS: Registry[Statistic] = Registry(
    "statistic", Statistic, home="unmask.core.statistic", group="unmask.statistics"
)


def statistic(name: str) -> Statistic:
    """The statistic of a name; one that is not registered has no direction, and a percentage ends in `, %`."""
    if name in STATISTICS:
        return STATISTICS[name]
    if name.endswith(", %"):
        return Statistic(name=name, words=name, unit=PERCENT, digits=1, null=None, scale=(0.0, 100.0), bounded=True)
    return Statistic(name=name, words=name, null=None)
