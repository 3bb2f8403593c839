"""Accuracy equals a plain count, one sentence at a time, of what the model finds likeliest."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference
import unmask
import zoo
from trained_models import half_trained_model, load_model, rows, training_data
from unmask.core.errors import ModelError, UnknownName
from unmask.core.types import Dataset, Pair
from unmask.diagnose import UnitOptions
from unmask.diagnose.accuracy import ACCURACY
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Section, Value
from unmask.stats.intervals import mean_test
from unmask.stats.units import units_of_items

from .plainly import as_whole, run

ARCHITECTURES = ("bert-uncased", "roberta")
BOTH = pytest.mark.parametrize("architecture", ARCHITECTURES)
DATA = pytest.mark.parametrize("name", ["crows-pairs", "stereoset"])
Right = dict[tuple[int, str, int], bool]  # by row, side and place


def diagnose(model: Path, data: Dataset, **settings: Any) -> Section:
    (section,) = run(
        [ACCURACY], [model], data=data, settings=UnitOptions(**settings), options=unmask.Options(store=False)
    )
    return section


@functools.cache
def section(architecture: str, name: str) -> Section:
    return diagnose(half_trained_model(architecture), training_data()[name])


# --------------------------------------------------------------------------- the plain computation


def first_guesses(model: Any, encoding: Any) -> list[int]:
    return [int(np.argmax(row)) for row in reference.log_probabilities(reference.run(model, encoding))]


@functools.cache
def masked_alone(architecture: str, name: str) -> Right:
    model, tokenizer = load_model(half_trained_model(architecture))
    right = {}
    for row, pair in enumerate(training_data()[name].items):
        for side, (encoding, same, changed) in reference.spans(tokenizer, pair).items():
            for place in sorted([*same, *changed]):
                guesses = first_guesses(model, reference.hidden(tokenizer, encoding, [place]))
                right[row, side, place] = guesses[place] == encoding["input_ids"][place]
    return right


def shared_alone(architecture: str, name: str) -> Right:
    _, tokenizer = load_model(half_trained_model(architecture))
    every = masked_alone(architecture, name)
    return {
        (row, side, place): every[row, side, place]
        for row, pair in enumerate(training_data()[name].items)
        for side, (_, same, _) in reference.spans(tokenizer, pair).items()
        for place in same
    }


def visible(folder: Path, data: Dataset, *, special: bool) -> Right:
    model, tokenizer = load_model(folder)
    right = {}
    for row, pair in enumerate(data.items):
        for side, (encoding, same, changed) in reference.spans(tokenizer, pair).items():
            guesses, ids = first_guesses(model, encoding), encoding["input_ids"]
            for place in range(len(ids)) if special else sorted([*same, *changed]):
                right[row, side, place] = guesses[place] == ids[place]
    return right


def masked_together(folder: Path, data: Dataset) -> Right:
    model, tokenizer = load_model(folder)
    right = {}
    for row, pair in enumerate(data.items):
        sides = reference.spans(tokenizer, pair)
        if all(changed for _, _, changed in sides.values()):
            for side, (encoding, _, changed) in sides.items():
                guesses = first_guesses(model, reference.hidden(tokenizer, encoding, changed))
                right |= {(row, side, p): guesses[p] == encoding["input_ids"][p] for p in changed}
    return right


def whole_candidates(folder: Path, data: Dataset) -> list[bool]:
    """As the paper puts it: one masked input for both candidates, or one for each."""
    model, tokenizer = load_model(folder)
    right = []
    for pair in data.items:
        more, less = reference.spans(tokenizer, pair).values()
        if not (more[2] and less[2]):
            continue
        inputs = [reference.hidden(tokenizer, one[0], one[2]) for one in (more, less)]
        candidates = [[one[0]["input_ids"][place] for place in one[2]] for one in (more, less)]
        if inputs[0] == inputs[1]:
            guesses = first_guesses(model, inputs[0])
            right.append([guesses[place] for place in more[2]] in candidates)
        else:
            guessed = [first_guesses(model, one) for one in inputs]
            spans = [[guessed[side][place] for place in one[2]] for side, one in enumerate((more, less))]
            right.append(spans[0] == candidates[0] or spans[1] == candidates[1])
    return right


# ---------------------------------------------------------------------------------------- equality


@pytest.mark.thorough
@BOTH
@DATA
def test_every_accuracy_equals_a_plain_count(architecture: str, name: str) -> None:
    folder, data = half_trained_model(architecture), training_data()[name]
    table = rows(section(architecture, name), 0)
    expected: dict[tuple[str, str], list[bool]] = {
        ("cps", "shared tokens, each masked alone"): [*shared_alone(architecture, name).values()],
        ("pll", "content tokens, each masked alone"): [*masked_alone(architecture, name).values()],
        ("aul", "content tokens, nothing masked"): [*visible(folder, data, special=False).values()],
        ("aul", "all tokens, special ones too"): [*visible(folder, data, special=True).values()],
        ("sss", "pairs, a whole candidate predicted"): whole_candidates(folder, data),
        ("sss", "changed tokens, masked together"): [*masked_together(folder, data).values()],
    }
    assert table.keys() == expected.keys()
    for key, right in expected.items():
        assert 0 < sum(right) < len(right), "the model must predict some and not others"
        assert table[key]["n"] == len(right)
        assert table[key]["accuracy"].value == pytest.approx(100 * sum(right) / len(right))
        assert table[key]["accuracy"].low <= table[key]["accuracy"].value <= table[key]["accuracy"].high
        assert table[key]["pairs"] + table[key]["left out"] == len(data.items)
    empty = 1 if name == "crows-pairs" else 0
    assert table["sss", "changed tokens, masked together"]["left out"] == empty


@BOTH
@DATA
def test_differences_are_over_the_same_tokens_and_tested_over_units(architecture: str, name: str) -> None:
    folder, data = half_trained_model(architecture), training_data()[name]
    aul = visible(folder, data, special=False)
    others = {
        ("aul − cps", "shared tokens"): shared_alone(architecture, name),
        ("aul − sss", "changed tokens"): masked_together(folder, data),
        ("aul − pll", "content tokens"): masked_alone(architecture, name),
    }
    table = rows(section(architecture, name), 1)
    assert table.keys() == others.keys()
    for key, other in others.items():
        only_aul = sum(aul[token] and not hit for token, hit in other.items())
        only_other = sum(hit and not aul[token] for token, hit in other.items())
        by_row = {row: [0, 0] for row, _, _ in other}
        for token, hit in other.items():
            by_row[token[0]][0] += aul[token] - hit
            by_row[token[0]][1] += 1
        surplus, tokens = np.array([*by_row.values()], dtype=float).T  # of each pair
        gaps = surplus.mean() + surplus - surplus.sum() / tokens.sum() * tokens  # linearised, in tokens
        groups = [data.items[row].groups for row in by_row]
        units = units_of_items(groups)
        assert units.tag == {"crows-pairs": "writer", "stereoset": "target term"}[name]
        p = mean_test(gaps / tokens.mean(), 0.0, units)
        shown = table[key]
        assert (shown["n"], shown["only first right"], shown["only second right"]) == (
            *(len(other), only_aul, only_other),
        )
        assert shown["p"] == pytest.approx(p, rel=1e-6)
        assert shown["difference"].method.endswith(f" over {units.label}")
        assert shown["difference"].value == pytest.approx(100 * (only_aul - only_other) / len(other))
        assert shown["first"] - shown["second"] == pytest.approx(shown["difference"].value)


@BOTH
@DATA
def test_sub_tokens_are_counted_on_the_masked_inputs(architecture: str, name: str) -> None:
    _, tokenizer = load_model(half_trained_model(architecture))
    equal = same = empty = 0
    for pair in training_data()[name].items:
        sides = reference.spans(tokenizer, pair)
        inputs = [reference.hidden(tokenizer, enc, changed) for enc, _, changed in sides.values()]
        equal += len(inputs[0]["input_ids"]) == len(inputs[1]["input_ids"])
        same += inputs[0] == inputs[1]
        empty += not all(changed for _, _, changed in sides.values())
    (row,) = section(architecture, name).finding.tables[2].rows
    assert row[1:] == (name, len(training_data()[name].items), equal, same, empty, None)
    assert same < row[2]


# ------------------------------------------------------------------------------ what it costs and says


@pytest.mark.thorough
def test_after_an_audit_only_the_special_tokens_are_new() -> None:
    model, data = half_trained_model("bert-uncased"), training_data()["stereoset"]
    unmask.audit(model, data=data, measures=["cps", "pll", "sss", "aul"])
    first = unmask.diagnose(ACCURACY, model, data=data)
    assert list(first.meta["details"]["accuracy"]["sentences_run"].values()) == [2 * len(data.items)]
    again = unmask.diagnose(ACCURACY, model, data=data)
    assert list(again.meta["details"]["accuracy"]["sentences_run"].values()) == [0]
    assert again.meta["findings"][0]["tables"] == first.meta["findings"][0]["tables"]


def test_published_numbers_stand_beside_the_same_model_and_all_of_the_data() -> None:
    of = section("bert-uncased", "stereoset")
    part = training_data()["stereoset"]
    data, settings, paper_model = as_whole(part), UnitOptions(), {"id": "google/roberta-large"}
    what = ACCURACY.observe(_subject(half_trained_model("bert-uncased")), data, settings)
    named = ACCURACY.conclude([DiagnosisObservation(paper_model, data, what)], settings).finding
    cut = ACCURACY.conclude([DiagnosisObservation(paper_model, part, what)], settings).finding
    assert {row[-1] for row in (*cut.tables[0].rows, *cut.tables[2].rows)} == {None}
    paper = [row[-1] for row in named.tables[0].rows]
    assert paper == [None, None, 98.88, 98.88, 3.17, 3.17]
    assert named.tables[2].rows[0][-1] == 1509
    assert {row[-1] for row in of.finding.tables[0].rows} == {None}


def _subject(model: Path) -> Any:
    from unmask.audit.session import Session
    from unmask.models import Engine, open_lm

    return Session(Engine(open_lm(str(model))))


def test_named_measures_alone_are_counted_and_aula_reads_as_aul() -> None:
    model, data = half_trained_model("bert-uncased"), training_data()["stereoset"]
    of = diagnose(model, data, measures=("aula", "cps-exact"))
    assert [row[2] for row in of.finding.tables[0].rows] == ["cps", "aul", "aul"]
    assert [row[2] for row in of.finding.tables[1].rows] == ["aul − cps"]
    none = diagnose(model, data, measures=("all-masked",))
    assert "cps, pll, aul, sss" in none.finding.answers[0]
    assert not none.finding.tables
    with pytest.raises(UnknownName, match="no measure named 'nosuch'"):
        diagnose(model, data, measures=("nosuch",))


def test_one_pair_has_numbers_but_says_why_it_has_no_interval() -> None:
    data = training_data()["stereoset"]
    of = diagnose(half_trained_model("bert-uncased"), replace(data, items=data.items[1:2]))
    accuracy = rows(of, 0)["aul", "content tokens, nothing masked"]["accuracy"]
    assert isinstance(accuracy, Value)
    assert 0 < accuracy.value < 100
    assert accuracy.low != accuracy.low
    assert any(row[4].method == "too few: 1 pairs" for row in of.finding.tables[0].rows)


def test_nothing_to_read_is_said_and_still_drawn() -> None:
    data = replace(training_data()["stereoset"], items=(Pair("x/0", "", ""), Pair("x/1", "", "")))
    of = diagnose(zoo.folder("bert-uncased"), data)
    assert of.finding.answers[0].endswith("no pair could be read")
    assert {row[7] for row in of.finding.tables[0].rows} == {2}
    assert of.finding.plots[0].chart.to_dict()


def test_pairs_with_a_special_token_written_in_them_are_left_out() -> None:
    """`[MASK]` in a sentence would be read, and predicted, as the mask."""
    data = training_data()["stereoset"]
    spelt = [Pair(f"x/{n}", f"{each.more} [MASK]", f"{each.less} [MASK]") for n, each in enumerate(data.items[:3])]
    model = half_trained_model("bert-uncased")
    plain, mixed = (diagnose(model, replace(data, items=items)) for items in (data.items, (*data.items, *spelt)))
    for own, other in zip(plain.finding.tables[0].rows, mixed.finding.tables[0].rows, strict=True):
        assert other[4:7] == own[4:7]
        assert other[7] == own[7] + 3
    assert "[MASK]" in mixed.finding.tables[0].note


def test_equal_sentences_have_no_candidates() -> None:
    text = training_data()["stereoset"].items[0].more
    data = replace(training_data()["stereoset"], items=(Pair("x/0", text, text), Pair("x/1", text, text)))
    table = rows(diagnose(half_trained_model("roberta"), data), 0)
    assert table["sss", "pairs, a whole candidate predicted"]["n"] == 0
    assert table["cps", "shared tokens, each masked alone"]["n"] == table["aul", "content tokens, nothing masked"]["n"]


def test_a_causal_model_is_refused() -> None:
    with pytest.raises(ModelError, match="accuracy needs masked models"):
        diagnose(zoo.folder("gpt2"), training_data()["stereoset"])
