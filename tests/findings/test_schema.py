"""The types by which a result is read and the JSON Schema for other programs say the same."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest
from pydantic import TypeAdapter

from unmask.core.errors import ResultError
from unmask.core.estimate import Estimate
from unmask.findings.envelope import build
from unmask.findings.schema import StoredResult, check_result

SCHEMA = json.loads((resources.files("unmask.findings") / "result.schema.json").read_text("utf-8"))
PARTS = {"model": "StoredModel", "estimate": "StoredEstimate", "check": "StoredCheck", "finding": "StoredFinding"}
FINDING = {"name": "", "title": "", "lead": "", "answers": [], "tables": [], "plots": [], "notes": [], "foot": ""}
CPS = {"measures": [{"name": "cps", "title": "", "reads": "", "citation": "", "summary": "share", "null": 50.0,
       "in_nats": True, "decimals": None, "baseline": False}]}  # fmt: skip
PARTS |= {"table": "StoredTable", "plot": "StoredPlot"}


@pytest.fixture(scope="module")
def typed() -> dict[str, Any]:
    return TypeAdapter(StoredResult).json_schema()


def test_the_parts_of_a_result_are_the_same_in_both(typed: dict[str, Any]) -> None:
    pairs = [(SCHEMA, typed), *((SCHEMA["$defs"][name], typed["$defs"][kind]) for name, kind in PARTS.items())]
    for described, read in pairs:
        assert {*read["required"]} <= {*described["required"]}
        if described.get("additionalProperties") is False:
            assert {*read["properties"]} == {*described["properties"]}


def test_the_kinds_and_the_names_of_plots_are_the_same_in_both(typed: dict[str, Any]) -> None:
    assert typed["properties"]["kind"]["enum"] == SCHEMA["properties"]["kind"]["enum"]
    assert (
        typed["$defs"]["StoredPlot"]["properties"]["id"]["pattern"]
        == SCHEMA["$defs"]["plot"]["properties"]["id"]["pattern"]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimates": {}}, "estimates is {}: input should be a valid list"),
        ({"model": {"id": 3}}, "id is 3: input should be a valid string"),
        ({"checks": [{"name": "ties", "ok": "yes", "detail": ""}]}, r"checks\[0\].ok is 'yes'"),
        ({"kind": "guess"}, "kind is 'guess'"),
        ({"model": None, "kind": "audit"}, "model is None, expected the facts"),
        (
            {"findings": [{**FINDING, "tables": [
                {"title": "T", "note": "", "digits": 2, "columns": ["a", "b"], "rows": [{"a": 1}]}]}]},
            "row 0 of the table 'T' has no 'b'",
        ),
        (
            {"findings": [{**FINDING, "plots": [{"id": "../../x", "title": "", "alt": "", "chart": {}}]}]},
            "id is '../../x'",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_in_one_line(change: dict[str, Any], message: str) -> None:
    """A plot whose name is a path would be written outside of the folder for figures."""
    meta = build("vectors")
    assert check_result(meta, "result.json") == meta
    with pytest.raises(ResultError, match=message):
        check_result({**meta, **change}, "result.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": 1000.0, "low": 900.0, "high": 1100.0}, "value 1000.0.*expected 0 to 100"),
        ({"value": -5.0, "low": -5.0}, "expected 0 to 100"),
        ({"low": 90.0, "high": 10.0}, "expected low ≤ value ≤ high"),
        ({"value": 99.0}, "expected low ≤ value ≤ high"),
        ({"n": 0}, "has n 0; expected n above 0 where there is a value"),
        ({"ties": 10**9}, "has ties 1000000000; expected at most the 360 items of own"),
        ({"p": 7}, "p is 7: input should be less than or equal to 1"),
        ({"p_holm": -0.5}, "p_holm is -0.5"),
        ({"null": 500.0}, "has null 500.0; expected 0 to 100"),
        ({"df": 0.0}, "df is 0.0"),
        ({"design_effect": -1.0}, "design_effect is -1.0"),
        ({"data": "other"}, r"has data other; expected data of the audit \(own\)"),
        ({"measure": "aul"}, r"has measure aul; expected measures of the audit \(cps\)"),
    ],
)
def test_numbers_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    """A bias score of 1,000 would be printed as "prefers the stereotyping sentence in 1,000% of pairs", and gated."""
    estimate = {
        "measure": "cps", "data": "own", "group": "all", "statistic": "bias-score", "value": 55.0, "low": 44.0,
        "high": 60.0, "null": 50.0, "n": 360, "ties": 0, "unscored": 0, "method": "wilson", "p": 0.1, "p_holm": None,
    }  # fmt: skip
    whole = build("audit", models=[{"id": "m"}], data=[{"name": "own", "n": 360}], details=CPS)
    missing = {**estimate, "value": None, "low": None, "high": None, "null": None, "n": 0, "p": None}
    for fits in ([estimate], [missing]):
        assert check_result({**whole, "estimates": fits}, "result.json")
    with pytest.raises(ResultError, match=message):
        check_result({**whole, "estimates": [estimate | change]}, "result.json")
    with pytest.raises(ResultError, match="two estimates of cps, own, all, bias-score"):
        check_result({**whole, "estimates": [{**estimate, "value": 45.0}, estimate]}, "result.json")


@pytest.mark.parametrize(
    ("statistic", "value", "fits"),
    [
        ("appd", 50.0, -1.0),
        ("mean-word-appd", -3.0, 0.0),
        ("mean-word-appd", 50.0, 1.0),
        ("asld", -5.0, 30.0),
        ("accuracy, pro, %", 1000.0, 100.0),
        ("direction-gap", 101.0, 100.0),
        ("TPR gap, women − men", 5.0, -0.5),
    ],
)
@pytest.mark.parametrize("kind", ["audit", "task"])
def test_values_outside_of_their_scale_are_refused(kind: Any, statistic: str, value: float, fits: float) -> None:
    """They would be printed as they are, and gated."""
    estimate = Estimate(fits, measure="cps", data="own", statistic=statistic, null=0.0, n=9)
    whole = build(kind, models=[{"id": "m"}], data=[{"name": "own"}], estimates=[estimate], details=CPS)
    assert check_result(whole, "result.json") == whole
    impossible = [{**whole["estimates"][0], "value": value}]
    with pytest.raises(ResultError, match="expected"):
        check_result({**whole, "estimates": impossible}, "result.json")
    with pytest.raises(ResultError, match="n above 0 where there is a value"):
        check_result({**whole, "estimates": [{**whole["estimates"][0], "n": 0}]}, "result.json")


def test_an_audit_without_data_has_no_estimates() -> None:
    """The gate would look for no check of its model."""
    estimate = Estimate(50.0, measure="cps", data="own", statistic="bias-score", null=50.0, n=9)
    whole = build("audit", models=[{"id": "m"}], estimates=[estimate], details=CPS)
    with pytest.raises(ResultError, match=r"has data own; expected data of the audit \(none\)"):
        check_result(whole, "result.json")


def test_a_missing_part_is_named() -> None:
    meta = build("vectors")
    del meta["estimates"]
    with pytest.raises(ResultError, match=r"result\.json has no estimates: field required"):
        check_result(meta, "result.json")
