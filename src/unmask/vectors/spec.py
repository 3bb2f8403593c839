"""The types of vector measures: the measures, their settings, their input and their results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unmask.core.options import check_values, option

if TYPE_CHECKING:
    from unmask.vectors.association import Association
    from unmask.vectors.ceat import CeatResult
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
_COMPANY = "above 0: words that lean towards men also have neighbours that do"
_CEAT, _RIPA = "Association over contexts of a corpus", "Relational inner product association"
_ALL = tuple(
    VectorMeasure(name, title, reads, "questions" if reads == _TOWARDS else "words", models_only, citation)
    for name, title, reads, models_only, citation in (
        ("weat", "Word association", _TOWARDS, False, "caliskan-etal-2017-semantics"),
        ("seat", "Sentence association", _TOWARDS, True, "may-etal-2019-measuring"),
        ("cseat", "Association of words in sentences", _TOWARDS, True, "tan-celis-2019-assessing"),
        ("ceat", _CEAT, _TOWARDS, True, "guo-caliskan-2021-detecting"),
        ("direct-bias", "Direct bias", _ALONG, False, "bolukbasi-etal-2016-man"),
        ("ripa", _RIPA, _POINT, False, "ethayarajh-etal-2019-understanding"),
        ("knn-bias", "Company of nearest neighbours", _COMPANY, False, "gonen-goldberg-2019-lipstick"),
    )
)


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """Settings of a run: everything but the vectors, the measures and the questions."""

    layer: int = option(-1, "Hidden layer of a model: 0 is the embedding layer, -1 the last.")
    pooling: Pooling | None = option(None, "first, last, mean or mean-all.", shown="as published")
    population: bool = option(False, "Use the population standard deviation instead of the sample one.")
    lower: bool = option(False, "Look words up in lower case (GloVe 6B).")
    words: Path | None = option(None, "Words that should be neutral, one per line.", shown="165 occupations")
    pairs: Path | None = option(None, "CSV of word pairs, masculine word first.", shown="Bolukbasi's ten pairs")
    k: int = option(100, "Neighbours per word (knn-bias).", flag="--neighbours", least=1)
    vocabulary: int | None = option(50_000, "Only the first N words of the file can be neighbours (knn-bias).", least=2)
    corpus: Path | None = option(None, "Text with one sentence per line (ceat).")
    each: int = option(100, "Sentences per word (ceat).", least=1)
    draws: int = option(10_000, "Samples of one context per word (ceat).", least=2)
    variance: Literal["published", "sampling"] = option(
        "published", "Variance of a sample (ceat): published or sampling."
    )
    seed: int = option(0, "Random seed (samples, partitions, bootstrap).", least=0)

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        check_values(self)

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


@dataclass(frozen=True, slots=True)
class VectorResult:
    """Result of one measure: by question or over words, with the words that have no vector."""

    measure: VectorMeasure
    tests: tuple[Association | CeatResult, ...] = ()  # by question
    word_means: tuple[tuple[str, WordMean], ...] = ()  # by name of the number
    neighbour_bias: NeighbourBias | None = None
    left_out: tuple[tuple[str, tuple[str, ...]], ...] = ()  # by question, or by kind of input
    unanswered: tuple[tuple[str, str], ...] = ()  # question, reason
