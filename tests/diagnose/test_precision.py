"""`precision`: every flip must be counted, against its margin and in its group, whatever the aggregate says."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Literal

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

import unmask
import zoo
from unmask import data as datasets
from unmask.audit.session import Session
from unmask.core.errors import ModelError, UnknownName
from unmask.core.options import Opening
from unmask.core.types import Dataset, Outcome, Row
from unmask.diagnose.precision import PRECISION, PrecisionOptions, PrecisionRows, precisions
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Finding, Section
from unmask.measures import MEASURES
from unmask.models import Engine, Store, open_lm

from .plainly import rows_of, run

SETTINGS = PrecisionOptions(measures=("aul",))


@cache
def pairs(n: int = 8) -> Dataset:
    whole = datasets.load("nine-axes")
    return replace(whole, items=whole.items[:n])


def row(item: str, difference: float, category: str = "age") -> Row:
    outcome: Outcome = "tie" if difference == 0 else "more" if difference > 0 else "less"
    return Row("aul", "nine-axes", item, {"category": category}, {"more": difference, "less": 0.0}, outcome)


def concluded(exact: dict[str, float], rounded: dict[str, float], category: dict[str, str] | None = None) -> Finding:
    groups = category or {}
    rows = [[row(item, value, groups.get(item, "age")) for item, value in side.items()] for side in (exact, rounded)]
    result = PrecisionRows({"aul": {"fp32": rows[0], "bf16": rows[1]}}, ())
    return PRECISION.conclude([DiagnosisObservation({"id": "m"}, pairs(), result)], SETTINGS).finding


def test_flips_are_counted_where_the_score_does_not_move() -> None:
    """Ten pairs, a flip in each direction: the score stays at 50, a fifth of the pairs is decided otherwise."""
    exact = {f"{n}": value for n, value in enumerate([0.1, -0.2, 3, -3, 4, -4, 5, -5, 6, -6])}
    rounded = exact | {"0": -0.1, "1": 0.3}
    found = concluded(exact, rounded, {"0": "gender"})
    (items,) = rows_of(found, "Items and scores")
    low, high = proportion_confint(2, 10, method="wilson")
    assert (items["pairs"], items["to"], items["from"]) == (10, 1, 1)
    assert (items["flips, %"].value, items["flips, %"].low, items["flips, %"].high) == pytest.approx(
        (20, 100 * low, 100 * high)
    )
    assert (items["fp32"], items["score"], items["change"].value) == (50, 50, 0)
    assert items["p"] == pytest.approx(binomtest(1, 2).pvalue)
    (margins,) = rows_of(found, "What rounding")
    assert margins["largest error"] == pytest.approx(0.5)
    assert margins["largest margin flipped"] == pytest.approx(0.2)
    assert margins["safe from"] is None  # too few errors for a fit
    shares = [margins[f"{part} margins"].value for part in ("smallest", "second", "third", "largest")]
    assert shares == pytest.approx([200 / 3, 0, 0, 0])  # of 3, 3, 2 and 2 pairs
    by = {each["category"]: each for each in rows_of(found, "Flips by category")}
    assert (by["gender"]["pairs"], by["gender"]["to"], by["gender"]["from"]) == (1, 0, 1)
    assert (by["age"]["pairs"], by["age"]["to"], by["age"]["from"]) == (9, 1, 0)
    assert "2 of 10 pairs" in found.answers[0]


def test_flips_have_the_unit_of_the_data() -> None:
    # five pairs of each of four writers, those of the first all flipped: means 1, 0, 0, 0, so the variance over
    # writers is 0.25 / 4 and that of independent pairs 0.25 · 0.75 / 19; their ratio is 6.33
    exact = [replace(row(f"{n:02}", 1.0), groups={"writer": f"{n // 5}"}) for n in range(20)]
    rounded = [replace(row(each.item, -1.0), groups=each.groups) if n < 5 else each for n, each in enumerate(exact)]
    result = PrecisionRows({"aul": {"fp32": exact, "bf16": rounded}}, ())
    (flips, _) = PRECISION.conclude([DiagnosisObservation({"id": "m"}, pairs(), result)], SETTINGS).estimates
    assert (flips.value, flips.unit, flips.design_effect) == (25.0, "writer", pytest.approx(0.0625 * 19 / 0.1875))
    assert flips.df == pytest.approx(3.0)


def test_no_pair_beyond_the_safe_margin_is_flipped() -> None:
    rng = np.random.default_rng(3)
    exact = {f"{n:03}": float(value) for n, value in enumerate(rng.normal(size=400))}
    rounded = {item: value + float(rng.normal(scale=0.05)) for item, value in exact.items()}
    (margins,) = rows_of(concluded(exact, rounded), "What rounding")
    assert 0.05 * 3 < margins["safe from"] < 0.05 * 8  # 3.3 standard deviations have a chance of 1 in 1,000
    flipped = [abs(exact[item]) for item in exact if (exact[item] > 0) != (rounded[item] > 0)]
    assert margins["largest margin flipped"] == max(flipped) < margins["safe from"]
    assert margins["safe, %"].value == pytest.approx(
        100 * np.mean([abs(value) > margins["safe from"] for value in exact.values()])
    )
    assert margins["smallest margins"].value > 5 * margins["second margins"].value


@cache
def opened(*dtypes: str) -> Section:
    how = replace(SETTINGS, dtypes=dtypes)
    folder = zoo.folder("bert-uncased")
    (found,) = run([PRECISION], [folder], data=pairs(), settings=how, options=unmask.Options(store=False))
    return found


def differences(dtype: Literal["fp32", "bf16"]) -> list[float]:
    """Of every pair by AUL, with the model opened in this precision."""
    engine = Engine(open_lm(zoo.folder("bert-uncased"), Opening(dtype=dtype)), Store(None))
    return [item.row.difference for item in Session(engine).scores(pairs(), [MEASURES["aul"]])["aul"]]


def test_the_model_is_opened_in_every_dtype_of_the_command_line() -> None:
    found = opened().finding
    assert precisions()[0] == "fp32"
    items = {each["precision"]: each for each in rows_of(found, "Items and scores")}
    left_out = {name for name in precisions() if any(f"{name} is left out" in note for note in found.notes)}
    assert items.keys() | left_out == set(precisions()) - {"fp32"}
    margins = {each["precision"]: each for each in rows_of(found, "What rounding")}
    exact, rounded = differences("fp32"), differences("bf16")
    assert items["bf16"]["flips, %"].value == pytest.approx(
        100 * np.mean([(a > 0) != (b > 0) for a, b in zip(exact, rounded, strict=True)])
    )
    assert margins["bf16"]["largest error"] == pytest.approx(np.abs(np.subtract(exact, rounded)).max())
    assert margins["bf16"]["largest error"] > 0


def test_an_unknown_dtype_and_an_opened_model_are_refused_in_one_line() -> None:
    with pytest.raises(UnknownName, match="int3"):
        opened("int3")
    lm = open_lm(zoo.folder("bert-uncased"))
    with pytest.raises(ModelError, match="give its name or folder to open it in bf16"):
        run([PRECISION], [lm], data=pairs(), settings=replace(SETTINGS, dtypes=("bf16",)))


def test_estimates_name_the_precision() -> None:
    rows = [row(f"{n}", 1.0) for n in range(3)]
    result = PrecisionRows({"aul": {"fp32": rows, "bf16": rows}}, ())
    seen = [DiagnosisObservation({"id": "m"}, pairs(), result)]
    assert [(each.measure, each.statistic, each.group) for each in PRECISION.conclude(seen, SETTINGS).estimates] == [
        ("precision/aul", "flips", "precision=bf16"),
        ("precision/aul", "change-bias-score", "precision=bf16"),
    ]
