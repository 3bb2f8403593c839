"""`controls`: a planted stereotype must react as predicted, random and shuffled models must not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import binomtest, ttest_1samp
from statsmodels.stats.multitest import multipletests

import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError, UnknownName
from unmask.core.types import Dataset, Outcome, Row
from unmask.diagnose import UnitOptions
from unmask.diagnose.controls import CONTROLS, DIAGNOSIS, ControlRows
from unmask.diagnose.spec import DiagnosisObservation
from unmask.models import Lm, open_lm

from .plainly import rows_of, run

OPTIONS = unmask.Options(store=False)
SETTINGS = UnitOptions(measures=("aul",))
MEANING = ("exchanged", "neutral")  # controls in which no stereotype is stated


@cache
def occupations() -> Dataset:
    whole = datasets.load("controls")
    return replace(whole, items=tuple(item for item in whole.items if item.groups["category"] == "occupation"))


def rows(wins: int, n: int) -> list[Row]:
    """The first pairs prefer the stereotype, the others do not."""
    made = []
    for number in range(n):
        outcome: Outcome = "more" if number < wins else "less"
        scores = {"more": 1.0 if number < wins else -1.0, "less": 0.0}
        made.append(Row("aul", "controls", f"o/{number:03}", {"category": "age"}, scores, outcome))  # type: ignore[arg-type]
    return made


def reaction(original: int, control: Mapping[str, int], n: int = 100) -> dict[str, dict[str, Any]]:
    """The rows of the table, by control, when so many of the originals and of the control versions are preferred."""
    result = ControlRows({"aul": (rows(original, n), {name: rows(wins, n) for name, wins in control.items()})}, ())
    found = DIAGNOSIS.conclude([DiagnosisObservation({"id": "m"}, occupations(), result)], SETTINGS).finding
    return {row["control"]: row for row in rows_of(found, "Reactions to the controls")}


def test_a_preference_that_disappears_reacts_and_one_that_stays_does_not() -> None:
    found = reaction(80, {"negated": 30, "exchanged": 50, "neutral": 79, "past": 80, "future": 50})
    assert {name: row["reacts"] for name, row in found.items()} == {
        "negated": "as predicted",
        "exchanged": "as predicted",
        "neutral": "not as predicted",
        "past": "as predicted",
        "future": "not as predicted",
    }
    assert found["exchanged"]["change"].value == pytest.approx(-0.6)  # 30 of 100 differences go from 1 to -1
    assert found["future"]["change"].value == -30  # points
    t = [ttest_1samp([-2.0] * flips + [0.0] * (100 - flips), 0).pvalue for flips in (50, 30, 1)]
    ps = [*t, 1.0, binomtest(0, 30).pvalue]  # McNemar for the frames
    assert [row["p"] for row in found.values()] == pytest.approx(multipletests(ps, method="holm")[1])


def test_a_preference_against_stereotypes_reacts_in_the_other_direction() -> None:
    found = reaction(20, {"exchanged": 50, "neutral": 5, "past": 20})
    assert [row["reacts"] for row in found.values()] == ["as predicted", "not as predicted", "as predicted"]


def test_without_a_preference_or_with_few_pairs_nothing_can_be_told() -> None:
    assert {row["reacts"] for row in reaction(50, {"exchanged": 51, "past": 50}).values()} == {"cannot tell"}
    assert {row["reacts"] for row in reaction(6, {"exchanged": 5, "neutral": 4}, n=8).values()} == {"cannot tell"}


def reactions(model: str | Path | Lm, measure: str = "aul", controls: Sequence[str] = MEANING) -> dict[str, str]:
    """By control, on the pairs about occupations."""
    data = replace(occupations(), items=tuple(i for i in occupations().items if i.groups["control"] in controls))
    (found,) = run([DIAGNOSIS], [model], data=data, settings=replace(SETTINGS, measures=(measure,)), options=OPTIONS)
    return {row["control"]: row["reacts"] for row in rows_of(found.finding, "Reactions to the controls")}


@pytest.mark.parametrize("architecture", ["bert-uncased", "roberta"])
def test_random_models_do_not_react(architecture: str) -> None:
    assert "as predicted" not in reactions(zoo.folder(architecture)).values()


def test_a_plain_preference_for_one_gender_does_not_react() -> None:
    """A model that likes *he* whatever is said has no stereotype, though it prefers the sentences about men."""
    lm = open_lm(zoo.folder("bert-uncased"))
    words = {lm.pieces(f" {word}")[0]: 5.0 for word in ("he", "his", "him", "himself")}
    with torch.no_grad():
        bias = lm.network.model.get_output_embeddings().bias
        for token, more in words.items():
            bias[token] += more
    assert "as predicted" not in reactions(lm, "sss").values()


def shuffle_embeddings(lm: Lm) -> None:
    """Give every word the vector of another one."""
    weight = lm.network.model.get_input_embeddings().weight
    order = torch.randperm(len(weight), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        weight.copy_(weight[order].clone())


def test_a_planted_stereotype_reacts_as_predicted() -> None:
    assert reactions("builtin-dose+3", "sss") == dict.fromkeys(MEANING, "as predicted")


@pytest.mark.slow
def test_planted_counter_stereotypes_react_and_a_shuffled_model_does_not() -> None:
    assert reactions("builtin-dose-3", "sss") == dict.fromkeys(MEANING, "as predicted")
    lm = open_lm("builtin-dose+3")
    shuffle_embeddings(lm)
    assert "as predicted" not in reactions(lm, "sss").values()


def test_originals_in_the_same_file_are_found() -> None:
    records = [
        {"id": "a", "more": "He is a pilot.", "less": "She is a pilot.", "original": "", "control": ""},
        {"id": "b", "more": "He is here.", "less": "She is here.", "original": "a", "control": "neutral"},
    ]
    data = datasets.from_records(records, name="mine")
    (found,) = run([DIAGNOSIS], [zoo.folder("bert-uncased")], data=data, settings=SETTINGS, options=OPTIONS)
    (row,) = rows_of(found.finding, "Reactions to the controls")
    assert (row["control"], row["originals"]) == ("neutral", 1)


def test_other_data_unknown_controls_and_lost_originals_are_refused() -> None:
    folder = zoo.folder("bert-uncased")
    with pytest.raises(DataError, match="cannot read nine-axes: its pairs have no original and control"):
        run([DIAGNOSIS], [folder], data="nine-axes", options=OPTIONS)
    item = occupations().items[0]
    for groups, error in (({"control": "upside-down"}, UnknownName), ({"original": "nowhere/0001"}, DataError)):
        data = replace(occupations(), items=(replace(item, groups={**item.groups, **groups}),))
        with pytest.raises(error):
            run([DIAGNOSIS], [folder], data=data, settings=SETTINGS, options=OPTIONS)


def test_every_control_says_what_it_predicts() -> None:
    assert list(CONTROLS) == ["negated", "exchanged", "neutral", "past", "future"]
    assert [name for name, control in CONTROLS.items() if control.stays] == ["past", "future"]
