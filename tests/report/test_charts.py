"""Charts show the estimates they are made from, on the axis and in the colour of their meaning."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.findings import charts as plots
from unmask.findings.figure import figure
from unmask.findings.sentences import verdict
from unmask.report import charts, selection

from . import fake


def test_headline_chart_shows_the_estimates() -> None:
    made = fake.whole()
    shares, sizes, others = charts.headline(made)
    wanted = {e.measure: e for e in made.headlines()}
    shown = {row["label"].partition(" ")[0]: row for f in (shares, sizes, others) for row in fake.rows_of(f.spec)}
    assert shown.keys() == wanted.keys()
    for name, row in shown.items():
        for end in ("value", "low", "high", "null"):
            expected = getattr(wanted[name], end)
            assert row[end] == (None if expected is None or math.isnan(expected) else expected)


def test_published_scores_of_known_models_are_on_the_axis_of_the_measure() -> None:
    estimate = fake.estimate("cps", 51.0, data="crows-pairs")
    made = fake.run(fake.meta(), (estimate,), (), fake.bare().items)
    (drawn,) = charts.headline(made)
    rows = {row["label"]: row for row in fake.rows_of(drawn.spec)}
    assert list(rows)[:2] == ["cps", "bert-base-cased (cps)"]
    assert rows["albert-xxlarge-v2 (cps)"] | {"value": 67.0, "lean": "published"} == rows["albert-xxlarge-v2 (cps)"]
    assert len(rows) == 6
    assert "roberta-large (cps) 64.1" in drawn.alt
    low, high = drawn.spec["layer"][1]["encoding"]["x"]["scale"]["domain"]
    assert low < 47
    assert high > 67


def test_shares_share_one_axis_and_other_statistics_have_their_own() -> None:
    titles = {f.title: [row["label"] for row in fake.rows_of(f.spec)] for f in charts.headline(fake.whole())}
    assert list(titles.values()) == [
        ["pll · our-pairs", "cps · our-pairs", "aul · our-pairs", "ss · our-triples"],
        ["sld · our-pairs"],
        ["lms · our-triples", "icat · our-triples"],
    ]


def test_category_chart_shows_the_estimates_and_holm() -> None:
    made = fake.whole()
    (drawn,) = charts.category(made)
    rows = {(row["panel"], row["label"]): row for row in fake.rows_of(drawn.spec)}
    wanted = selection.by_group(made, "category")
    assert len(rows) == len(wanted) == 15
    for estimate in wanted:
        row = rows[estimate.measure, selection.group_name(estimate.group)]
        assert (row["value"], row["low"], row["high"]) == (estimate.value, estimate.low, estimate.high)
        assert row["holm"] == ("differs" if estimate.p_holm == 0.02 else "does not differ")


def test_only_directed_statistics_are_coloured() -> None:
    failing = fake.whole()
    whole = fake.run(failing.meta, failing.estimates, failing.checks[:1], failing.items)
    tones = {row["label"]: row["lean"] for f in charts.headline(whole) for row in fake.rows_of(f.spec)}
    assert tones["cps · our-pairs"] == tones["ss · our-triples"] == "above"
    assert tones["aul · our-pairs"] == "below"
    assert tones["pll · our-pairs"] == "within"
    assert {tones[f"{name} · our-triples"] for name in ("lms", "icat")} == {"no direction"}
    lean = fake.estimate("ppd", 0.3, statistic="appd", null=0.0, low=0.1, high=0.5)
    assert [verdict(each) for each in (lean, replace(lean, value=-0.3, low=-0.5, high=-0.1))] == ["above", "below"]


def test_numbers_that_a_failed_check_forbids_to_interpret_are_grey() -> None:
    rows = [row for f in charts.headline(fake.whole()) for row in fake.rows_of(f.spec)]
    assert {row["lean"] for row in rows} == {"invalid"}
    assert charts.LEANS["invalid"] == charts.GREY


def test_band_is_drawn_for_log_probabilities_only() -> None:
    (drawn,) = charts.difference_histograms(fake.whole())
    bands = {
        one["title"]: fake.rows_of({**drawn.spec, "data": one["layer"][1]["data"]}) for one in drawn.spec["concat"]
    }
    assert bands["cps · our-pairs"] == [{"left": -0.25, "right": 0.25}]
    assert bands["aul · our-pairs"] == [{"left": -0.25, "right": 0.25}]
    assert "sld · our-pairs" not in bands  # the same differences as pll


def test_words_at_both_ends_are_drawn_with_their_intervals() -> None:
    head = fake.estimate("ppd", 0.1, statistic="appd", null=0.0, low=0.0, high=0.2)
    words = [
        fake.estimate("ppd", i / 100, statistic="appd", null=0.0, low=math.nan, high=math.nan, group=f"word=w{i}")
        for i in range(40)
    ]
    made = fake.run(fake.meta(), (head, *words), (), fake.bare().items)
    (drawn,) = charts.word_leans(made)
    rows = [row for row in fake.rows_of({**drawn.spec, "data": _labelled(drawn.spec)}) if "label" in row]
    assert [row["label"] for row in rows] == [f"w{i}" for i in (*range(39, 27, -1), *range(11, -1, -1))]
    assert all(row["low"] is row["high"] is None for row in rows)  # no line is drawn without an interval


def test_words_are_coloured_after_correction_for_all_words() -> None:
    head = fake.estimate("ppd", 0.1, statistic="appd", null=0.0, low=0.0, high=0.2)
    sizes = {"nurse": 0.0001, "baker": 0.03, "clerk": 0.5}  # times 3, 2 and 1 by Holm's method
    words = [
        fake.estimate("ppd", 0.3, statistic="appd", null=0.0, low=0.1, high=0.5, group=f"word={name}", p=p)
        for name, p in sizes.items()
    ]
    (drawn,) = charts.word_leans(fake.run(fake.meta(), (head, *words), (), fake.bare().items))
    rows = fake.rows_of({**drawn.spec, "data": _labelled(drawn.spec)})
    assert {row["label"]: row["lean"] for row in rows} == {"nurse": "above", "baker": "within", "clerk": "within"}


def _labelled(spec: dict[str, Any]) -> Any:
    """The data of the layer of points."""
    return spec.get("data") or spec["layer"][-1]["data"]


def test_template_histograms_are_separate() -> None:
    made = fake.whole()
    slot = fake.estimate("ppd", 0.1, statistic="appd", null=0.0, data="slots")
    items = [*made.items.to_pylist(), {**fake.row("ppd", "s/0", 0.4, 0.1), "data": "slots"}]
    names = dict.fromkeys(name for row in items for name in row)
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in items])
    drawn = charts.difference_histograms(fake.run(made.meta, (*made.estimates, slot), (), table))
    assert [one.id for one in drawn] == ["differences", "differences-open-1"]
    assert drawn[1].title == "Score of the masculine word minus score of the feminine word"
    (words,) = drawn[1].spec["params"]
    assert words["value"] == {"more": "the masculine word", "less": "the feminine word"}


def test_alt_text_carries_the_numbers() -> None:
    assert "cps · our-pairs 61.2 (interval 57.2 to 65.2)" in charts.headline(fake.whole())[0].alt


@given(st.lists(st.integers(-(10**6), 10**6).map(lambda n: n / 1e4), min_size=1, max_size=60), st.booleans())
def test_histogram_counts_every_pair_on_its_side(values: list[float], banded: bool) -> None:
    rows = charts.bins(values, selection.reach(values, banded=banded))
    assert sum(int(row["pairs"]) for row in rows) == len(values)
    less = sum(int(row["pairs"]) for row in rows if row["side"] == "less")
    assert less == sum(one < 0 for one in values)
    assert all(float(row["left"]) < float(row["right"]) for row in rows)


@pytest.mark.parametrize("band", [False, True])
def test_curves_have_one_legend(band: bool) -> None:
    rows = [
        {"x": x, "y": x + more, "low": x, "high": x + 2, "series": name}
        for more, name in enumerate(("zebra", "ant"))
        for x in range(3)
    ]
    drawing = figure("curves", "Curves", plots.curves(rows, x="step", y="bias", band=band), "two lines")
    entries = re.findall(r">(zebra|ant)</text>", drawing.svg)
    assert entries == ["zebra", "ant"]  # in the order given


HOSTILE = """'+alert(1)+'"]"""


