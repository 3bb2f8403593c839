"""What holds for all the data we wrote: always there, verified, unlike each other, and taken from nowhere."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from unmask import data
from unmask.core.errors import DataError
from unmask.data.files import sha256_of

from .conftest import replace_file
from .prose import OURS, all_sentences, words

BUILTIN = Path(data.__file__).parent / "builtin"


def length(name: str) -> int:
    """How many items or records there are."""
    if name in data.names():
        return len(data.load(name).items)
    found = data.read(name)
    return len(found) if isinstance(found, tuple) else sum(len(getattr(found, part)) for part in found.__slots__)


@pytest.mark.parametrize("name", [*OURS, *data.tables()])
def test_always_there_verified_and_of_the_size_its_card_says(name: str) -> None:
    card = data.card(name)
    (path,) = data.get(name, offline=True)
    assert path == BUILTIN / card.files[0].name
    assert sha256_of(path) == card.files[0].sha256
    assert length(name) == card.size


@pytest.mark.parametrize("name", OURS)
def test_nothing_to_warn_of(name: str) -> None:
    loaded = data.load(name, offline=True)
    assert loaded.verified
    assert loaded.warnings == ()


def test_no_file_ships_without_a_card() -> None:
    known = {data.card(name).files[0].name for name in (*OURS, "controls", *data.tables())}
    there = {path.name for path in BUILTIN.iterdir() if not path.name.startswith(".")}
    assert there == known | {"LICENSE.md"}
    licence = (BUILTIN / "LICENSE.md").read_text()
    assert all(f"`{name}`" in licence for name in known)


@pytest.mark.parametrize("name", [*OURS, "prompts", "word-pairs", "reminders"])
def test_what_we_wrote_is_under_one_licence_and_says_who_wrote_it(name: str) -> None:
    card = data.card(name)
    assert card.licence == "CC BY 4.0"
    assert "no annotators" in card.problems
    assert card.citation.startswith(f"@misc{{unmask-{name},\n")


def test_a_damaged_installation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nine-axes", "prompts"):
        replace_file(monkeypatch, name, sha256="0" * 64)
    with pytest.raises(DataError, match=r"not the published file of nine-axes.*install unmask again"):
        data.load("nine-axes")
    with pytest.raises(DataError, match=r"not the published file of prompts.*install unmask again"):
        data.read("prompts")


def test_no_sentence_stands_twice_in_any_two_files() -> None:
    owners = defaultdict(list)
    for owner, text in all_sentences():
        owners[" ".join(words(text))].append(owner)
    assert sum(map(len, owners.values())) == 2 * (360 + 360 + 2952 + 192 + 405 + 100) + 417 + 100
    assert {text: found for text, found in owners.items() if len(found) > 1} == {}


def find_copies(folder: Path, texts: list[str]) -> set[str]:
    """Those of the texts that stand in a file below the folder, whatever their capitals and punctuation.

    The first six words of each are looked up among all runs of six words; what is found is compared whole.
    """
    openings = defaultdict(set)
    for text in texts:
        found = words(text)
        openings[tuple(found[:6])].add(" ".join(found))
    hits: set[str] = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            said = words(path.read_text(encoding="utf-8", errors="ignore"))
            runs = set(zip(*(said[start:] for start in range(6)), strict=False)) & openings.keys()
            whole = " ".join(said) if runs else ""
            hits |= {text for run in runs for text in openings[run] if text in whole}
    return hits


def test_a_copied_sentence_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text('1,"The NURSE said, that she was late today."\n', encoding="utf-8")
    texts = ["The nurse said that she was late today.", "The nurse said that she was late again."]
    assert find_copies(tmp_path, texts) == {"the nurse said that she was late today"}


def sentences_of(folder: Path) -> list[str]:
    """What stands in the files of a data directory, without column names and labels."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md")
    found = [re.split(r'[\t\n"]|(?<=[.!?])\s', path.read_text(encoding="utf-8", errors="replace")) for path in files]
    texts = [re.sub(r"^\d+ ", "", part) for parts in found for part in parts]  # WinoBias numbers its lines
    return [text for text in texts if "_" not in text and "['" not in text]


def test_no_sentence_is_taken_from_a_published_dataset(miniature: Path, published: Path) -> None:
    parts = [part for _, text in all_sentences() for part in text.split("{slot}")]
    ours, small = ([text for text in texts if len(words(text)) >= 6] for texts in (parts, sentences_of(miniature)))
    assert len(ours) > 8000
    assert len(small) > 1200
    assert find_copies(published, [*ours, *small]) == set()
