"""The types of vector measures: the measures, their settings, their input and their results."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unmask.core.estimate import Value
from unmask.core.options import MAX_SEED, OptionGroup, option

if TYPE_CHECKING:
    from unmask.vectors.directions import NeighbourBias, WordMean

Spread = Literal["sample", "population"]  # which standard deviation; published is the sample's
Pooling = Literal["first", "last", "mean", "mean-all"]


@dataclass(frozen=True, slots=True)
class VectorMeasure:
    """A vector measure: its name, input and citation."""

    name: str
    title: str
    reads: str  # one sentence: how to read a value
    asks: Literal["questions", "words"]
    models_only: bool
    citation: str  # BibTeX key in docs/references.bib


_TOWARDS = "above 0: the targets X lie nearer to the attributes A, and Y to B"
_ALONG = "how far words that should be neutral lie along the gender direction, 0 to 1"
_POINT = "above 0: the words point towards the first words of the pairs (men), in units of vector length"
_NEARER = "above 0: the words lie nearer to the mean of the first words of the pairs (men) than to that of the second"
_COMPANY = "above 0: words that lean towards men also have neighbours that do"
_UNEVEN = "at 0 all terms X and Y are equally negative for a classifier of the attributes, A positive and B negative"
_CEAT, _RIPA = "Association over contexts of a corpus", "Relational inner product association"
_DISTANCES = "azarpanah-farhadloo-2021-measuring"
_ALL = tuple(
    VectorMeasure(name, title, reads, "questions" if reads in (_TOWARDS, _UNEVEN) else "words", models_only, citation)
    for name, title, reads, models_only, citation in (
        ("weat", "Word association", _TOWARDS, False, "caliskan-etal-2017-semantics"),
        ("weat-euclidean", "Word association by Euclidean distance", _TOWARDS, False, _DISTANCES),
        ("weat-manhattan", "Word association by Manhattan distance", _TOWARDS, False, _DISTANCES),
        ("weat-mahalanobis", "Word association by Mahalanobis distance", _TOWARDS, False, _DISTANCES),
        ("seat", "Sentence association", _TOWARDS, True, "may-etal-2019-measuring"),
        ("cseat", "Association of words in sentences", _TOWARDS, True, "tan-celis-2019-assessing"),
        ("ceat", _CEAT, _TOWARDS, True, "guo-caliskan-2021-detecting"),
        ("rnsb", "Relative negative sentiment bias", _UNEVEN, False, "sweeney-najafian-2019-transparent"),
        ("direct-bias", "Direct bias", _ALONG, False, "bolukbasi-etal-2016-man"),
        ("ripa", _RIPA, _POINT, False, "ethayarajh-etal-2019-understanding"),
        ("rnd", "Relative norm distance", _NEARER, False, "garg-etal-2018-word"),
        ("knn-bias", "Company of nearest neighbours", _COMPANY, False, "gonen-goldberg-2019-lipstick"),
    )
)


@dataclass(frozen=True)
class VectorSettings(OptionGroup):
    """Settings of a run: everything but the vectors, the measures and the questions."""

    layer: int = option(-1, "Hidden layer of a model: 0 is the embedding layer, -1 the last.")
    pooling: Pooling | None = option(None, "first, last, mean or mean-all.", shown="as published")
    population: bool = option(False, "Use the population standard deviation instead of the sample one.")
    lower: bool = option(False, "Look words up in lower case (GloVe 6B).")
    words: Path | None = option(None, "Words that should be neutral, one per line.", shown="165 occupations")
    pairs: Path | None = option(None, "CSV of word pairs, masculine word first.", shown="Bolukbasi's ten pairs")
    k: int = option(100, "Neighbours per word (knn-bias).", flag="--neighbours", least=1)
    vocabulary: int | None = option(
        50_000,
        "Neighbours (knn-bias) and covariances (weat-mahalanobis) are of the first N words of the file.",
        least=2,
    )
    before: str | None = option(None, "Vectors before mitigation: words lean as they do there (knn-bias).")
    lexicon: tuple[Path, Path] | None = option(
        None, "Positive and negative words, one per line (rnsb).", shown="A and B of the question"
    )
    corpus: Path | None = option(None, "Text with one sentence per line (ceat).")
    each: int = option(100, "Sentences per word (ceat).", least=1)
    draws: int = option(10_000, "Samples of one context per word (ceat).", least=2, most=1_000_000)
    variance: Literal["published", "sampling"] = option(
        "published", "Variance of a sample (ceat): published or sampling."
    )
    seed: int = option(0, "Random seed (samples, partitions, bootstrap).", least=0, most=MAX_SEED)

    @property
    def deviation(self) -> Spread:
        """Which standard deviation."""
        return "population" if self.population else "sample"


@dataclass(frozen=True, slots=True)
class WordSets:
    """Input of the direction measures: words that should be neutral, and word pairs."""

    words: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    others: tuple[str, ...] = ()  # further candidate neighbours, for models (no fixed vocabulary)

    def lower(self) -> WordSets:
        """A lower-cased copy without duplicates."""
        words, others = (tuple(dict.fromkeys(map(str.lower, words))) for words in (self.words, self.others))
        return WordSets(words, tuple((a.lower(), b.lower()) for a, b in self.pairs), others)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTest:
    """Result of a measure for one question."""

    question: str
    effect: Value
    p: float
    left_out: tuple[str, ...] = ()  # words without a vector, or without a context


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutedTest(VectorTest):
    """One whose p is of a one-sided permutation test over partitions of the targets."""

    partitions: int  # including the observed one
    sizes: tuple[int, int, int, int]  # of X, Y, A, B

    @property
    def exact(self) -> bool:
        """Whether all partitions were enumerated."""
        return self.partitions == comb(sum(self.sizes[:2]), self.sizes[0])


@dataclass(frozen=True, slots=True)
class VectorResult:
    """Result of one measure: by question or over words, with the words that have no vector."""

    measure: VectorMeasure
    tests: tuple[VectorTest, ...] = ()  # by question, all of one kind
    word_means: tuple[tuple[str, WordMean], ...] = ()  # by name of the number
    neighbour_bias: NeighbourBias | None = None
    left_out: tuple[tuple[str, tuple[str, ...]], ...] = ()  # by question, or by kind of input
    unanswered: tuple[tuple[str, str], ...] = ()  # question, reason
    leans_of: str = ""  # the vectors that the leans of words come from