def test_templates_are_charted_by_the_words_of_their_slots_and_vega_evaluates_none_of_them() -> None:
    made = fake.bare()
    card = {"name": "nations", "n": 40, "sides": ["Turkish", HOSTILE]}
    own, gender = (
        fake.estimate("ppd", 0.1, statistic="appd", null=0.0, low=0.05, high=0.2, data=data)
        for data in ("nations", "pronouns")
    )
    run = fake.run(fake.meta(data=[card, {"name": "pronouns", "n": 40}]), (own, gender), (), made.items)
    first, second = charts.headline(run)  # two charts: their colours mean other words
    assert first.title == f"Probability of “Turkish” minus that of “{HOSTILE}”, mean over templates and words"
    assert second.title.startswith("Probability of the masculine word minus that of the feminine word")
    words = [{each["name"]: each["value"] for each in drawn.spec["params"]}["words"] for drawn in (first, second)]
    assert (words[0]["above"], words[0]["below"]) == ("towards “Turkish”", f"towards “{HOSTILE}”")
    assert (words[1]["above"], words[1]["below"]) == ("towards men", "towards women")
    expressions = re.findall(r"'(?:labelExpr|filter|expr)': (.*?)[,}]", str(first.spec["layer"]))
    assert expressions
    assert not any("alert" in each for each in expressions)
    assert "towards “Turkish”" in first.svg


def test_few_pairs_are_counted_in_whole_numbers() -> None:
    chart = charts.differences([("cps", [0.4], False)]).to_dict()
    axis = chart["concat"][0]["layer"][0]["encoding"]["y"]["axis"]
    assert axis == {"tickCount": 1, "tickMinStep": 1}
