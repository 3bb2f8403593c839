"""Corpora of studies: sentences of several files, independent samples, samples of equal size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.studies.spec import PACKAGE
from unmask.studies.steps import mitigations
from unmask.studies.texts import select_corpus


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two tables of 100 documents of three sentences each."""
    for part in ("one", "two"):
        rows = [f"{part} number {row} came. He saw {part} {row}. She left {part} {row}." for row in range(100)]
        (tmp_path / f"{part}.tsv").write_text("\n".join(["Text", *rows]) + "\n")
    return [str(tmp_path / "one.tsv"), str(tmp_path / "two.tsv")]


def test_sentences_of_all_files_are_counted_not_documents(files: list[str]) -> None:
    chosen = {"column": "Text", "sentences": True}
    corpus = select_corpus(files, chosen, None)
    assert all(len(document) == 1 for document in corpus.documents)
    assert len(corpus.documents) + 3 * len(corpus.held_out) == 600
    assert [fact["name"] for fact in corpus.files] == ["one.tsv", "two.tsv"]
    sample = select_corpus(files, {**chosen, "limit": 40, "draw": [0, 0]}, None)
    assert len(sample.sentences) == 40
    assert {text.split()[0] for text in sample.sentences} > {"one", "two"}, "the first file alone"


def test_samples_of_a_learning_curve_are_independent(files: list[str]) -> None:
    def sample(draw: int, limit: int) -> set[str]:
        return set(
            select_corpus(
                files, {"column": "Text", "sentences": True, "limit": limit, "draw": [0, draw]}, None
            ).sentences
        )

    assert sample(0, 100) == sample(0, 100)
    assert sample(0, 100) != sample(1, 100)
    assert not sample(0, 100) <= sample(0, 200), "a smaller sample is a part of the larger one"


def test_a_sample_larger_than_the_corpus_is_refused(files: list[str]) -> None:
    with pytest.raises(DataError, match=r"a sample of 2,000 sentences was asked for, but one\.tsv, two\.tsv has 5\d\d"):
        select_corpus(files, {"column": "Text", "sentences": True, "limit": 2000, "draw": [0, 0]}, None)


def test_two_labels_give_equally_many_comments(tmp_path: Path) -> None:
    file = tmp_path / "train.csv"
    rows = [f"Comment number {row}.,1,{int(row % 4 == 0)}" for row in range(200)]
    file.write_text("\n".join(["comment_text,toxic,severe_toxic", *rows]) + "\n")
    severe = {"column": "comment_text", "only": ["severe_toxic", "1"]}
    toxic = {"column": "comment_text", "only": ["toxic", "1"], "as_many_as": ["severe_toxic", "1"], "draw": [0, 0]}
    few, equal = (select_corpus(str(file), chosen, None) for chosen in (severe, toxic))
    assert len(equal.documents) == len(few.documents) < 60
    assert set(equal.sentences) != set(few.sentences)


def test_forecast_of_training_counts_the_text_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("A line of text.\n" * 50_000)
    step = mitigations.step("m", "dropout", str(tmp_path / "long.txt"), model="builtin", corpus={}, train={}, seed=0)
    whole = mitigations.work_estimate(step).train_tokens
    limited = replace(step, parameters={**step.parameters, "corpus": {"limit": 500}})
    assert whole == 100 * mitigations.work_estimate(limited).train_tokens


def test_built_in_text_has_no_reminders_in_it() -> None:
    """A version with reminders is compared with one that was trained on this text."""
    trained = set(select_corpus(PACKAGE, {"sentences": True}, None).sentences)
    assert not trained & {reminder.sentence for reminder in datasets.read("reminders")}
