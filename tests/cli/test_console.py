"""Options that take several values: what belongs to the option, and what is an argument of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.cli.console import repeat_options, split_names

CASES = {
    "measures, then the model": ("--measure cps aul model", "--measure cps --measure aul model"),
    "measures in a list": ("--measure cps pll,aul ./folder", "--measure cps --measure pll,aul ./folder"),
    "measures of vectors, questions and files of them": (
        "vectors --measure weat ripa --questions weat-6 mine.json builtin",
        "vectors --measure weat --measure ripa --questions weat-6 --questions mine.json builtin",
    ),
    "questions in sentences, of the package, and of files": (
        "--questions weat-6 weat-6-sentences religion-islam seat-6b sent-religion1 bert-base-cased",
        "--questions weat-6 --questions weat-6-sentences --questions religion-islam --questions seat-6b "
        "--questions sent-religion1 bert-base-cased",
    ),
    "vectors after a question": ("--questions weat-6 glove.txt", "--questions weat-6 glove.txt"),
    "datasets and files": (
        "--data crows-pairs my.csv my.yaml model cps",
        "--data crows-pairs --data my.csv --data my.yaml model cps",
    ),
    "a table is no dataset of pairs": ("--data nine-axes prompts", "--data nine-axes prompts"),
    "another option ends it": ("--measure cps --limit 3 aul", "--measure cps --limit 3 aul"),
    "texts": ("--corpus a.txt b.txt gone.txt", "--corpus a.txt --corpus b.txt gone.txt"),
}


@pytest.mark.parametrize("name", CASES)
def test_only_known_names_and_files_repeat_an_option(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("a.txt", "b.txt", "glove.txt"):
        Path(file).touch()
    given, expected = CASES[name]
    assert repeat_options(given.split()) == expected.split()


def test_names_in_lists_and_repeated_are_one_list() -> None:
    assert split_names(["cps,aul", "pll", ","]) == ["cps", "aul", "pll"]
    assert split_names(None) == []
