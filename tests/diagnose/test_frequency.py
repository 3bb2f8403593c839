"""`frequency`: words by group, counts of one's own, lines through frequency, against plain computations."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import zoo
from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.core.types import Dataset, Pair
from unmask.data.pairs import from_records
from unmask.diagnose.frequency import FREQUENCY
from unmask.diagnose.spec import published_value as printed_value
from unmask.diagnose.words import (
    AMBIGUOUS,
    GRAMMAR,
    GroupWord,
    changed_words,
    frequencies_for,
    mean_ranks,
    read_counts,
    top_words,
    words,
    words_by_group,
)
from unmask.studies.paper import PaperValue, load_paper

from .plainly import as_whole, crows, finding, rows_of, slow_outcome, slow_scores

CORPUS = {"the": 5000, "he": 900, "she": 450, "man": 300, "rich": 40, "poor": 55, "old": 210, "young": 190}


def printed_words() -> list[PaperValue]:
    """The words of Table 2; their measure names rank and group, such as `rank-1-advantaged`."""
    return load_paper("aul").of_item("table-2")


def pair(more: str, less: str, direction: str = "stereo", id: str = "p/0") -> Pair:
    return Pair(id, more, less, groups={"category": "x", "direction": direction})


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    return made_up(crows().items, tmp_path)


def made_up(items: Iterable[Pair], tmp_path: Path) -> Path:
    """Counts of the pairs' words: the more letters the rarer, and one word in seven not known."""
    found = sorted({word for item in items for side in item.sides().values() for word in plain(side)})
    path = tmp_path / "counts.csv"
    lines = [f"{word},{10**6 // len(word) ** 3 + place}" for place, word in enumerate(found) if place % 7]
    path.write_text("\n".join(["word,count", *lines]), encoding="utf-8")
    return path


def plain(text: str) -> list[str]:
    """Words by walking over the letters; nothing of the package is used."""
    out, word = [], ""
    for letter in text.lower().replace("’", "'") + " ":
        if letter.isalnum() or (letter == "'" and word):
            word += letter
        elif word:
            word = word.rstrip("'")
            out.append(word[:-2] if word.endswith("'s") else word)
            word = ""
    return out


def plainly_changed(first: str, second: str) -> tuple[list[str], list[str]]:
    """Words outside the blocks that difflib matches."""
    from difflib import SequenceMatcher

    a, b = plain(first), plain(second)
    kept_a, kept_b = set(), set()
    for block in SequenceMatcher(a=a, b=b).get_matching_blocks():
        kept_a |= set(range(block.a, block.a + block.size))
        kept_b |= set(range(block.b, block.b + block.size))
    return [w for i, w in enumerate(a) if i not in kept_a], [w for i, w in enumerate(b) if i not in kept_b]


# ------------------------------------------------------------------------------------------------ words


def test_words_are_lower_case_and_bare() -> None:
    assert words("The Well-known O'Neil's “dog”, isn’t it? 42_x") == [
        "the", "well", "known", "o'neil", "dog", "isn't", "it", "42", "x",
    ]  # fmt: skip


def test_changed_words_are_those_not_shared() -> None:
    assert changed_words("The old man slept.", "The young man slept!") == (["old"], ["young"])
    assert changed_words("She is very poor.", "She is poor.") == (["very"], [])
    assert changed_words("Same.", "same") == ([], [])


def test_words_go_to_the_group_the_direction_says() -> None:
    """`stereo`: the disadvantaged stand in `more`; `antistereo`: in `less`."""
    pairs = [
        pair("poor folk", "rich folk"),
        pair("the rich shout", "the poor shout", "antistereo"),
        pair("poor rich", "rich rich"),  # rich: three times advantaged, poor: three times disadvantaged
        pair("rich kin", "old kin"),  # rich once among the disadvantaged: it stays where it is more frequent
        *(pair("young ox", "ox ox"), pair("ox ox", "young ox")),
        pair("white hen", "a hen"),
    ]
    found = words_by_group(pairs, lambda word: math.log10(CORPUS.get(word, 1)))
    assert {(one.text, one.count) for one in found.advantaged} == {("rich", 4), ("old", 1)}
    assert {(one.text, one.count) for one in found.disadvantaged} == {("poor", 3)}
    assert [one.text for one in found.ambiguous] == ["white"]
    assert {one.text for one in found.tied} == {"young", "ox"}
    everywhere = (*found.advantaged, *found.disadvantaged, *found.ambiguous, *found.tied)
    assert "a" not in {one.text for one in everywhere}  # grammar


