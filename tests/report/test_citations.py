"""One bibliography for pages and documentation."""

from __future__ import annotations

import re
from pathlib import Path

from unmask.diagnose import DIAGNOSES
from unmask.measures import MEASURES
from unmask.report import page
from unmask.report.citations import bibliography, references, source

from . import fake

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BIBLIOGRAPHY = (ROOT / "src" / "unmask" / "report" / "references.bib").read_text(encoding="utf-8")


def test_every_entry_is_read_with_title_and_year() -> None:
    written = re.findall(r"^@\w+\{([^,]+),", BIBLIOGRAPHY, re.MULTILINE)
    assert list(references()) == written
    assert len(set(written)) == len(written) > 10
    assert all(work.fields["title"] and work.fields["year"] for work in references().values())


def test_the_documentation_shows_the_same_file() -> None:
    assert (DOCS / "references.bib").read_text(encoding="utf-8") == BIBLIOGRAPHY


def test_short_form_of_references() -> None:
    assert source("salazar-etal-2020-masked") == "Salazar et al. (2020). Masked Language Model Scoring."
    assert source("kaneko-bollegala-2022-unmasking").startswith("Kaneko and Bollegala (2022). Unmasking the")
    assert source("gbef-2023").startswith("Barza (2023). Towards a Robust Gender Bias Evaluation in NLP.")
    assert source("neveol-etal-2022-french").startswith("Névéol et al. (2022). French CrowS-Pairs: ")
    assert source("prompts-2023").endswith("Natural Language Processing (2023).")
    assert source("nobody-1900") == "nobody-1900"
    assert not re.search(r"[{}\\]", " ".join(work.short for work in references().values()))


def test_everything_cited_is_listed() -> None:
    cited = {one.citation for one in (*MEASURES.values(), *DIAGNOSES.values())} | set(page.CITED)
    assert cited <= references().keys()


def test_each_reference_is_printed_once() -> None:
    key = "nangia-etal-2020-crows"
    text = bibliography([key, key, "nobody"], [references()[key].bibtex, "@misc{own,\n title={x}}", "", "plain words"])
    assert text.count(f"{{{key},") == 1
    assert text.endswith("@misc{own,\n title={x}}\n\nplain words")


def test_a_run_cites_its_measures_its_data_and_what_the_page_says() -> None:
    text = page.collect_bibtex([fake.whole()])
    keys = set(re.findall(r"^@\w+\{([^,]+),", text, re.MULTILINE))
    assert {"salazar-etal-2020-masked", "nadeem-etal-2021-stereoset", "ours", *page.CITED} <= keys
    assert "gao-etal-lm-eval" not in keys
