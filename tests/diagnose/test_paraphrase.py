"""`paraphrase`: every number equals one computed slowly and plainly; edges say what happened."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

import reference
import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError, StatsError
from unmask.core.types import Pair
from unmask.diagnose.paraphrase import PARAPHRASE, FamilyOptions, published_agreement
from unmask.diagnose.paraphrase.families import PER_TOKEN, SUM, Family, FamilyVerdicts, family_set
from unmask.findings import Section

from .plainly import run

OPTIONS = unmask.Options(store=False)
MODELS = ("bert-uncased", "roberta", "gpt2")
MEASURE = {"bert-uncased": "cps-exact", "roberta": "cps-exact", "gpt2": "cll"}
ROWS = (0, 2, 3, 5, 8, 11)
BANDS = (0.0, 0.1, 0.25, 0.5, 1.0)
Differences = dict[str, dict[str, list[float]]]  # by scale and original


def records() -> list[dict[str, str]]:
    """Six pairs, each with two crude rewordings: a few words more at either end."""
    whole = datasets.load("crows-pairs", data_dir=zoo.MINIATURE)
    rows = []
    for number in ROWS:
        pair = whole.items[number]
        for paraphrase, (front, back) in enumerate([("", ""), ("They say: ", ""), ("", " So it is.")]):
            rows.append(
                {
                    "more": front + pair.more + back,
                    "less": front + pair.less + back,
                    "category": "gender" if number < 4 else "other",
                    "original": f"o{number}",
                    "paraphrase": str(paraphrase),
                }
            )
    return rows


@cache
def slow(model: str) -> Differences:
    """The differences of every sample, one forward pass a token, sums and counts by hand."""
    network, tokenizer = reference.load(zoo.folder(model))
    found: Differences = {PER_TOKEN: defaultdict(list), SUM: defaultdict(list)}
    for row in records():
        pair = Pair("x", row["more"], row["less"])
        scores = reference.reference(MEASURE[model], network, tokenizer, pair)
        assert scores is not None
        if reference.is_causal(tokenizer):
            places = reference.unmodified(*(reference.fed(tokenizer, text) for text in (pair.more, pair.less)))
            counts = [len([place for place in side if place > 0]) for side in places]  # the first has no past
        else:
            counts = [len(same) for _, same, _ in reference.spans(tokenizer, pair).values()]
        found[SUM][row["original"]].append(scores["more"] - scores["less"])
        found[PER_TOKEN][row["original"]].append(scores["more"] / counts[0] - scores["less"] / counts[1])
    return found


@cache
def diagnosed(model: str) -> Section:
    data = datasets.from_records(records(), name="reworded")
    (found,) = run([PARAPHRASE], [zoo.folder(model)], data=data, options=OPTIONS)
    return found


def table(found: Section, title: str) -> list[dict[str, Any]]:
    one = next(one for one in found.finding.tables if one.title.startswith(title))
    return [dict(zip(one.columns, row, strict=True)) for row in one.rows]


def sign(value: float, band: float) -> int:
    if abs(value) <= band:
        return 0
    return 1 if value > 0 else -1


def chance(families: list[list[int]]) -> float:
    """Mean agreement over random orders of all signs."""
    rng = np.random.default_rng(3)
    pool = [one for family in families for one in family]
    total = 0
    for _ in range(4000):
        order = rng.permutation(pool).tolist()
        for family in families:
            part, order = order[: len(family)], order[len(family) :]
            total += len(set(part)) == 1
    return 100 * total / 4000 / len(families)


@pytest.mark.thorough
@pytest.mark.parametrize("model", MODELS)
def test_agreement_equals_the_slow_count(model: str) -> None:
    families = slow(model)[PER_TOKEN]
    signs = {name: [sign(one, 0) for one in values] for name, values in families.items()}
    (row,) = table(diagnosed(model), "Agreement: an original")
    agree = sum(len(set(one)) == 1 for one in signs.values())
    low, high = proportion_confint(agree, 6, method="wilson")
    assert row["measure"] == MEASURE[model]
    assert row["originals"] == 6
    assert row["agree %"].value == pytest.approx(100 * agree / 6)
    assert (row["agree %"].low, row["agree %"].high) == pytest.approx((100 * low, 100 * high), abs=1e-9)
    types = [[signs[f"o{number}"] for number in ROWS if (number < 4) == first] for first in (True, False)]
    expected = sum(chance(part) * len(part) for part in types) / 6
    assert row["chance %"].value == pytest.approx(expected, abs=3)
    by_type = {one["bias type"]: one for one in table(diagnosed(model), "Agreement by")}
    for name, part in zip(("gender", "other"), types, strict=True):
        assert by_type[name]["originals"] == len(part)
        assert by_type[name]["agree %"].value == pytest.approx(
            100 * sum(len(set(one)) == 1 for one in part) / len(part)
        )
        assert by_type[name]["chance %"].value == pytest.approx(chance(part), abs=3)


@pytest.mark.parametrize("model", MODELS)
def test_bands_equal_the_slow_count_on_either_scale(model: str) -> None:
    rows = table(diagnosed(model), "Nearly equally")
    assert [(row["scale"], float(row["band ±"])) for row in rows] == [
        (scale, band) for scale in (PER_TOKEN, SUM) for band in BANDS
    ]
    for row in rows:
        families = slow(model)[row["scale"]].values()
        signs = [[sign(one, float(row["band ±"])) for one in values] for values in families]
        every = [one for family in signs for one in family]
        assert row["pairs within %"].value == pytest.approx(100 * every.count(0) / len(every))
        assert row["agree %"].value == pytest.approx(100 * sum(len(set(one)) == 1 for one in signs) / 6)
        assert row["all within %"].value == pytest.approx(100 * sum(set(one) == {0} for one in signs) / 6)
        assert row["opposed %"].value == pytest.approx(100 * sum({-1, 1} <= set(one) for one in signs) / 6)


@pytest.mark.parametrize("model", MODELS)
def test_differences_and_their_size(model: str) -> None:
    families = list(slow(model)[PER_TOKEN].values())
    rows = {row["pairs"]: row for row in table(diagnosed(model), "How large")}
    parts = {"originals": [one[:1] for one in families], "paraphrases": [one[1:] for one in families]}
    for kind, values in parts.items():
        flat = [one for part in values for one in part]
        assert rows[kind]["n"] == len(flat)
        assert rows[kind]["mean"].value == pytest.approx(sum(flat) / len(flat), abs=1e-5)
        assert rows[kind]["mean"].low < rows[kind]["mean"].value < rows[kind]["mean"].high
        size = sum(abs(one) for one in flat) / len(flat)
        assert rows[kind]["mean distance from 0"].value == pytest.approx(size, abs=1e-5)
        inside = sum(abs(one) <= 0.25 for one in flat) / len(flat)
        assert rows[kind]["share within ±0.25"].value == pytest.approx(inside)
    opposed = table(diagnosed(model), "Originals whose") if _any_opposed(families) else []
    expected = {
        name: (values[0], min(values), max(values))
        for name, values in slow(model)[PER_TOKEN].items()
        if min(values) < 0 < max(values)
    }
    assert len(opposed) == len(expected)
    for row in opposed:
        told = (row["original's difference"], row["lowest"], row["highest"])
        assert told == pytest.approx(expected[row["original"]], abs=1e-5)


def _any_opposed(families: list[list[float]]) -> bool:
    return any(min(one) < 0 < max(one) for one in families)


@pytest.mark.parametrize("model", MODELS)
def test_the_plot_shows_every_difference(model: str) -> None:
    plot = diagnosed(model).finding.plots[0]
    (drawn,) = plot.chart.to_dict()["datasets"].values()
    expected = [one for values in slow(model)[PER_TOKEN].values() for one in values]
    assert sorted(row["value"] for row in drawn) == pytest.approx(sorted(expected), abs=1e-5)
    assert {row["series"].partition(",")[0] for row in drawn} == {"originals", "paraphrases"}


def test_other_measures_keep_their_own_scale() -> None:
    data = datasets.from_records(records(), name="reworded")
    (found,) = run(
        [PARAPHRASE],
        [zoo.folder("bert-uncased")],
        data=data,
        settings=FamilyOptions(measures=("aul", "pll", "sld"), band=0.3),
        options=OPTIONS,
    )
    rows = table(found, "Nearly equally")
    assert {(row["measure"], row["scale"]) for row in rows} == {
        ("aul", "the measure's own"),
        ("pll", PER_TOKEN),
        ("pll", SUM),
    }
    assert {row["band ±"] for row in rows} == {"0", "0.1", "0.25", "0.3", "0.5", "1"}
    network, tokenizer = reference.load(zoo.folder("bert-uncased"))
    signs = defaultdict(set)
    for row in records():
        scores = reference.reference("aul", network, tokenizer, Pair("x", row["more"], row["less"]))
        assert scores is not None
        signs[row["original"]].add(scores["more"] > scores["less"])
    (aul,) = [row for row in table(found, "Agreement: an original") if row["measure"] == "aul"]
    assert aul["agree %"].value == pytest.approx(100 * sum(len(one) == 1 for one in signs.values()) / 6)
    assert aul["published"] is None


def test_published_numbers_stand_beside_the_authors_pairs_only() -> None:
    """The number of other sentences is not that of ours, whatever the model."""
    each, originals = [106, 109, 11, 10, 6, 32, 41, 30, 38], [28, 29, 3, 3, 1, 8, 10, 8, 10]  # Table 1; made up
    names = "race-color gender sexual-orientation religion age nationality disability physical-appearance socioeconomic"
    sizes = [
        (name, pairs // count + (n < pairs % count))
        for name, pairs, count in zip(names.split(), each, originals, strict=True)
        for n in range(count)
    ]
    families = tuple(Family(f"{n}", name, np.full(size, 0.1)) for n, (name, size) in enumerate(sizes))
    theirs = FamilyVerdicts("distilbert-base-uncased", "theirs", "cps", PER_TOKEN, families, 0)
    assert [published_agreement(theirs, group) for group in ("all", "gender", "age")] == [75, 71, None]
    others = tuple(replace(family, category="gender") for family in families)
    assert (len(others), sum(family.differences.size for family in others)) == (100, 383)
    for other in (
        *(replace(theirs, families=found) for found in (families[1:], others)),
        replace(theirs, measure="aul"),
    ):
        assert published_agreement(other, "all") is None


# --------------------------------------------------------------------------------------- families


def test_originals_of_the_built_in_paraphrases_come_from_nine_axes() -> None:
    found = family_set(datasets.load("paraphrases"))
    originals = {item.id: item for item in datasets.load("nine-axes").items}
    assert len(found.pairs) == 135
    assert found.notes == ()
    for name, pairs in found.pairs.items():
        assert pairs[0] == originals[name]
        assert [pair.groups["paraphrase"] for pair in pairs[1:]] == ["1", "2", "3"]
    whole = found.dataset(datasets.load("paraphrases"))
    assert len(whole.items) == 540
    assert whole.card.name != "paraphrases"  # scores are remembered by name


def pair(original: str, paraphrase: str, **groups: str) -> dict[str, str]:
    who = f"{original}{paraphrase}"
    return {"more": f"He is {who}.", "less": f"She is {who}.", "original": original, "paraphrase": paraphrase, **groups}


def test_what_is_left_out_is_counted() -> None:
    rows = [
        pair("a", "0"),
        pair("a", "1", replacement="x", keep="yes"),
        pair("a", "2", replacement="y", keep="No"),
        pair("a", "3", replacement="z"),
        pair("b", "0"),
        pair("nowhere/1", "1"),
        pair("", "1"),
    ]
    found = family_set(datasets.from_records(rows, name="mine"))
    assert {name: [one.groups["paraphrase"] for one in pairs] for name, pairs in found.pairs.items()} == {
        "a": ["0", "1", "3"]
    }
    assert [note.partition(": ")[2] for note in found.notes] == [
        "1 pairs without an original were left out",
        "1 paraphrases rejected by a reviewer were left out",
        "1 generated paraphrases were used without review",
        "1 originals were not found: their paraphrases were left out",
        "1 originals without a paraphrase were left out",
    ]


def test_no_family_at_all_is_refused() -> None:
    with pytest.raises(DataError, match="no original with a paraphrase"):
        family_set(datasets.from_records([pair("a", "0"), pair("b", "1")], name="mine"))


def test_data_that_rewords_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="its pairs have no original and paraphrase; without `data` it uses"):
        run([PARAPHRASE], [zoo.folder("bert-uncased")], data="nine-axes", options=OPTIONS)


def test_one_original_and_no_category() -> None:
    rows = [pair("a", "0"), pair("a", "1")]
    data = datasets.from_records(rows, name="mine")
    (found,) = run([PARAPHRASE], [zoo.folder("bert-uncased")], data=data, options=OPTIONS)
    (row,) = table(found, "Agreement: an original")
    assert row["originals"] == 1
    model = reference.load(zoo.folder("bert-uncased"))
    scores = [reference.reference("cps-exact", *model, item) for item in data.items]
    ways = {one["more"] > one["less"] for one in scores if one is not None}
    assert row["agree %"].value == (100 if len(ways) == 1 else 0)
    assert row["chance %"].value == row["agree %"].value  # two signs can be dealt in one way only
    assert row["p"] == 1
    assert not any(one.title == "Agreement by bias type" for one in found.finding.tables)
    sizes = table(found, "How large")[0]
    assert np.isnan(sizes["mean"].low)
    assert "too few" in sizes["mean"].method


def test_what_cannot_be_scored_is_left_out_and_told() -> None:
    long = "very " * 400
    rows = [
        pair("a", "0"),
        pair("a", "1"),
        pair("a", "2") | {"more": f"He is {long}old."},
        pair("b", "0") | {"more": f"He is {long}old."},
        pair("b", "1"),
    ]
    data = datasets.from_records(rows, name="mine")
    (found,) = run([PARAPHRASE], [zoo.folder("bert-uncased")], data=data, options=OPTIONS)
    (row,) = table(found, "Agreement: an original")
    assert row["originals"] == 1
    assert [kind["n"] for kind in table(found, "How large")] == [1, 1]
    assert any("cps-exact cannot score 2 of 5 pairs" in note for note in found.finding.notes)


def test_nothing_scored_is_an_error() -> None:
    long = "very " * 400
    rows = [pair("a", number) | {"more": f"He is {long}old."} for number in "01"]
    data = datasets.from_records(rows, name="mine")
    with pytest.raises(StatsError, match="no original was scored"):
        run([PARAPHRASE], [zoo.folder("bert-uncased")], data=data, options=OPTIONS)


def test_outcomes_have_three_values() -> None:
    family = Family("a", "", np.array([0.3, -0.3, 0.2, 0.0, -0.25]))
    assert family.outcomes(0.25).tolist() == [1, -1, 0, 0, 0]
    assert family.outcomes(0.0).tolist() == [1, -1, 1, 0, -1]


# ------------------------------------------------------------------------------- finspector's files


def finspector(**changes: str) -> list[dict[str, str]]:
    rows = []
    for para in "01":
        for side, who in (("sent_less", "John"), ("sent_more", "Mary")):
            rows.append(
                {
                    "bias_type": "gender",
                    "sent_index": "7",
                    "para_index": para,
                    "stereo_type": "1" if side == "sent_more" else "0",
                    "more_or_less": side,
                    "sent": f"{who} is number {para}.",
                    "bert": "-1.5",
                }
                | changes
            )
    return rows


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_finspector_columns_make_pairs(tmp_path: Path) -> None:
    loaded = datasets.load(written(tmp_path / "quotes.csv", finspector()))
    assert [(item.more, item.less) for item in loaded.items] == [
        ("Mary is number 0.", "John is number 0."),
        ("Mary is number 1.", "John is number 1."),
    ]
    assert [dict(item.groups) for item in loaded.items] == [
        {"category": "gender", "original": "gender/7", "paraphrase": number} for number in "01"
    ]
    assert [len(pairs) for pairs in family_set(loaded).pairs.values()] == [2]


def test_a_direction_in_words_is_kept(tmp_path: Path) -> None:
    loaded = datasets.load(written(tmp_path / "quotes.csv", finspector(stereo_type="antistereo")))
    assert {item.groups["direction"] for item in loaded.items} == {"antistereo"}


def test_a_data_frame_with_whole_numbers_as_floats() -> None:
    import pandas as pd

    frame = pd.DataFrame(finspector()).assign(sent_index=7.0, para_index=[0.0, 0.0, 1.0, 1.0])
    loaded = datasets.from_records(frame, name="quotes")
    assert [item.groups["paraphrase"] for item in loaded.items] == ["0", "1"]


def test_a_paraphrase_of_one_sentence_alone_is_refused(tmp_path: Path) -> None:
    rows = [row for row in finspector() if (row["para_index"], row["more_or_less"]) != ("1", "sent_more")]
    with pytest.raises(DataError, match="sentence '7', paraphrase '1' has no row with sent_more"):
        datasets.load(written(tmp_path / "quotes.csv", rows))


def test_the_published_sample_has_no_pairs(published: Path) -> None:
    with pytest.raises(DataError, match="sentence '0', paraphrase '0' has no row with sent_more"):
        datasets.load(published / "paraphrase_schema" / "sample-movie-quotes.csv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more_or_less": "sent_more"}, "line 3: a second more sentence of sentence '7', paraphrase '0'"),
        ({"more_or_less": "neither"}, "'neither' for the side, expected 'sent_more'"),
        ({"sent": " "}, "nothing in column 'sent' or 'sentence'"),
        ({"sent_index": ""}, "nothing in column 'sent_index'"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, change: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        datasets.load(written(tmp_path / "quotes.csv", finspector(**change)))
