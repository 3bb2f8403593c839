"""Readers of task data: published files, the user's own, and what they refuse."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unmask.data import biasbios, nli, riddles, stsb
from unmask.data.examples import lying, own, published
from unmask.errors import DataError


def test_stsb_as_published(published: Path) -> None:
    files = published(stsb.CARD, data_dir=published)
    parts = [stsb.load(file) for file in files]
    assert [len(part) for part in parts] == [5749, 1500, 1379]
    assert all(file.verified for file in files)
    first = parts[1][0]
    assert (first.text, first.second, first.label) == (
        "A man with a hard hat is dancing.",
        "A man wearing a hard hat is dancing.",
        5.0,
    )


def test_own_similarities(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text('sentence1,sentence2,score\n"A, b",c,2.5\n', encoding="utf-8")
    (one,) = stsb.load(own(path))
    assert (one.text, one.second, one.label) == ("A, b", "c", 2.5)
    path.write_text("sentence1,sentence2,score\na,b,7\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"row 0 \(from 0\): score 7, expected a number from 0 to 5"):
        stsb.load(own(path))
    path.write_text("sentence1,sentence2,score\na,b,high\n", encoding="utf-8")
    with pytest.raises(DataError, match="score 'high'"):
        stsb.load(own(path))
    path.write_text("one,two\na,b\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column score or similarity or label; found one, two"):
        stsb.load(own(path))


def test_nli_as_published(published: Path) -> None:
    parts = [nli.load(file) for file in published(nli.CARD, data_dir=published)]
    assert [len(part) for part in parts] == [8330, 1000, 2000]
    place = lying(nli.MNLI_DEV, data_dir=published)
    assert place is not None
    assert len(nli.load(own(place))) == 9815


def test_own_inferences(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [
        {"premise": "p", "hypothesis": "h", "label": 2},
        {"premise": "p", "hypothesis": "h", "label": "Neutral"},
        {"premise": "p", "hypothesis": "h", "label": -1},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [one.label for one in nli.load(own(path))] == ["contradiction", "neutral"]
    path.write_text(json.dumps({"premise": "p", "hypothesis": "h", "label": "maybe"}), encoding="utf-8")
    with pytest.raises(DataError, match="label 'maybe', expected one of entailment, neutral, contradiction"):
        nli.load(own(path))
    ragged = tmp_path / "ragged.tsv"
    ragged.write_text("sentence1\tsentence2\tgold_label\na\tb\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: 2 fields, expected 3"):
        nli.load(own(ragged))


def test_winobias_riddles(published: Path) -> None:
    found, warnings = riddles.winobias(published(riddles.WINOBIAS, data_dir=published))
    assert len(found) + len(warnings) == 8 * 396
    assert len(warnings) == 5
    first = next(one for one in found if one.id == "type1.dev/0000/pro")
    assert first.text == "The developer argued with the designer because he did not like the design."
    assert (first.pronoun, first.gold, first.other) == ("he", "developer", "designer")
    assert all(one.pronoun.lower() in riddles.PRONOUNS for one in found)
    assert all(
        one.gold.lower() in one.text.lower() and one.other.lower() in one.text.lower() for one in found
    )


def test_winogender_riddles(published: Path) -> None:
    templates, stats = published(riddles.WINOGENDER, data_dir=published)
    women = riddles.shares(stats)
    assert women["technician"] == pytest.approx(0.4034)
    found = riddles.winogender(templates, women)
    assert len(found) == 360
    sentences = (published / "winogender" / "all_sentences.tsv").read_text(encoding="utf-8")
    assert all(f"\t{one.text}\n" in sentences for one in found)
    assert Counter(one.stereotype for one in found) == {"pro": 120, "anti": 120, "neutral": 120}
    # technicians are mostly men: `he` for the customer goes against the statistics of the occupation
    assert {one.groups["gender"]: one.stereotype for one in found[:3]} == {
        "male": "anti",
        "female": "pro",
        "neutral": "neutral",
    }


BIO = "She is a nurse in Leeds. She looks after children. Her patients like her."


def test_biographies_of_all_formats(tmp_path: Path) -> None:
    rows = [
        {"hard_text": "Text one.", "profession": 13, "gender": 1},
        {"hard_text": "Two.", "profession": 0, "gender": 0},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    (tmp_path / "more.jsonl").write_text(
        json.dumps({"bio": BIO, "title": "Yoga Teacher", "gender": "F"}), encoding="utf-8"
    )
    found = biasbios.load(biasbios.files(tmp_path, None))
    assert [(one.text, one.label, one.groups["gender"]) for one in found] == [
        ("She looks after children. Her patients like her.", "yoga_teacher", "female"),
        ("Text one.", "nurse", "female"),
        ("Two.", "accountant", "male"),
    ]


def test_a_pickle_is_read_only_where_that_was_allowed(tmp_path: Path) -> None:
    path = tmp_path / "BIOS.pkl"
    path.write_bytes(pickle.dumps([{"raw": BIO, "start_pos": 25, "title": "nurse", "gender": "F"}]))
    with pytest.raises(DataError, match="is a pickle, which can run code"):
        biasbios.load(biasbios.files(path, None))
    (one,) = biasbios.load(biasbios.files(path, None), allow_pickle=True)
    assert one.text == "She looks after children. Her patients like her."


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"hard_text": "x", "profession": 28, "gender": 0}, "profession 28, expected a number below 28"),
        ({"hard_text": "x", "profession": 1, "gender": "x"}, "gender 'x', expected F or M"),
        ({"hard_text": "x", "gender": "F"}, "no column profession or title or occupation"),
    ],
)
def test_bad_biographies(tmp_path: Path, row: dict[str, object], line: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(DataError, match=line):
        biasbios.load(biasbios.files(path, None))


def test_no_biographies_anywhere(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no biographies: looked for a folder biasbios"):
        biasbios.files(None, tmp_path)


def test_the_sample(published: Path) -> None:
    found = biasbios.load(biasbios.files(None, published))
    assert len(found) > 1200
    assert {one.label for one in found} == set(biasbios.PROFESSIONS)
    parts = Counter(biasbios.part_of(one.text) for one in found)
    assert 0.75 < parts["train"] / len(found) < 0.85
    assert parts["dev"] > 90 < parts["test"]


def test_scrubbing_and_the_first_sentence() -> None:
    scrub = biasbios.scrubber(["she", "her", "hers"])
    assert scrub("She said: hers, not here; HER.") == "_ said: _, not here; _."
    assert biasbios.without_first_sentence("Only one sentence.") == ""
    assert biasbios.without_first_sentence("A b. C d.") == "C d."


def test_files_of_tasks_are_fetched_by_name(published: Path, tmp_path: Path) -> None:
    from unmask import data

    for name in ("stsb", "nli-counterfactual", "winobias-riddles", "winogender-riddles"):
        paths = data.get(name, data_dir=published, offline=True)
        assert len(paths) == len(data.card(name).files)
        assert name not in data.names()
    with pytest.raises(DataError, match="run `unmask data get stsb`"):
        published(stsb.CARD, data_dir=tmp_path)
