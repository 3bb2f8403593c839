"""Counts over files, against a plain loop; ILPS and its intervals, against slow arithmetic."""

from __future__ import annotations

import csv
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import beta, t

from unmask.core.errors import DataError
from unmask.core.options import TextLayout
from unmask.corpus import counting
from unmask.corpus.counting import GROUPS, TermCounter, add_counts, count_files
from unmask.corpus.ranges import document_starts, read_range
from unmask.corpus.ratios import ilps, word_share
from unmask.corpus.tables import document_writer
from unmask.corpus.terms import TermSets, builtin_terms, make_term_sets, plural, read_lists, read_terms
from unmask.data.language import split_sentences

TERMS = TermSets(
    ("f", "m"), (("she", "woman"), ("he", "man")), {"nurse": ("nurse", "nurses"), "cook": ("cook",)}, "here"
)
LINES = [
    "She is a nurse. He is not; the woman cooks.",
    "",
    "A man, a cook and he. The nurse and the cook saw her man! She?",
    "   ",
    "No words of either set here at all.",
    "Dr. Lee, a nurse, said he knew. nurses",
]


def slow(lines: list[str]) -> tuple[list[tuple[int, int, int]], dict[str, list[int]]]:
    """By document the words of both sets and all words; by profession its sentences, with f, with m."""
    rows, beside = [], {"nurse": [0, 0, 0], "cook": [0, 0, 0]}
    for line in lines:
        if not line.strip():
            continue
        words = re.findall(r"[^\W_]+", line.lower())
        rows.append((sum(w in ("she", "woman") for w in words), sum(w in ("he", "man") for w in words), len(words)))
        for sentence in split_sentences(line):
            inside = set(re.findall(r"[^\W_]+", sentence.lower()))
            for name, forms in TERMS.professions.items():
                if inside & set(forms):
                    sums = (1, bool(inside & {"she", "woman"}), bool(inside & {"he", "man"}))
                    beside[name] = [a + b for a, b in zip(beside[name], sums, strict=True)]
    return rows, beside


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


def test_counts_of_a_text_file_equal_a_plain_loop(text: Path) -> None:
    rows, beside = slow(LINES)
    found = count_files([text], TermCounter(TERMS))
    assert found.groups.tolist() == [list(row) for row in rows]
    assert (found.documents, found.words) == (4, sum(row[2] for row in rows))
    assert dict(zip(TERMS.professions, found.cooccurrences.tolist(), strict=True)) == beside
    assert dict(zip(("she", "woman", "he", "man"), found.terms.tolist(), strict=False)) == {
        "she": 2, "woman": 1, "he": 3, "man": 2,
    }  # fmt: skip


@pytest.mark.thorough
def test_parts_processes_and_formats_do_not_change_the_counts(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = tmp_path / "many.txt"
    many.write_text("\n".join(LINES * 700), encoding="utf-8")
    whole = count_files([many], TermCounter(TERMS))
    table = tmp_path / "many.csv"
    with table.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["text"], *([line] for line in LINES * 700)])
    assert count_files([table], TermCounter(TERMS)).cooccurrences.tolist() == whole.cooccurrences.tolist()
    monkeypatch.setattr("unmask.corpus.ranges.RANGE_BYTES", 5000)
    cut, apart = (count_files([many], TermCounter(TERMS)), count_files([many, text], TermCounter(TERMS), processes=2))
    for other, extra in ((cut, 0), (apart, 4)):
        assert other.documents == whole.documents + extra == 2800 + extra
        assert len(other.groups) == GROUPS
    assert cut.groups.sum(0).tolist() == whole.groups.sum(0).tolist()
    assert cut.terms.tolist() == whole.terms.tolist()
    assert cut.cooccurrences.tolist() == whole.cooccurrences.tolist()
    assert count_files([many, text], TermCounter(TERMS)).groups.tolist() == apart.groups.tolist()


def test_documents_are_assigned_to_groups_in_turn() -> None:
    counter = TermCounter(TERMS)
    lines = [b"she " * (n % 3) + b"he x" for n in range(2 * GROUPS + 5)]
    buffer = b"\n".join(lines)
    found = counter.count_buffer(buffer, document_starts(buffer, "line"))
    expected = [sum(n % 3 for n in range(group, 2 * GROUPS + 5, GROUPS)) for group in range(GROUPS)]
    assert found.groups[:, 0].tolist() == expected
    few = counter.count_buffer(b"she\nshe", np.array([0, 4]))
    both = add_counts(few, found)
    assert both.documents == 2 * GROUPS + 7
    assert both.groups.sum(0).tolist() == (few.groups.sum(0) + found.groups.sum(0)).tolist()
    assert len(add_counts(few, few).groups) == 4


