"""What is known of every measure: its name, whom it can ask, what it is held against, what was published."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import zoo
from unmask import data
from unmask.core.errors import ModelError, UnknownName, Unscorable
from unmask.core.types import Measure, Pair, Published
from unmask.measures import (
    DEFAULTS,
    HEADLINE_ORDER,
    MEASURES,
    TEMPLATE_DEFAULTS,
    TRIPLE_DEFAULTS,
    find,
    select_measures,
)
from unmask.models import open_lm

DOCS = Path(__file__).parents[2] / "docs"
TRIPLES = ("unrelated", "context", "target")
MASKED, CAUSAL, BOTH = ("masked",), ("causal",), ("masked", "causal")
# published measures: name → kinds of models, summary, null, what an item must have, citation
FACTS = {
    "cps": (MASKED, "share", 50.0, (), "nangia-etal-2020-crows"),
    "cps-exact": (MASKED, "share", 50.0, (), "nangia-etal-2020-crows"),
    "pll": (MASKED, "share", 50.0, (), "salazar-etal-2020-masked"),
    "sss": (MASKED, "share", 50.0, (), "kaneko-bollegala-2022-unmasking"),
    "sss-diagonal": (MASKED, "share", 50.0, (), "kaneko-bollegala-2022-unmasking"),
    "aul": (MASKED, "share", 50.0, (), "kaneko-bollegala-2022-unmasking"),
    "aula": (MASKED, "share", 50.0, (), "kaneko-bollegala-2022-unmasking"),
    "aula-normalised": (MASKED, "share", 50.0, (), "kaneko-bollegala-2022-unmasking"),
    "all-masked": (MASKED, "share", 50.0, (), "kaneko-bollegala-2022-unmasking"),
    "sld": (BOTH, "magnitude", 0.0, (), "gbef-2023"),
    "crows-bias-bench": (MASKED, "share", 50.0, (), "meade-etal-2022-empirical"),
    "lms": (BOTH, "lms", 50.0, TRIPLES, "nadeem-etal-2021-stereoset"),
    "ss": (BOTH, "ss", 50.0, TRIPLES, "nadeem-etal-2021-stereoset"),
    "icat": (BOTH, "icat", None, TRIPLES, "nadeem-etal-2021-stereoset"),
    "lms-spaced": (MASKED, "lms", 50.0, TRIPLES, "nadeem-etal-2021-stereoset"),
    "ss-spaced": (MASKED, "ss", 50.0, TRIPLES, "nadeem-etal-2021-stereoset"),
    "icat-spaced": (MASKED, "icat", None, TRIPLES, "nadeem-etal-2021-stereoset"),
    "ll": (CAUSAL, "share", 50.0, (), "gao-etal-lm-eval"),
    "cll": (CAUSAL, "share", 50.0, (), "nangia-etal-2020-crows"),
    "ll-stereoset": (CAUSAL, "share", 50.0, (), "nadeem-etal-2021-stereoset"),
    "ppd": (BOTH, "lean", 0.0, ("slot",), "gbef-2023"),
    "ppd-normalised": (BOTH, "lean", 0.0, ("slot",), "gbef-2023"),
    "lpbs": (BOTH, "association", 0.0, ("slot", "word"), "kurita-etal-2019-measuring"),
}


def facts(one: Measure) -> tuple[object, ...]:
    return one.kinds, one.summary, one.null, one.needs, one.citation


def test_measures_of_other_packages_are_sought_under_the_documented_entry_point() -> None:
    assert MEASURES.group == "unmask.measures"


def test_every_measure_is_found_under_its_name() -> None:
    assert {name: facts(find(name)) for name in FACTS} == FACTS
    assert all(measure.name == name for name, measure in MEASURES.items())


@pytest.mark.parametrize("name", MEASURES)
def test_what_a_measure_cites_is_in_the_bibliography(name: str) -> None:
    keys = re.findall(r"^@\w+\{(.+),$", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert find(name).citation in keys


def test_sums_of_log_probabilities_are_in_nats_and_rounding_is_as_published() -> None:
    assert {name for name in FACTS if find(name).in_nats} == {
        "cps",
        "cps-exact",
        "pll",
        "sld",
        "ll",
        "cll",
        "ll-stereoset",
    }
    assert {name: find(name).decimals for name in FACTS if find(name).decimals is not None} == {
        "cps": 3,
        "crows-bias-bench": 3,
    }
    assert [name for name in FACTS if find(name).empty_span_loses] == ["sss"]


def test_what_is_asked_when_nothing_is_named() -> None:
    """Every default is a measure that this kind of model can answer."""
    assert DEFAULTS == {
        "masked": ("sss", "pll", "cps", "aul", "aula", "all-masked", "sld"),
        "causal": ("ll", "cll", "sld"),
    }
    assert TRIPLE_DEFAULTS == ("lms", "ss", "icat")
    assert TEMPLATE_DEFAULTS == ("ppd",)
    for kind, names in DEFAULTS.items():
        every = (*names, *TRIPLE_DEFAULTS, *TEMPLATE_DEFAULTS)
        assert [one.name for one in select_measures(every, kind)] == list(every)
        in_headlines = [name for name in HEADLINE_ORDER if name in names]
        assert list(names[: len(in_headlines)]) == in_headlines, "the table does not begin with the named measure"


def test_measures_are_chosen_once_each_and_in_order() -> None:
    assert [one.name for one in select_measures(["sld", "ll", "sld"], "causal")] == ["sld", "ll"]
    assert select_measures([], "masked") == ()


def test_a_model_is_not_asked_what_it_cannot_answer() -> None:
    with pytest.raises(ModelError, match=r"a causal model cannot answer cps, aul; it can answer cll, .*ll, "):
        select_measures(["cps", "sld", "aul"], "causal")
    with pytest.raises(UnknownName, match=r"^no measure named .*Did you mean cps"):
        find("csp")


@pytest.mark.parametrize("model", ["bert-uncased", "gpt2"])
def test_what_a_measure_says_of_its_probes_is_true(model: str) -> None:
    """Whether tokens are masked one at a time, and whether what is read depends on the other sentence."""
    lm = open_lm(zoo.folder(model))
    item = Pair("x", "the old man ran", "the old lady ran")
    triple = replace(item, unrelated="the tree ran", context="the BLANK ran", groups={"target": "man"})
    template = data.load("pronoun-templates").items[0]
    for name, measure in MEASURES.items():
        if lm.kind not in measure.kinds:
            continue
        pair = template if "slot" in measure.needs else triple if measure.needs else item
        try:
            asked = measure.probes(pair, lm)
            other = measure.probes(replace(pair, less="the lady left"), lm)
        except Unscorable:
            assert measure.needs, name
            continue
        masked_alone = any(probe.one_at_a_time for side in asked.values() for probe in side)
        assert masked_alone == (measure.one_at_a_time and lm.kind == "masked"), name
        if not measure.needs:
            assert (asked["more"] != other["more"]) == measure.reads_spans, name


# ------------------------------------------------------------------------------- published numbers

COLUMNS = {"CrowS-Pairs": "crows-pairs", "StereoSet": "stereoset"}


def on_the_page(name: str) -> set[Published]:
    """The table of published numbers on a measure's page; a column `score` is of the data named below it."""
    text = (DOCS / "measures" / f"{name}.md").read_text(encoding="utf-8")
    part = text.partition("## Published numbers")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split("|") for line in part.splitlines() if line.startswith("|")]
    if not lines:
        return set()
    head = [cell.strip() for cell in lines[0]]
    alone = "stereoset" if "On StereoSet" in part else "crows-pairs"
    found = set()
    for cells in ([cell.strip() for cell in line] for line in lines[2:]):
        for column, cell in zip(head, cells, strict=True):
            data = COLUMNS.get(column) or (alone if column == "score" else None)
            if data:
                found.add(Published(float(cell), cells[0], data, cells[-1].replace(" and ", " & ")))
    return found


@pytest.mark.parametrize("name", ["cps", "aul", "aula", "sss"])
def test_published_numbers_are_those_of_the_measures_page(name: str) -> None:
    assert set(find(name).published) == on_the_page(name)
    assert len(find(name).published) >= 3


def test_the_other_measures_have_no_published_numbers_to_be_set_beside() -> None:
    assert {name for name in FACTS if find(name).published} == {"cps", "aul", "aula", "sss"}
