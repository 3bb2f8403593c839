"""The language of data: what its card states, else what its script allows."""

from __future__ import annotations

from unmask.core.errors import DataError
from unmask.core.types import Dataset
from unmask.core.words import main_script

ENGLISH, LATIN = "en", "Latin"


def guess_language(data: Dataset) -> str:
    """The first language on the card; where none is stated English for Latin script, and nothing for another."""
    if data.card.languages:
        return data.card.languages[0]
    return ENGLISH if _script(data) in ("", LATIN) else ""


def language_of(data: Dataset, advice: str) -> str:
    """The same; DataError where nothing is known but another script than Latin."""
    language = guess_language(data)
    if not language:
        raise DataError(f"the language of {data.card.name} is not stated, and its script is {_script(data)}: {advice}")
    return language


def require_english(data: Dataset, what: str) -> None:
    """DataError if the data is in another language than `what` holds for."""
    language = language_of(data, f"{what} is for English")
    if language != ENGLISH and ENGLISH not in data.card.languages:
        raise DataError(f"{what} is for English, and {data.card.name} is in {language}: give English data")


def _script(data: Dataset) -> str:
    return main_script(text for item in data.items for text in (item.more, item.less))
