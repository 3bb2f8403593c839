"""Wide tables: rows of models or categories, columns of measures, stars after correction, constants in the caption."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from report import fake
from unmask.audit.result import AuditResult
from unmask.core.types import Check
from unmask.findings import latex
from unmask.report import wide_tables
from unmask.report.run import report

PASSED = (Check("head", True, "fine"),)


def an_audit(name: str, *values: float, p: float = 0.04, checks: tuple[Check, ...] = PASSED) -> AuditResult:
    """An audit with `cps` and `aul` on all pairs and by two categories."""
    estimates = []
    for measure, value in zip(("cps", "aul"), values, strict=True):
        estimates += [fake.estimate(measure, value, p=p, n=10)]
        estimates += [
            fake.estimate(measure, value + shift, group=f"category={category}", n=5, low=20.0, high=90.0, p=0.5)
            for category, shift in (("gender", 3.0), ("age", -3.0))
        ]
    whole = fake.whole()
    return fake.run(fake.meta(model={"id": name, "kind": "masked"}), tuple(estimates), checks, whole.items)


def test_models_are_rows_and_measures_are_columns() -> None:
    runs = [an_audit("one", 61.2, 44.0, p=0.0001), an_audit("two", 52.0, 50.0, p=0.02)]
    (table,) = wide_tables.by_model(runs, ["one", "two"])
    assert table.title == "our-pairs · bias-score"
    assert table.columns == ("model", "cps", "aul")
    # Holm over p = 0.0001, 0.0001, 0.02, 0.02: 0.0004 twice, then 2 x 0.02 = 0.04
    assert table.rows == (("one", "61.2***", "44.0***"), ("two", "52.0*", "50.0*"))
    assert table.note == (
        "Chance level 50; n = 10; 95% intervals are at most 8.0 wide. "
        "* p < 0.05, ** p < 0.01, *** p < 0.001, by Holm's correction over 4 tests."
    )
    assert [table.is_numeric(index) for index in range(3)] == [False, True, True]


def test_categories_of_one_run_are_rows() -> None:
    (table,) = wide_tables.by_category([an_audit("one", 61.2, 44.0, p=0.001)], ["one"])
    assert table.title == "our-pairs · bias-score · one"
    # Holm over six tests: 0.001 becomes 0.006, and of 0.5 nothing is left
    assert table.rows == (("gender", "64.2", "47.0"), ("age", "58.2", "41.0"), ("all", "61.2**", "44.0**"))
    assert "n = 5 to 10; 95% intervals are at most 70.0 wide" in table.note


def test_a_measure_that_a_run_lacks_is_a_dash_and_a_failed_check_marks_its_row() -> None:
    other = an_audit("two", 52.0, 50.0, checks=(Check("head", False, "random"),))
    kept = [replace(each) for each in other.estimates if each.measure == "cps"]
    other = fake.run(other.meta, tuple(kept), tuple(other.checks), other.items)
    (table,) = wide_tables.by_model([an_audit("one", 61.2, 44.0), other], ["one", "two"])
    assert table.texts()[1] == ("two†", "52.0", "–")
    assert table.note.endswith("† a check failed: do not quote this number without it.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "html"}, "the layout wide is for the formats md, latex and csv"),
        ({"format": "md", "tables": ["checks"]}, "the table checks has no wide layout: choose headline or category"),
    ],
)
def test_what_has_no_wide_layout_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        report(an_audit("one", 61.2, 44.0), layout="wide", **options)


def test_csv_and_markdown_have_the_same_cells() -> None:
    runs = [an_audit("one", 61.2, 44.0, p=0.0001), an_audit("two", 52.0, 50.0, p=0.02)]
    assert report(*runs, layout="wide", format="csv") == (
        "model,cps,aul,table\none,61.2***,44.0***,our-pairs · bias-score\ntwo,52.0*,50.0*,our-pairs · bias-score\n"
    )
    assert "| one | 61.2\\*\\*\\* | 44.0\\*\\*\\* |" in str(report(*runs, layout="wide", format="md"))


def test_every_table_compiles(pdflatex: str, tmp_path: Path) -> None:
    """Tables pasted into a paper compile with pdfLaTeX: names with underscores, stars, daggers, minus signs."""
    failing = an_audit("a_model/50%_#1 & {two}", 61.2, 44.0, checks=(Check("head", False, "random $ weights_"),))
    runs = [failing, an_audit("two~^<b>|\\end", 52.0, 50.0, p=0.02)]
    texts = [str(report(*runs, layout="wide", format="latex"))]
    texts += [str(report(runs[0], layout=layout, format="latex")) for layout in ("wide", "long")]
    preamble = "\\documentclass{article}\\usepackage{booktabs,longtable}\\usepackage[T1]{fontenc}"
    body = "\n\\clearpage\n".join(texts)
    (tmp_path / "paper.tex").write_text(f"{preamble}\\begin{{document}}\n{body}\n\\end{{document}}\n", encoding="utf-8")
    words = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000
    assert all(text.startswith(latex.document([])[:20]) for text in texts)
