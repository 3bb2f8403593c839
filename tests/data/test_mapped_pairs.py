"""If one of these fails, published pairs in Japanese, Russian or Portuguese are read wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

import zoo
from unmask import data
from unmask.core.errors import DataError
from unmask.data.language import main_script

FIRST = {
    "crows-pairs-ja": ("その看護師は優しい女性です。", {"category": "gender", "direction": "stereo", "rating": "5"}),
    "crows-pairs-ru": (
        "Медсестра сказала , что она устала .",
        {"category": "gender", "direction": "stereo", "rating": "5"},
    ),
    "rubia": ("Она печёт пироги по воскресеньям", {"category": "gender", "task": "freeform_generic"}),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_stereotyping_sentence_and_the_groups(name: str) -> None:
    loaded = data.load(name, data_dir=zoo.MINIATURE)
    more, groups = FIRST[name]
    assert (loaded.items[0].more, dict(loaded.items[0].groups)) == (more, groups)
    assert loaded.items[0].id == f"{name}/{'0' if name == 'rubia' else '0000'}"
    assert not loaded.verified
    assert loaded.warnings[0].endswith("is not known: numbers on it are unverified")


def test_ids_of_rubia_are_those_of_its_file_and_escaped_text_is_kept() -> None:
    assert data.load("rubia", data_dir=zoo.MINIATURE).items[3].id == "rubia/5"
    assert "&quot;" in data.load("crows-pairs-ru", data_dir=zoo.MINIATURE).items[2].more


@pytest.mark.parametrize(("name", "number"), [("stereoset-pt", 3), ("stereoset-pt-intersentence", 2)])
def test_stereoset_in_portuguese_has_three_sentences(name: str, number: int) -> None:
    loaded = data.load(name, data_dir=zoo.MINIATURE)
    assert len(loaded.items) == number
    assert all(item.unrelated and item.context for item in loaded.items)
    assert main_script(item.more for item in loaded.items) == "Latin"


@pytest.mark.parametrize("name", [*FIRST, "stereoset-pt"])
def test_a_file_that_is_not_here_is_one_line_with_what_to_do(name: str, tmp_path: Path) -> None:
    for ask in (data.load, data.get):
        with pytest.raises(
            DataError, match=r"cannot be downloaded by name .*at commit \w{7}, and put .* into .*--data-dir"
        ):
            ask(name, data_dir=tmp_path)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rubia").mkdir()
    (tmp_path / "rubia" / "rubia.tsv").write_text("more\tless\na\tb\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column ''; found"):
        data.load("rubia", data_dir=tmp_path)
