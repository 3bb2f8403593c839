"""The settings of counting words and of measuring the effect of a corpus on a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.core.errors import DataError
from unmask.core.options import check_values, option
from unmask.training.spec import TrainSettings


@dataclass(frozen=True, slots=True)
class CountSettings:
    """Which words are counted, and how."""

    terms: Path | None = option(None, "CSV with two columns of words to count.", shown="built-in word pairs")
    lists: tuple[Path, Path] | None = option(None, "Two files with one word per line, instead of --terms.")
    names: tuple[str, str] | None = option(None, "Names of the two sets.", shown="their columns or files")
    professions: bool = option(True, "Do not count professions in the same sentence.", flag="--no-professions")
    whitespace: bool = option(
        False, "Split words at white space only, not at punctuation; close to Kaneko et al. (2022)."
    )
    per_document: Path | None = option(None, "Also write the counts per document to this .csv or .parquet file.")
    processes: int | None = option(None, "Number of processes.", shown="one per core", least=1)

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        check_values(self)
        if self.terms is not None and self.lists is not None:
            raise DataError("--terms and --lists exclude each other: give one of them")


@dataclass(frozen=True, slots=True)
class EffectSettings(TrainSettings):
    """Further training of a model on a corpus: one epoch."""

    epochs: float = option(1.0, "Number of epochs.")
    length: int = option(128, "Tokens per training sequence.", least=1)