def test_a_file_as_one_document(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.corpus.ranges.RANGE_BYTES", 40)
    other = tmp_path / "b.jsonl"
    other.write_text('"she"\n"he"\n', encoding="utf-8")
    found = count_files([text, other], TermCounter(TERMS, TextLayout(unit="file")))
    assert found.groups[:, :2].tolist() == [[3, 5], [1, 0], [0, 1]]


def test_parts_of_a_file_join_without_loss(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    raw = b"one\n\ntwo two\nthree\n\n\nfour\nfive"
    path.write_bytes(raw)
    for unit in ("line", "block"):
        for size in range(1, len(raw) + 1):
            cuts = [*range(0, len(raw), size), len(raw)]
            parts = [read_range(path, a, b, unit)[1] for a, b in pairwise(cuts)]  # type: ignore[arg-type]
            assert b"".join(parts) == raw
            assert sum(len(document_starts(part, unit)) for part in parts) == {"line": 5, "block": 3}[unit]  # type: ignore[arg-type]


def test_a_bad_byte_is_reported_by_its_offset_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a later range neither the row nor the offset from the cut would say where it is."""
    path, raw = tmp_path / "a.txt", b"She is here.\n" * 9 + b"He is caf\xe9.\n"
    path.write_bytes(raw)
    monkeypatch.setattr("unmask.corpus.ranges.RANGE_BYTES", 20)
    found = count_files([path], TermCounter(TERMS))
    place = f"a.txt, byte {raw.index(0xE9)} (from 0)"
    assert found.problems.first == [f"{place}: not UTF-8, and perhaps others after it"]


def test_file_names_that_look_like_formulas_are_none_in_the_table_of_documents(tmp_path: Path) -> None:
    path = tmp_path / "=1+1.txt"
    path.write_text("She is here.\n", encoding="utf-8")
    with document_writer(tmp_path / "d.csv", TERMS.names) as each:
        count_files([path], TermCounter(TERMS, per_document=True), on_part=each)
    (row,) = csv.DictReader((tmp_path / "d.csv").read_text(encoding="utf-8").splitlines())
    assert row["file"] == "'=1+1.txt"
    with pytest.raises(DataError, match="have one name"), document_writer(tmp_path / "d.csv", ("words", "m")):
        pass


def test_terms_that_would_take_for_ever_to_match_are_refused() -> None:
    for word in ("a" + "'" * 40, "a" * 300):
        with pytest.raises(DataError, match="expected words of at most 200 characters"):
            make_term_sets(("f", "m"), ([word], ["he"]), source="s")


def test_per_document_tables_hold_every_document(text: Path, tmp_path: Path) -> None:
    rows, _ = slow(LINES)
    for name in ("d.csv", "d.parquet"):
        with document_writer(tmp_path / name, TERMS.names) as each:
            count_files([text, text], TermCounter(TERMS, per_document=True), on_part=each)
    listed = list(csv.DictReader((tmp_path / "d.csv").read_text(encoding="utf-8").splitlines()))
    assert [tuple(int(one[key]) for key in ("f", "m", "words")) for one in listed] == rows * 2
    assert [one["document"] for one in listed] == list("01234567")  # one file, though named twice
    assert float(listed[0]["ilps"]) == pytest.approx(math.log(2 / 1))
    assert listed[2]["ilps"] == ""
    assert pq.read_table(tmp_path / "d.parquet").column("f").to_pylist() == [row[0] for row in rows * 2]
    with pytest.raises(DataError, match=r"\.csv or \.parquet"), document_writer(tmp_path / "d.txt", TERMS.names):
        pass


def test_one_document_has_the_exact_interval() -> None:
    found = ilps(np.array([[13, 21, 400]]))
    low, high = beta.ppf(0.025, 13, 22), beta.ppf(0.975, 14, 21)  # Clopper & Pearson of 13 of 34
    assert found.value == pytest.approx(math.log(13 / 21))
    assert (found.low, found.high) == pytest.approx((math.log(low / (1 - low)), math.log(high / (1 - high))))
    part = word_share(np.array([[13, 21, 400]]), 0)
    assert (part.value, part.low) == pytest.approx((13 / 400, beta.ppf(0.025, 13, 388)))


def test_few_documents_have_the_jackknife() -> None:
    rows = np.array([[3, 5, 50], [4, 4, 60], [1, 6, 40], [7, 9, 90], [2, 2, 30]])
    left = [math.log(np.delete(rows[:, 0], k).sum() / np.delete(rows[:, 1], k).sum()) for k in range(5)]
    error = math.sqrt(4 / 5 * sum((one - sum(left) / 5) ** 2 for one in left))
    found = ilps(rows)
    assert found.value == pytest.approx(math.log(17 / 26))
    assert found.high == pytest.approx(found.value + t.ppf(0.975, 4) * error)
    assert found.method == "jackknife t over 5 documents"


def test_many_documents_are_resampled_and_the_interval_covers() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(40):
        size = rng.poisson(20, 60)
        leans = rng.beta(6, 10, 60)  # documents differ: words of one are not independent
        first = rng.binomial(size, leans)
        found = ilps(np.stack([first, size - first, 10 * size], axis=1), seed=trial)
        hits += found.low <= math.log(6 / 10) <= found.high
    assert found.method == "bca over 60 documents"
    assert hits >= 34  # 40 × 0.95, less three standard errors


def test_without_words_of_a_set_there_is_no_ratio() -> None:
    found = ilps(np.array([[0, 4, 9], [0, 2, 9]]))
    assert math.isnan(found.value)
    assert found.method.startswith("no ratio")
    assert word_share(np.array([[0, 4, 9], [0, 2, 9]]), 0).value == 0


def test_term_sets_are_cleaned_and_bad_ones_refused(tmp_path: Path) -> None:
    sets = make_term_sets(
        ("f", "m"), (["she", "she's", "Ms.", "both", " aunt "], ["he", "step_father", "both"]), source="s"
    )
    assert sets.sets == (("she", "Ms", "aunt"), ("he", "step father"))
    assert sets.notes == ("in both sets, so in neither: both",)
    path = tmp_path / "t.csv"
    path.write_text("women,men\nshe,he\nher,\n", encoding="utf-8")
    assert read_terms(path).sets == (("she", "her"), ("he",))
    path.write_text("women\nshe\n", encoding="utf-8")
    with pytest.raises(DataError, match="two columns"):
        read_terms(path)
    with pytest.raises(DataError, match="no words of"):
        make_term_sets(("f", "m"), (["she"], []), source="s")
    with pytest.raises(DataError, match="the sets are called"):
        make_term_sets(("f", "f"), (["she"], ["he"]), source="s")
    with pytest.raises(DataError, match="does not exist"):
        read_lists(tmp_path / "none", path)


def test_builtin_terms_exclude_pairs_that_may_not_be_swapped() -> None:
    ours = builtin_terms()
    assert {"she", "her", "woman"} <= set(ours.sets[0])
    assert "god" not in ours.sets[1]
    assert "count" not in ours.sets[1]
    assert ours.professions["secretary"] == ("secretary", "secretaries")
    assert (plural("salesperson"), plural("coach"), plural("boy")) == ("salespeople", "coaches", "boys")


def test_nothing_to_count_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(DataError, match=r"no words in e\.txt"):
        count_files([tmp_path / "e.txt"], TermCounter(TERMS))


def test_columns_of_a_file_without_a_header_are_counted(miniature: Path) -> None:
    """Both sentences of every line of a file in STS-B's format, a lone quote among them."""
    lines = (miniature / "stsb" / "sts-train.csv").read_text(encoding="utf-8").splitlines()
    tokens = [token for line in lines for text in line.split("\t")[5:7] for token in text.lower().split()]
    lists = make_term_sets(
        ("women", "men"), (["woman", "girl", "her", "mother"], ["man", "boy", "his", "he"]), source="s"
    )
    path = miniature / "stsb" / "sts-train.csv"
    found = count_files([path], TermCounter(lists, TextLayout(("6", "7"), header=False), whitespace_only=True))
    assert found.documents == len(lines) == 60
    for side, words in enumerate(lists.sets):
        assert found.set_total(side) == sum(token in words for token in tokens) > 5


def test_the_paper_count_of_sts_b_is_met_within_one_percent(published: Path) -> None:
    """Kaneko et al. (2022), Table 1: 1,304 and 2,126 words; whitespace tokens of both training sentences."""
    lists = read_lists(*(published / "gn_glove" / f"{sex}_word_file.txt" for sex in ("female", "male")))
    layout = TextLayout(("6", "7"), header=False)
    found = count_files([published / "stsb" / "sts-train.csv"], TermCounter(lists, layout, whitespace_only=True))
    assert found.documents == 5749
    assert (found.set_total(0), found.set_total(1)) == pytest.approx((1304, 2126), rel=0.01)
    assert ilps(found.groups).value == pytest.approx(-0.489, abs=0.005)
    assert counting.GROUPS == 1000