def test_the_four_most_changed_words_are_ranked_by_the_corpus() -> None:
    """Five of one group: the one changed least is not ranked, however frequent."""
    known = {"a1": -1, "a2": -5, "a3": -3, "a4": -7, "a5": 0, "d1": -2, "d2": -4}
    pairs = [pair(" ".join(["d1"] * 2), " ".join(["a1"] * 5)), pair("d2", "a2 a2 a3 a3 a4 a4 a5")]
    chosen = top_words(words_by_group(pairs, lambda word: float(known[word])))
    assert [word.text for word, _ in chosen] == ["a1", "d1", "a3", "d2", "a2", "a4"]
    assert mean_ranks(chosen) == {"advantaged": (1 + 3 + 5 + 6) / 4, "disadvantaged": (2 + 4) / 2}


def test_an_african_american_is_no_american_of_the_other_group() -> None:
    """Split in two, *american* would stand once in each group, and be advantaged in neither of both."""
    pairs = [
        pair("African-Americans work.", "Americans work."),
        pair("An African American's car.", "An American's car."),
        pair("The Asian American sang.", "The white American sang."),
    ]
    found = words_by_group(pairs, lambda _: -3.0)
    assert {(one.text, one.count) for one in found.advantaged} == {("american", 1), ("americans", 1)}
    assert {(one.text, one.count) for one in found.disadvantaged} == {("african", 2), ("asian", 1)}
    assert [one.text for one in found.ambiguous] == ["white"]
    assert words("Americans of African descent") == ["americans", "of", "african", "descent"]


def test_words_equally_often_in_both_groups_are_ranked_as_in_the_paper() -> None:
    """With the advantaged, and without them beside it."""
    pairs = [pair("doctor poor", "rich poor"), pair("rich ox", "doctor ox"), pair("poor hen", "wealthy hen")]
    known = {"doctor": -1.0, "rich": -4.0, "poor": -2.0, "wealthy": -3.0}
    groups = words_by_group(pairs, known.__getitem__)
    assert {one.text for one in groups.tied} == {"doctor", "rich"}
    with_ties, without = (top_words(groups, ties=ties) for ties in (True, False))
    assert [word.text for word, side in with_ties if side == "advantaged"] == ["doctor", "wealthy", "rich"]
    assert [word.text for word, _ in without] == ["poor", "wealthy"]
    assert mean_ranks(with_ties) == {"advantaged": (1 + 3 + 4) / 3, "disadvantaged": 2.0}


def test_ranks_are_shared_by_equals_and_need_both_groups() -> None:
    one, other = GroupWord("x", 1, -2.0), GroupWord("y", 1, -2.0)
    assert mean_ranks([(one, "advantaged"), (other, "disadvantaged")]) == {"advantaged": 1.5, "disadvantaged": 1.5}
    assert mean_ranks([(one, "advantaged")]) == {}
    assert mean_ranks([]) == {}


def test_lists_of_english_words_are_not_used_for_another_language() -> None:
    found = words_by_group([pair("on a white", "rose")], lambda _: -3.0, language="fr")
    assert {one.text for one in found.disadvantaged} == {"on", "a", "white"}
    assert {one.text for one in found.advantaged} == {"rose"}
    assert found.ambiguous == ()


def test_no_word_is_left_out_for_two_reasons() -> None:
    assert not AMBIGUOUS & GRAMMAR
    assert not {"he", "she", "him", "her", "his", "old", "poor"} & (AMBIGUOUS | GRAMMAR)


