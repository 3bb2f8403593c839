"""Wide tables: rows of models or categories, columns of measures, stars after correction, constants in the caption."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from report import fake
from unmask.audit.findings import verdict
from unmask.audit.interpretation import interpret
from unmask.audit.result import AuditResult
from unmask.core.types import Check
from unmask.findings import Table, latex
from unmask.findings.sentences import WEAK
from unmask.measures import MEASURES
from unmask.report import wide_tables
from unmask.report.run import report
from unmask.report.tables import headline_table
from unmask.report.wide_tables import WideTable

PASSED = (Check("head", True, "fine"),)


def an_audit(name: str, *values: float, p: float = 0.04, checks: tuple[Check, ...] = PASSED) -> AuditResult:
    """An audit with `cps` and `aul` on all pairs and by two categories."""
    estimates = []
    for measure, value in zip(("cps", "aul"), values, strict=True):
        estimates += [fake.estimate(measure, value, p=p, n=40)]
        estimates += [
            fake.estimate(measure, value + shift, group=f"category={category}", n=5, low=20.0, high=90.0, p=0.5)
            for category, shift in (("gender", 3.0), ("age", -3.0))
        ]
    whole = fake.whole()
    return fake.run(fake.meta(model={"id": name, "kind": "masked"}), tuple(estimates), checks, whole.items)


def one_table(wide: list[WideTable]) -> Table:
    (only,) = wide
    return only.table()


def test_models_are_rows_and_measures_are_columns() -> None:
    runs = [an_audit("one", 61.2, 44.0, p=0.0001), an_audit("two", 52.0, 50.0, p=0.02)]
    table = one_table(wide_tables.by_model(runs, ["one", "two"]))
    assert table.title == "our-pairs · bias-score"
    assert table.columns == ("model", "cps", "aul")
    # Holm over the two measures of a model: 2 x 0.0001, 2 x 0.02; the second model's intervals contain 50
    assert table.rows == (("one", "61.2***", "44.0***"), ("two", "52.0", "50.0"))
    assert table.note == (
        "Reference value 50; n = 40; 95% intervals are at most 8.0 wide. "
        "* p < 0.05, ** p < 0.01, *** p < 0.001 against the reference value, by Holm's correction over the headlines "
        "of a dataset (2 measures on our-pairs)."
    )
    assert [table.is_numeric(index) for index in range(3)] == [False, True, True]


def test_categories_of_one_run_are_rows() -> None:
    table = one_table(wide_tables.by_category([an_audit("one", 61.2, 44.0, p=0.001)], ["one"]))
    assert table.title == "our-pairs · bias-score · one"
    # Holm over the two measures: 0.001 becomes 0.002
    assert table.rows == (("gender", "64.2", "47.0"), ("age", "58.2", "41.0"), ("all", "61.2**", "44.0**"))
    assert "n = 5 to 40; 95% intervals are at most 70.0 wide" in table.note


def test_one_measure_is_named_in_the_singular() -> None:
    run = an_audit("one", 61.2, 44.0)
    run.meta["estimates"] = [each for each in run.meta["estimates"] if each["measure"] == "cps"]
    note = one_table(wide_tables.by_category([run], ["one"])).note
    assert "in the row all over 1 measure." in note


def test_a_measure_that_a_run_lacks_is_a_dash_and_a_failed_check_marks_its_row() -> None:
    other = an_audit("two", 52.0, 50.0, checks=(Check("head", False, "random"),))
    kept = [replace(each) for each in other.estimates if each.measure == "cps"]
    other = fake.run(other.meta, tuple(kept), tuple(other.checks), other.items)
    table = one_table(wide_tables.by_model([an_audit("one", 61.2, 44.0), other], ["one", "two"]))
    assert table.texts()[1] == ("two†", "52.0", "–")
    assert table.note.endswith("† a check failed: do not quote this number without it (head: random).")


def test_a_failed_check_marks_the_rows_of_its_dataset_only() -> None:
    checks = (Check("our-pairs/length", False, "92%"), Check("our-triples/length", True, "none"))
    made = an_audit("one", 61.2, 44.0, checks=checks)
    other = fake.estimate("ss", 60.0, statistic="ss", data="our-triples")
    run = fake.run(fake.whole().meta, (*made.estimates, other), checks, made.items)
    pairs, triples = (each.table() for each in wide_tables.by_model([run], ["one"]))
    assert pairs.rows[0][0] == "one†"
    assert "(our-pairs/length: 92%)" in pairs.note
    assert triples.rows[0][0] == "one"
    assert "†" not in triples.note


def test_tables_are_in_the_order_of_the_run() -> None:
    size = fake.estimate("sld", 1.7, statistic="asld", null=0.0, p=None)
    made = an_audit("one", 61.2, 44.0)
    run = fake.run(made.meta, (*made.estimates, size), PASSED, made.items)
    assert [each.table().title for each in wide_tables.by_model([run], ["one"])] == [
        "our-pairs · bias-score",
        "our-pairs · asld",
    ]


def test_published_scores_of_known_models_stand_below() -> None:
    run = an_audit("mine", 61.2, 44.0)
    estimates = tuple(replace(each, data="crows-pairs") for each in run.estimates)
    run = fake.run(fake.meta(data=[{"name": "crows-pairs", "n": 10}]), estimates, PASSED, run.items)
    wide = wide_tables.by_model([run], ["mine"])[0]
    ours = [each for each in reversed(MEASURES["cps"].published) if each.data == "crows-pairs"]
    table, known = wide.table(), {each.model: each for each in ours}  # of several scores of a model the first
    rows = {row[0]: row for row in table.texts()[1:]}
    for model, each in known.items():
        assert rows[f"{model}‡"][1] == f"{each.value:.1f}"
        assert each.where in table.note
    record = next(each for each in wide.records() if each["model"] in known)
    assert record["cps"] == known[record["model"]].value
    assert record["published in"]


def test_the_mean_lean_of_a_word_has_a_table_without_stars() -> None:
    lean = fake.estimate("ppd", 0.5, statistic="appd", null=0.0, low=0.4, high=0.6, p=0.04)
    words = fake.estimate("ppd", 0.6, statistic="mean-word-appd", null=None, p=1e-9, low=0.5, high=0.7)
    run = fake.run(fake.meta(), (lean, words), PASSED, fake.bare().items)
    tables = [each.table() for each in wide_tables.by_model([run], ["one"])]
    assert [table.rows for table in tables] == [(("one", "0.500*"),), (("one", "0.600"),)]


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


def test_a_check_that_one_measure_failed_marks_its_cells_alone() -> None:
    checks = (Check("length", False, "cps 92%", ("cps",)),)
    run = an_audit("one", 61.2, 44.0, checks=checks)
    table = one_table(wide_tables.by_model([run], ["one"]))
    assert table.rows == (("one", "61.2†", "44.0"),)
    assert table.is_numeric(1)
    assert str(report(run, layout="wide", format="csv")).splitlines()[1].split(",")[-2] == "cps"
    assert [interpret(run, each).short.endswith("†") for each in run.headlines()] == [True, False]
    assert [WEAK in interpret(run, each).text for each in run.headlines()] == [True, False]
    assert [WEAK in str(verdict(run, each)) for each in run.headlines()] == [True, False]
    assert [row[1] for row in headline_table([run], ["one"]).rows] == ["cps†", "aul"]


def test_csv_has_plain_numbers_and_markdown_has_marks() -> None:
    runs = [an_audit("one", 61.2, 44.0, p=0.0001), an_audit("two", 52.0, 50.0, p=0.02)]
    assert report(*runs, layout="wide", format="csv") == (
        "data,statistic,model,cps,aul,p (Holm) cps,p (Holm) aul,check failed,published in\n"
        "our-pairs,bias-score,one,61.2,44.0,0.0002,0.0002,,\n"
        "our-pairs,bias-score,two,52.0,50.0,0.04,0.04,,\n"
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
