"""Sentences would be missed, misread or misplaced in the table of flagged sentences if these failed."""

from __future__ import annotations

import csv
import gzip
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import unmask
from unmask.core.errors import DataError
from unmask.corpus import flagger as flags
from unmask.corpus.counting import TermCounter
from unmask.corpus.flagger import Flagger
from unmask.corpus.terms import builtin_terms, make_term_sets, with_lexicon
from unmask.data.documents import Document
from unmask.data.language import split_sentences

TEXT = """She is a nurse. He left!
"The nurse told him." Dr. Jones saw her, the engineer, at 5 p.m. yesterday.
The engineers met. He and she are engineers. A cook came.

=cmd|' /C calc'!A0 said he to the nurse
Ångström knew that she was a nurse: 'naïve'.
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_sentences_with_a_group_and_an_attribute_are_written_with_their_place(tmp_path: Path) -> None:
    path = write(tmp_path / "text.txt", TEXT)
    result = unmask.corpus.flag(path, out=tmp_path / "out")
    rows = rows_of(tmp_path / "out" / "sentences.csv")
    found = [(row["document"], row["sentence"], row["attributes"], row["reading"]) for row in rows]
    assert found == [
        ("0", "She is a nurse.", "nurse", "stereotype"),
        ("1", '"The nurse told him.', "nurse", "counter"),
        ("1", "Dr. Jones saw her, the engineer, at 5 p.m. yesterday.", "engineer", "counter"),
        ("2", "He and she are engineers.", "engineer", "mixed"),
        ("3", "'=cmd|' /C calc'!A0 said he to the nurse", "nurse", "counter"),  # no formula for a spreadsheet
        ("4", "Ångström knew that she was a nurse: 'naïve'.", "nurse", "stereotype"),
    ]
    groups = [(row["feminine"], row["masculine"]) for row in rows]
    assert groups[:4] == [("she", ""), ("", "him"), ("her", ""), ("she", "he")]
    documents = [line for line in TEXT.split("\n") if line]
    for row in rows:
        text = row["sentence"].removeprefix("'") if row["sentence"].startswith("'=") else row["sentence"]
        assert documents[int(row["document"])][int(row["offset"]) :].startswith(text)
    counts = result.meta["details"]["counts"]
    assert (counts["stereotype"], counts["counter"], counts["flagged"]) == (2, 3, 6)
    by_name = {(each.statistic, each.group): each for each in result.estimates}
    assert by_name["stereotype-share", "all"].value == pytest.approx(2 / 5)
    assert by_name["stereotype-share", "all"].n == 5
    assert by_name["feminine-share", "attribute=nurse"].value == pytest.approx(2 / 4)
    assert unmask.load(tmp_path / "out").meta == result.meta
    again = unmask.corpus.flag(path, out=tmp_path / "out", most=1)
    assert len(rows_of(tmp_path / "out" / "sentences.csv")) == 1
    assert again.meta["details"]["counts"] == counts


def test_a_share_of_all_sentences_still_has_an_interval(tmp_path: Path) -> None:
    """Resampling documents that all follow the stereotype gives an interval without width."""
    path = write(tmp_path / "text.txt", "She is a nurse.\n" * 40)
    share = next(each for each in unmask.corpus.flag(path).estimates if each.statistic == "stereotype-share")
    assert (share.value, share.high) == (1.0, 1.0)
    assert 0.8 < share.low < 0.95


def reference(texts: list[str], groups: set[str], attributes: set[str]) -> list[tuple[int, str]]:
    """Document and sentence, by splitting and lower-casing: for words of ASCII letters."""
    found = []
    for number, text in enumerate(texts):
        for sentence in split_sentences(text):
            words = set(re.findall("[a-z]+", sentence.lower()))
            if words & attributes and words & groups:
                found.append((number, sentence))
    return found


def test_the_sentences_are_those_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches of a few documents, too: places and sentences must not depend on where a batch ends."""
    parts = ("He", "the tree", "she"), ("a nurse", "him", "it"), ("Mr. King", "the cook", "her nurse", "no one")
    texts = [f"{a} saw {b}. Then {c} slept! {b} left" for a in parts[0] for b in parts[1] for c in parts[2]]
    terms = make_term_sets(("f", "m"), (["she", "her"], ["he", "him"]), source="made", professions=False)
    counter = TermCounter(replace(terms, professions={"nurse": ("nurse",), "cook": ("cook",)}))
    expected = reference(texts, {"she", "her", "he", "him"}, {"nurse", "cook"})
    assert len(expected) > 10
    for size in (1, 40, 1 << 20):
        monkeypatch.setattr("unmask.corpus.counting._BATCH_BYTES", size)
        flagger = Flagger(counter, {})
        counts = flagger.empty()
        found = list(flagger.flag((Document(text, "made", row) for row, text in enumerate(texts)), counts))
        assert [(each.document, each.text) for each in found] == expected
        assert all(texts[each.document][each.offset :].startswith(each.text) for each in found)
        assert counts.totals == (0, 0, len(expected), sum(len(re.findall(r"\w+", text)) for text in texts))


