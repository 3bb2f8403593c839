"""Tables as Markdown, LaTeX and CSV: the same numbers, and no text that comes alive."""

from __future__ import annotations

import csv
import io
import math
import re

import pytest

from unmask.findings import Table, Value, latex, markdown
from unmask.findings import csv as writer
from unmask.findings.envelope import Result
from unmask.report import selection, tables

from . import fake

HOSTILE = '</td><script>alert(1)</script> | [x](javascript:alert(2)) \\input{/etc/passwd} $x$ & % # _ ~ ^ "'
FORMULAS = ["=1+1", "+1+1", "-1-1", "@SUM(A1)", "\t=1", " =cmd|' /C calc'!A0", '=HYPERLINK("http://x.test")']


def hostile() -> Result:
    estimates = (
        fake.estimate(HOSTILE, 61.0, data=HOSTILE, statistic=HOSTILE, method=HOSTILE),
        fake.estimate(HOSTILE, 61.0, data=HOSTILE, statistic=HOSTILE, group=f"category={HOSTILE}\n\nx"),
    )
    return fake.run(fake.meta(model={"id": HOSTILE}), estimates, fake.whole().checks, fake.bare().items)


def csv_text(made: Result, name: str) -> str:
    return writer.table(tables.full_estimates([made], [name]))


def rows_of_markdown(text: str) -> list[list[str]]:
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]


def test_headline_table_has_every_estimate() -> None:
    made = fake.whole()
    table = tables.headline_table([made], ["tiny-bert"])
    assert table.columns[0] == "data"
    by_measure = {row[1]: row for row in table.rows}
    assert by_measure["cps†"] == (
        *("our-pairs", "cps†", "bias-score", "61.2", "57.2 to 65.2", "50", "100", "0.004", "0.012", ""),
    )
    assert by_measure["icat†"][4] == "none"
    assert len(table.rows) == len(made.headlines())
    assert table.note.startswith(  # columns with one value are in the caption
        "No ties. All items were scored. † a check failed: do not interpret this number (accuracy: only 3% of tokens"
    )
    assert table.title == "Headline estimates of tiny-bert"


def test_several_models_get_a_column() -> None:
    table = tables.headline_table([fake.whole(), fake.bare()], ["one", "two"])
    assert table.columns[0] == "model"
    assert [row[0] for row in table.rows][-1] == "two"


def test_category_marks_follow_holms_correction() -> None:
    made = fake.whole()
    rows = tables.category_table([made], ["m"]).rows
    marks = [row[-1] for row in rows]
    assert set(marks) == {""}  # a failed check forbids to interpret the numbers
    made = fake.run(made.meta, made.estimates, made.checks[:1], made.items)
    marks = [row[-1] for row in tables.category_table([made], ["m"]).rows]
    assert marks == ["*" if e.p_holm == 0.02 else "" for e in selection.by_group(made, "category")]
    assert "*" in marks


def test_markdown_tables_are_rectangular_and_hold_the_text() -> None:
    table = Table("T", ("a", "p"), (("x|y", 0.0004), (None, 0.5), (Value(1.0, 0.5, 2.0), math.nan)), "Note.")
    text = markdown.document([table, Table("empty", ("a",), ())])
    assert text.startswith("## T\n\n| a | p |\n| --- | --- |\n")
    assert "| x\\|y | &lt; 0.001 |" in text
    assert "| – | 0.500 |" in text
    assert "| 1.00 (0.50 to 2.00) | – |" in text
    assert text.endswith("\n\nNote.\n")
    assert "empty" not in text


def test_latex_tables_have_rules_and_no_live_characters() -> None:
    table = Table("A & B", ("measure", "change"), (("cps_x", "−0.5"), ("50%", "–")), "p < 0.05.")
    text = latex.document([table])
    for rule in ("\\toprule", "\\midrule", "\\bottomrule", "\\begin{tabular}{lr}"):
        assert rule in text
    assert "\\caption{A \\& B. p \\textless{} 0.05.}" in text
    assert "cps\\_x & \\ensuremath{-}0.5 \\\\" in text
    assert "50\\% & -- \\\\" in text


def test_long_latex_tables_may_break() -> None:
    table = Table("Long", ("n",), tuple((i,) for i in range(latex.LONG + 1)))
    text = latex.table(table)
    assert text.startswith("\\begin{longtable}{r}")
    assert text.endswith("\\end{longtable}")


def test_hostile_text_is_inert_in_markdown() -> None:
    made = [tables.headline_table([hostile()], [HOSTILE]), tables.category_table([hostile()], [HOSTILE])]
    text = markdown.document(made)
    assert "<" not in text
    assert "](" not in text.replace("\\](", "")
    assert all(len(row) == 9 for row in rows_of_markdown(markdown.table(made[0])))
    assert len(rows_of_markdown(markdown.table(made[1]))) == 3


def test_hostile_text_is_inert_in_latex() -> None:
    made = [tables.headline_table([hostile()], [HOSTILE]), tables.category_table([hostile()], [HOSTILE])]
    text = latex.document(made)
    assert "\\input" not in text
    assert "\\textbackslash{}input\\{/etc/passwd\\}" in text
    assert "<" not in text
    body = text.split("\\midrule")[1].split("\\bottomrule")[0]
    assert len(re.findall(r"(?<!\\)&", body)) == len(made[0].columns) - 1
    assert not re.search(r"(?<!\\)[$#%_~^]", body)
    assert "\n\n" not in latex.table(made[1])


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_of_data_are_text_in_csv(text: str) -> None:
    made = fake.run(fake.meta(model={"id": text}), (fake.estimate("cps", -4.5, data=text),), (), fake.bare().items)
    (row,) = csv.DictReader(io.StringIO(csv_text(made, text)))
    assert row["model"] == row["data"] == f"'{text}"
    assert float(row["value"]) == -4.5


def test_csv_keeps_every_digit() -> None:
    made = fake.whole()
    rows = list(csv.DictReader(io.StringIO(csv_text(made, "m"))))
    assert len(rows) == len(made.estimates)
    for row, estimate in zip(rows, made.estimates, strict=True):
        assert (row["measure"], row["data"], row["group"]) == (estimate.measure, estimate.data, estimate.group)
        assert float(row["value"]) == estimate.value
        assert (row["low"] == "") == math.isnan(estimate.low)
        if row["low"]:
            assert (float(row["low"]), float(row["high"])) == (estimate.low, estimate.high)
        assert (row["null"], row["signed"]) == (
            ("", "") if estimate.null is None else (repr(estimate.null), repr(estimate.value - estimate.null))
        )
    assert {bool(row["low"]) for row in rows} == {bool(row["null"]) for row in rows} == {True, False}


def test_checks_are_a_table_too() -> None:
    rows = tables.check_table([fake.whole()], ["m"]).rows
    assert rows[1] == ("FAILED", "accuracy", "only 3% of tokens predicted")
    text = writer.table(tables.full_checks([fake.whole()], ["m"]))
    assert text.splitlines()[2] == "m,accuracy,False,only 3% of tokens predicted"
