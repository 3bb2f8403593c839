"""The settings of counting words and of measuring the effect of a corpus on a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unmask.core.errors import DataError
from unmask.core.options import OptionGroup, option
from unmask.training.spec import TrainSettings

Files = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class TermSettings(OptionGroup):
    """Which two sets of words are looked for."""

    terms: Path | None = option(None, "CSV with two columns of words to count.", shown="built-in word pairs")
    lists: tuple[Path, Path] | None = option(None, "Two files with one word per line, instead of terms.")
    names: tuple[str, str] | None = option(None, "Names of the two sets.", shown="their columns or files")
    whitespace: bool = option(
        False, "Split words at white space only, not at punctuation; close to Kaneko et al. (2022)."
    )

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        super().__post_init__()
        if self.terms is not None and self.lists is not None:
            raise DataError("terms and lists exclude each other: give one of them")


@dataclass(frozen=True)
class CountSettings(TermSettings):
    """Which words are counted, and how."""

    professions: bool = option(True, "Do not count professions in the same sentence.", flag="--no-professions")
    per_document: Path | None = option(None, "Also write the counts per document to this .csv or .parquet file.")
    processes: int | None = option(None, "Number of processes.", shown="one per core", least=1)


@dataclass(frozen=True)
class FlagSettings(TermSettings):
    """Which sentences are flagged, and where they are written."""

    lexicon: Path | None = option(
        None, "Attributes: CSV of word and group, or one word per line.", shown="165 occupations"
    )
    table: Path | None = option(None, "Sentences, .csv or .parquet.", shown="sentences.csv in the result folder")
    most: int | None = option(None, "Write at most N sentences; all are counted.", least=1)


@dataclass(frozen=True)
class EffectSettings(TrainSettings):
    """Further training of a model on a corpus: one epoch."""

    seeds: int = option(
        1, "Trainings on the corpus and on the placebo, with consecutive seeds; p-values need 2, 5 are advised.",
        least=1, most=1_000,
    )  # fmt: skip
    epochs: float = option(1.0, "Number of epochs.")
    length: int = option(128, "Tokens per training sequence.", least=1)


@dataclass(frozen=True)
class EmbeddingSettings(OptionGroup):
    """How word vectors are trained on a corpus: word2vec with negative sampling."""

    algorithm: Literal["skip-gram", "cbow"] = option("skip-gram", "skip-gram or cbow.")
    size: int = option(100, "Dimensions of a vector.", least=2, most=2_000)
    window: int = option(5, "Words of context on either side.", least=1, most=1_000)
    negative: int = option(5, "Negative samples per word.", least=1, most=1_000)
    min_count: int = option(5, "Words that occur less often have no vector.", least=1)
    epochs: int = option(5, "Number of epochs.", least=1, most=10_000)
    seeds: int = option(3, "Trainings, with consecutive seeds.", least=1, most=1_000)
    bootstrap: bool = option(False, "Train each time on documents drawn at random, with replacement.")