def test_a_lexicon_says_of_whom_an_attribute_is_said(tmp_path: Path) -> None:
    path, text = (
        tmp_path / "text.txt.gz",
        "The women were hysterical.\nThe men were hysterical.\nHe is bossy, not she.\n",
    )
    path.write_bytes(gzip.compress(text.encode()))
    lexicon = write(tmp_path / "lexicon.csv", "word,group\nhysterical,feminine\nbossy,\nqueen,feminine\n")
    table = tmp_path / "t.parquet"
    result = unmask.corpus.flag(path, lexicon=lexicon, table=table)
    rows = pq.read_table(table).to_pylist()
    assert [(row["attributes"], row["reading"]) for row in rows] == [
        ("hysterical", "stereotype"),
        ("hysterical", "counter"),
        ("bossy", ""),
    ]
    assert "queen is a word of the two sets, so no attribute" in str(result.findings)
    words = write(tmp_path / "words.txt", "; comment\nbossy\n")
    assert unmask.corpus.flag(path, lexicon=words).meta["details"]["counts"]["flagged"] == 1


def test_occupations_are_said_of_the_majority_of_their_workers() -> None:
    _, expected = with_lexicon(builtin_terms(), None)
    assert (expected["nurse"], expected["carpenter"], "doctor" in expected) == (0, 1, False)
    other = make_term_sets(("young", "old"), (["boy"], ["grandpa"]), source="made")
    assert with_lexicon(other, None)[1] == {}


def test_a_long_line_is_cut_around_its_terms() -> None:
    text = f"{'word ' * 2_000}she is a nurse {'word ' * 2_000}"
    flagger = Flagger(TermCounter(builtin_terms()), {})
    (found,) = flagger.flag([Document(text, "made", 0)], flagger.empty())
    assert len(found.text) <= flags.MAX_SHOWN
    assert "she is a nurse" in found.text
    assert text[found.offset :].startswith(found.text)


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All sentences of a large corpus would have to fit into memory otherwise."""
    monkeypatch.setattr("unmask.corpus.counting._BATCH_BYTES", 1 << 14)
    peaks = []
    unmask.corpus.flag(write(tmp_path / "small.txt", "She is a nurse.\n"))  # caches
    for lines in (1_500, 4_500):
        path = write(tmp_path / "large.txt", "She is a nurse. The rain in Spain stays there.\n" * lines)
        tracemalloc.start()
        result = unmask.corpus.flag(path, table=tmp_path / "t.csv")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert result.meta["details"]["written"] == lines
    assert peaks[1] < 1.5 * peaks[0]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "text.txt", "She is a nurse.\n")
    for name, text, message in (
        ("a.csv", "word,group\nbossy,female\n", "line 2: found the group 'female', expected feminine or masculine"),
        ("b.csv", "attribute\nbossy\n", "expected a header with the columns word"),
        ("c.txt", "she\n", "no attributes"),
        ("d.txt", "x'''''x\n", "at most 4 apostrophes"),
    ):
        with pytest.raises(DataError, match=message):
            unmask.corpus.flag(path, lexicon=write(tmp_path / name, text))
    with pytest.raises(DataError, match=r"must end in .csv or .parquet"):
        unmask.corpus.flag(path, table=tmp_path / "t.txt")
    with pytest.raises(DataError, match="two columns of the table have one name"):
        unmask.corpus.flag(path, names=("file", "masculine"), table=tmp_path / "t.csv")
    with pytest.raises(DataError, match="no words in these files"):
        unmask.corpus.flag(write(tmp_path / "e.txt", "...\n"))
