"""A table is a query over estimates."""

from __future__ import annotations

from unmask.core.estimate import Estimate, Value
from unmask.findings.table import table

ESTIMATES = [
    Estimate(float(value), value - 1.0, value + 1.0, "t", measure=measure, data="d", group=group, n=value)
    for value, (measure, group) in enumerate(
        (measure, group) for measure in ("aul", "cps") for group in ("all", "category=age", "category=gender")
    )
]


def test_one_row_an_estimate() -> None:
    built = table("t", ESTIMATES, rows=("measure", "category"), columns=("value", "n"), note="how")
    assert built.columns == ("measure", "category", "value", "n")
    assert [row[1] for row in built.rows] == ["all", "age", "gender"] * 2
    assert built.rows[4] == ("cps", "age", Value(4.0, 3.0, 5.0, "t"), 4)
    assert built.note == "how"


def test_across_makes_a_column_of_every_value() -> None:
    built = table("t", ESTIMATES[:5], rows=("category",), across="measure")
    assert built.columns == ("category", "aul", "cps")
    assert [cell.value for cell in built.rows[1][1:]] == [1.0, 4.0]  # type: ignore[union-attr]
    assert built.rows[2][2] is None


def test_a_column_may_be_a_function_under_its_own_heading() -> None:
    built = table("t", ESTIMATES[:1], rows={"by": "measure"}, columns={"half": lambda estimate: estimate.value / 2})
    assert built.columns == ("by", "half")
    assert built.rows == (("aul", 0.0),)