# ---------------------------------------------------------------------------------------------- corpora


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", "word,count\nThe,60\nthe,20\nox,20\nhen,0\n"),
        ("c.tsv", "word\tcount\nThe\t60\nthe\t20\nox\t20\nhen\t0\n"),
        ("c.jsonl", '{"word":"The","count":60}\n{"word":"the","count":20}\n{"word":"ox","count":20.0}\n'),
        ("c.txt", "The 60\n\nthe\t20\nox 20\nhen 0\n"),
        ("c", "The 60\nthe 20\nox 20\n"),
    ],
)
def test_counts_are_read_from_every_format(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = read_counts(path)
    assert found.frequency("the") == pytest.approx(0.8)
    assert found.log10("ox") == pytest.approx(math.log10(0.2))
    assert not found.knows("hen")
    assert found.log10("hen") == pytest.approx(math.log10(0.2))  # as the rarest word known
    assert found.source == name


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("c.csv", "token,count\na,1\n", "expected columns 'word' and 'count'"),
        ("c.csv", "word,count\na,many\n", "c.csv, line 2: word 'a' with count 'many'"),
        ("c.csv", "word,count\na,1\nb,-2\n", "c.csv, line 3:"),
        ("c.csv", "word,count\na,nan\n", "expected a word and a number"),
        ("c.csv", "word,count\na,inf\n", "expected a word and a number"),
        ("c.csv", "word,count\n,3\n", "expected a word and a number"),
        ("c.csv", "word,count\na,0\n", "no word with a count above 0"),
        ("c.txt", "", "no word with a count above 0"),
        ("c.txt", "a 1\nb c 2\n", "line 2: 3 fields"),
        ("c.jsonl", "[1, 2]\n", "found [1, 2]"),
    ],
)  # fmt: skip
def test_bad_counts_are_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_counts(path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv does not exist"):
        read_counts(tmp_path / "none.csv")


def test_without_wordfreq_one_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(DataError, match=r"install unmask\[words\].*`counts`"):
        frequencies_for(None, "en")


def test_wordfreq_is_used_where_it_is_installed() -> None:
    import wordfreq

    found = frequencies_for(None, "en")
    assert found.frequency("woman") == wordfreq.word_frequency("woman", "en")
    assert not found.knows("zzyzxqq")
    assert found.log10("zzyzxqq") == pytest.approx(-8, abs=0.05)
    with pytest.raises(DataError, match="as `counts`"):
        frequencies_for(None, "xx")


def test_the_papers_words_come_out_of_its_data(published: Path) -> None:
    """Table 2 lists its words: of gender and age ours are the same, and so are the mean ranks."""
    items = datasets.load("crows-pairs", data_dir=published).items
    of = frequencies_for(None, "en").log10
    listed = {
        "gender": "he his her she men woman him women",
        "age": "old young middle boy aged adults elderly teenagers",
    }
    for name, expected in listed.items():
        chosen = top_words(words_by_group([one for one in items if one.groups["category"] == name], of))
        assert {word.text for word, _ in chosen} == set(expected.split())
        ranks = mean_ranks(chosen)
        assert set(ranks) == {"advantaged", "disadvantaged"}
        for side, rank in ranks.items():
            printed = printed_value(
                "frequency", "wikipedia+bookcorpus", data="crows-pairs", measure="frequency",
                statistic=f"rank-{side}", group=name,
            )  # fmt: skip
            assert rank == printed


def test_the_papers_words_are_in_the_papers_groups(published: Path) -> None:
    """Over all nine types 64 of the 72 words come out on the printed side, *american* and *doctor* among them."""
    items = datasets.load("crows-pairs", data_dir=published).items
    of, found = frequencies_for(None, "en").log10, 0
    printed = {(cell.group, cell.value, cell.measure.split("-")[2]) for cell in printed_words()}
    assert len(printed) == 72
    for name in {category for category, _, _ in printed}:
        chosen = top_words(words_by_group([one for one in items if one.groups["category"] == name], of))
        ours = {(name, word.text, side) for word, side in chosen}
        found += len(ours & printed)
        if name == "race-color":
            assert (name, "american", "advantaged") in ours
        if name == "socioeconomic":
            assert (name, "doctor", "advantaged") in ours
    assert found == 64


def test_printed_words_and_their_groups_give_the_printed_ranks() -> None:
    """Every mean rank of Table 2 follows from the places of the words of its group."""
    places: dict[tuple[str, str], list[int]] = {}
    for cell in printed_words():
        _, place, side = cell.measure.split("-")
        places.setdefault((cell.group, side), []).append(int(place))
    assert len(places) == 18
    for (name, side), own in places.items():
        rank = printed_value(
            "frequency", "wikipedia+bookcorpus", data="crows-pairs", measure="frequency",
            statistic=f"rank-{side}", group=name,
        )  # fmt: skip
        assert sum(own) / 4 == rank, (name, side)


def test_published_ranks_are_those_of_eight_words() -> None:
    for name in ("race-color", "gender", "nationality", "socioeconomic", "physical-appearance", "disability"):
        both = [
            printed_value(
                "frequency", "wikipedia+bookcorpus", data="crows-pairs", measure="frequency",
                statistic=f"rank-{side}", group=name,
            )
            for side in ("advantaged", "disadvantaged")
        ]  # fmt: skip
        assert both[0] is not None
        assert both[1] is not None
        assert both[0] + both[1] == 9  # two means of four ranks each, of 1 to 8


# ------------------------------------------------------------------------------- the whole, on tiny models


@pytest.mark.parametrize(
    ("architecture", "measures"),
    [("bert-uncased", ("sss", "aul")), ("roberta", ("all-masked", "aula")), ("gpt2", ("ll", "cll"))],
)
def test_lines_equal_a_slow_computation(architecture: str, measures: tuple[str, ...], counts: Path) -> None:
    data = crows()
    found = finding(FREQUENCY, architecture, data, measures, counts=counts)
    table = {
        line.partition(",")[0]: int(line.partition(",")[2])
        for line in counts.read_text(encoding="utf-8").splitlines()[1:]
    }
    whole, least = sum(table.values()), min(table.values())

    def logs(side: list[str]) -> list[float]:
        return [math.log10(table.get(word, least) / whole) for word in side]

    by = {}
    for item in data.items:
        more, less = map(logs, plainly_changed(item.more, item.less))
        if more and less:
            by[item.id] = sum(more) / len(more) - sum(less) / len(less)
    assert 8 < len(by) < len(data.items)

    followed = {row["measure"]: row for row in rows_of(found, "How far measures follow")}
    units = {row["measure"]: row for row in rows_of(found, "The lines in the units")}
    assert set(followed) == set(units) == set(measures)
    for measure in measures:
        x, y, won, everywhere = [], [], [], []
        for item in data.items:
            if item.id not in by:
                continue
            scores = slow_scores(architecture, measure, item)
            if scores is not None:
                x.append(by[item.id])
                y.append(scores["more"] - scores["less"])
            if scores is not None or measure == "sss":  # the published sss counts an empty span as not won
                everywhere.append(by[item.id])
                won.append(100.0 * (slow_outcome(architecture, measure, item) == "more"))
        slope, intercept = np.polyfit(x, y, 1)
        row = units[measure]
        assert row["slope per tenfold frequency"].value == pytest.approx(slope, abs=2e-4)
        assert row["difference at equal word frequency"].value == pytest.approx(intercept, abs=2e-4)
        assert row["mean difference"].value == pytest.approx(np.mean(y), abs=1e-4)
        row = followed[measure]
        assert row["pairs"] == len(x)
        r = np.corrcoef(x, y)[0, 1]
        assert row["standardised slope"].value == pytest.approx(r, abs=1e-4)
        assert row["R²"].value == pytest.approx(r * r, abs=1e-4)
        assert row["bias score"].value == pytest.approx(np.mean(won))
        left = np.polyfit(everywhere, won, 1)[1]
        assert row["bias score at equal word frequency"].value == pytest.approx(left, abs=1e-6)


def test_the_table_of_words_equals_a_slow_computation(tmp_path: Path) -> None:
    """All pairs of two bias types, words grouped by plain loops."""
    items = datasets.load("crows-pairs", data_dir=zoo.MINIATURE).items
    kept = [one for one in items if one.groups["category"] in ("religion", "age")]
    data, counts = as_whole(replace(crows(), items=tuple(kept))), made_up(kept, tmp_path)
    found = finding(FREQUENCY, "bert-uncased", data, ["aul"], counts=counts)
    corpus = read_counts(counts)
    rows = rows_of(found, "Frequency of advantaged")
    assert {row["bias type"] for row in rows} == {"religion", "age"}
    for row in rows:
        here: dict[str, list[int]] = {}
        for item in kept:
            if item.groups["category"] == row["bias type"]:
                sides = plainly_changed(item.more, item.less)
                for side, own in enumerate(sides):
                    disadvantaged = (side == 0) == (item.groups["direction"] == "stereo")
                    for word in own:
                        here.setdefault(word, [0, 0])[disadvantaged] += 1
        left = {word: n for word, n in here.items() if word not in AMBIGUOUS | GRAMMAR and n[0] != n[1]}
        logs = [
            [corpus.log10(word) for word, n in left.items() if (n[1] > n[0]) == disadvantaged]
            for disadvantaged in (False, True)
        ]
        assert (row["words A"], row["words D"]) == (len(logs[0]), len(logs[1]))
        gap = row["log10 difference"]
        assert gap.value == pytest.approx(np.mean(logs[0]) - np.mean(logs[1]))
        assert gap.low < gap.value < gap.high
        assert row["published A"] is not None
    ps = [stats.mannwhitneyu(*_logs(kept, name, corpus.log10)).pvalue for name in ("religion", "age")]
    shown = {row["bias type"]: row["p Holm"] for row in rows}
    smaller, larger = sorted(ps)
    assert sorted(shown.values()) == pytest.approx(sorted([min(1, 2 * smaller), max(min(1, 2 * smaller), larger)]))


def _logs(items: list[Pair], name: str, of: Callable[[str], float]) -> list[list[float]]:
    found = words_by_group([one for one in items if one.groups["category"] == name], of)
    return [[word.log10 for word in side] for side in (found.advantaged, found.disadvantaged)]


def small(records: list[dict[str, str]]) -> Dataset:
    return from_records(records, name="mine")


def write(tmp_path: Path) -> Path:
    path = tmp_path / "counts.jsonl"
    path.write_text("\n".join(json.dumps({"word": w, "count": n}) for w, n in CORPUS.items()), encoding="utf-8")
    return path


def test_one_pair_has_no_line_and_says_so(tmp_path: Path) -> None:
    data = small([{"more": "The old man slept.", "less": "The young man slept.", "direction": "stereo"}])
    found = finding(FREQUENCY, "bert-uncased", data, ["aul", "sld"], counts=write(tmp_path))
    assert any("no line can be fitted" in line for line in found.answers)
    assert found.plots == ()
    (row,) = rows_of(found, "Frequency of advantaged")
    assert (row["words A"], row["words D"], row["rank A"], row["rank D"]) == (1, 1, 2.0, 1.0)
    assert math.isnan(row["log10 difference"].low)


def test_pairs_without_changed_words_on_both_sides_leave_only_words(tmp_path: Path) -> None:
    data = small([{"more": "She is very old.", "less": "She is old."}, {"more": "He ran.", "less": "He ran !"}])
    found = finding(FREQUENCY, "bert-uncased", data, ["aul"], counts=write(tmp_path))
    assert found.tables == ()
    assert any("2 of 2 pairs are left out" in note for note in found.notes)
    assert any("no direction" in note for note in found.notes)
    assert any("1 of 1 changed words are not in counts.jsonl" in note for note in found.notes)


def test_templates_and_free_text_are_refused() -> None:
    assert "templates" in FREQUENCY.unfit_reason(datasets.load("pronoun-templates"))
    free = datasets.load("stereoset-intersentence", data_dir=zoo.MINIATURE)
    assert "no minimal pairs" in FREQUENCY.unfit_reason(free)
    assert FREQUENCY.unfit_reason(datasets.load("stereoset", data_dir=zoo.MINIATURE)) == ""
    assert FREQUENCY.unfit_reason(crows()) == ""
