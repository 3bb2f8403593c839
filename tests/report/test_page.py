"""The page of an audit: a reader would miss a section, number or warning, or run hostile text, if these failed."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from unmask.core.types import Check
from unmask.data import load as load_data
from unmask.findings import Finding, Plot, Section, charts
from unmask.findings.assets import legible
from unmask.findings.envelope import Result, build
from unmask.report import page as audit_page
from unmask.report import tables
from unmask.report.run import report

from . import fake, made
from .htmls import Page

SECTIONS = ["findings", "categories", "checks", "spread", "pairs", "limits", "method", "downloads"]
HOSTILE = "</script></noscript><script>alert(1)</script><img src=x onerror=alert(2)> & \" ' {{ 7*7 }} \u2028"
HOSTILE += " \x1b[31m \0 \u202e \ufffe"


@pytest.fixture(scope="module")
def whole() -> Page:
    return Page(audit_page.page(fake.whole()))


def hostile() -> Result:
    """Every text a dataset or a result can bring in is an attack."""
    item = fake.row("cps", HOSTILE, -1.0, -2.0, category=HOSTILE, direction=HOSTILE)
    items = pa.Table.from_pylist([{**item, "text_more": HOSTILE, "text_less": HOSTILE}])
    kept = {"measure": "cps", "item": HOSTILE, "position": 1, "weight": 1.0, "in_span": True}
    tokens = [{**kept, "side": "more", "token": HOSTILE, "logprob": -1.0}]
    tokens += [{**kept, "side": "less", "token": HOSTILE + "b", "logprob": -2.0}]
    card = dict.fromkeys(("name", "title", "licence", "citation", "problems", "sha256"), HOSTILE)
    plain = {"name": HOSTILE, "id": HOSTILE, HOSTILE: HOSTILE}
    meta = {"unmask": HOSTILE, "model": plain, "data": [card | {"n": 1, "warnings": [HOSTILE]}]}
    meta |= {"options": plain, "versions": plain}
    estimates = (
        fake.estimate("cps", 60.0, method=HOSTILE),
        fake.estimate(HOSTILE, 60.0, statistic=HOSTILE, data=HOSTILE),
        fake.estimate("cps", 60.0, group=f"category={HOSTILE}", p_holm=0.01),
        fake.estimate("cps", 60.0, group=f"{HOSTILE}=x"),
    )
    return fake.run(meta, estimates, (Check(HOSTILE, False, HOSTILE),), items, fake.token_table(tokens))


def test_every_section_is_there_in_order(whole: Page) -> None:
    headings = [found["id"] for tag, found in whole.tags if tag == "h2"]
    assert headings == SECTIONS


def test_page_says_its_language_title_and_captions(whole: Page) -> None:
    assert ("html", {"lang": "en"}) in whole.tags
    tags = [tag for tag, _ in whole.tags]
    assert tags.count("table") == tags.count("caption") > 5
    assert tags.count("h1") == tags.count("title") == 1


def test_introduction_is_two_sentences(whole: Page) -> None:
    assert "We gave tiny-bert, a masked language model with 4,400,000 parameters, 10 items of Our pairs" in whole.text
    assert "in 7 ways (pll, cps, aul, sld, lms, ss, icat)" in whole.text


def test_headlines_are_explained_in_words(whole: Page) -> None:
    assert whole.text.count("a check failed: do not interpret this number") >= len(fake.whole().headlines())
    assert "leans" not in whole.text.partition("By category")[2].partition("Checks")[0]
    made = fake.whole()
    text = Page(audit_page.page(fake.run(made.meta, made.estimates, made.checks[:1], made.items, made.tokens))).text
    assert "in 53% of pairs (49–57%) by pll, which chance alone can explain (3 measures tested, corrected" in text
    assert "Other measures: cps 61%, more often than chance; aul 44%, less often than chance." in text
    assert "No preference found by this measure: 53.0 (49.0 to 57.0) pll bias-score, reference value 50, n 100" in text
    assert "Leans towards stereotypes: 61.2 (57.2 to 65.2) cps bias-score, reference value 50, n 100" in text
    assert "100 would be perfect language modelling without a preference: 66.0 , no interval icat , n 100" in text
    assert "unbiased" not in text


@pytest.mark.thorough
def test_failed_check_has_a_banner_before_the_numbers() -> None:
    text = audit_page.page(fake.whole())
    assert text.index('id="failed-checks"') < text.index('id="findings"')
    assert "1 of 2 checks failed: do not interpret these numbers" in text
    fine = fake.whole()
    passed = fake.run(fine.meta, fine.estimates, fine.checks[:1], fine.items, fine.tokens)
    assert 'id="failed-checks"' not in audit_page.page(passed)


def test_the_page_says_when_it_was_measured_and_how_to_repeat_it(tmp_path: Path) -> None:
    data = made.run(tmp_path, [(load_data("nine-axes"), ["cps"])], model="bert base", facts={"revision": "abc"})
    os.utime(tmp_path / "result.json", (1_763_436_000, 1_763_436_000))
    page = Page(audit_page.page(data))
    assert "measured 2025-11-18 03:20 UTC (when result.json was written), unmask 0.1.0" in page.text
    assert "repeat unmask audit 'bert base@abc' --data nine-axes --measure cps" in page.text
    assert "2025-11" not in (tmp_path / "result.json").read_text(encoding="utf-8")
    assert "measured 20" not in Page(audit_page.page(fake.bare())).text


def test_unscored_pairs_are_listed_with_their_reason(whole: Page) -> None:
    assert "longer than the model allows" in whole.text


def test_duplicate_measures_refer_to_the_first(whole: Page) -> None:
    assert "All differences equal those of pll: see there." in whole.text
    assert "All differences equal those of lms: see there." in whole.text


def test_a_minimal_run_makes_a_page() -> None:
    page = Page(audit_page.page(fake.bare()))
    assert [found["id"] for tag, found in page.tags if tag == "h2"] == SECTIONS
    assert "No check was recorded." in page.text
    assert "Every pair was scored by every measure." in page.text
    assert "This run was not split into groups." in page.text


def test_an_empty_run_makes_a_page() -> None:
    empty = fake.run({}, (), (), fake.bare().items.slice(0, 0))
    assert "This run has no estimate over all items." in Page(audit_page.page(empty)).text


def test_hostile_text_is_escaped_on_the_page() -> None:
    text = audit_page.page(hostile())
    page = Page(text)
    assert len(page.scripts) == 3
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert not [found for _, found in page.tags if any(name.startswith("on") for name in found)]
    assert "alert(1)</script>" not in text
    assert "<script>alert" not in text.replace(page.scripts[1][1], "")
    assert "{{ 7*7 }}" in page.text
    specs = json.loads(page.scripts[0][1])
    assert fake.rows_of(specs["category-0"])[0]["label"] == legible(HOSTILE)


def test_nothing_is_loaded_from_the_network(whole: Page) -> None:
    for _, found in whole.tags:
        for name in ("src", "href", "xlink:href", "action", "poster", "srcset", "data"):
            assert found.get(name, "#").startswith(("#", "data:application/json", "data:text/")), found
    assert not [tag for tag, _ in whole.tags if tag in ("link", "iframe", "object", "embed", "base", "image")]
    assert not re.search(r"url\(|@import", " ".join(whole.styles))
    specs = whole.scripts[0][1]
    assert "http" not in specs
    assert '"url"' not in specs


def test_only_the_page_s_own_scripts_may_run(whole: Page) -> None:
    policy = next(f["content"] for t, f in whole.tags if t == "meta" and "http-equiv" in f)
    assert policy.startswith("default-src 'none'; ")
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for _, text in whole.scripts[1:]]
    assert re.findall("'sha256-([^']+)'", policy) == hashes
    assert whole.scripts[0][0]["type"] == "application/json"
    assert "unsafe-eval" not in policy


def downloads(page: Page) -> dict[str, str]:
    """What can be saved from a page, by name."""
    links = [f for t, f in page.tags if t == "a" and "download" in f]
    return {f["download"]: base64.b64decode(f["href"].partition("base64,")[2]).decode() for f in links}


def test_numbers_and_citations_can_be_saved(whole: Page) -> None:
    saved = downloads(whole)
    assert list(saved) == ["result.json", "estimates.csv", "citations.bib"]
    rows = list(csv.DictReader(io.StringIO(saved["estimates.csv"])))
    assert [float(row["value"]) for row in rows] == [e.value for e in fake.whole().estimates]
    assert "@inproceedings{nangia-etal-2020-crows," in saved["citations.bib"]
    assert "@misc{ours," in saved["citations.bib"]
    assert "@misc{ours," in whole.text


def test_the_contents_lead_to_the_sections(whole: Page) -> None:
    targets = [f["href"].removeprefix("#") for t, f in whole.tags if t == "a" and f["href"].startswith("#")]
    assert [one for one in targets if one in SECTIONS][:8] == SECTIONS
    assert set(targets) <= whole.ids()


def test_checks_are_explained(whole: Page) -> None:
    made = fake.whole()
    known = fake.run(made.meta, made.estimates, (Check("ties", True, "none"),), made.items, made.tokens)
    assert "A pair with two equal scores expresses no preference" in Page(audit_page.page(known)).text


def test_result_can_be_downloaded_from_the_page(whole: Page) -> None:
    link = next(f for t, f in whole.tags if t == "a" and "download" in f)
    content: dict[str, Any] = json.loads(base64.b64decode(link["href"].partition("base64,")[2]))
    assert content["model"]["id"] == "tiny-bert"
    assert len(content["estimates"]) == len(fake.whole().estimates)
    icat = next(e for e in content["estimates"] if e["measure"] == "icat")
    assert icat["low"] is None


def test_every_chart_has_a_container_alt_text_and_svg(whole: Page) -> None:
    specs = json.loads(whole.scripts[0][1])
    assert specs.keys() <= whole.ids()
    tags = [tag for tag, _ in whole.tags]
    assert tags.count("figure") == len(specs)
    assert tags.count("svg") == len(specs)  # drawn without any script
    assert all(f["aria-label"] for _, f in whole.tags if f.get("class") == "chart")


def test_write_leaves_one_file(tmp_path: Path) -> None:
    path = report(fake.bare(), out=tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == audit_page.page(fake.bare())
    assert list(tmp_path.iterdir()) == [path]


def test_result_json_of_the_page_holds_what_the_run_holds() -> None:
    (link,) = re.findall(r'download="result.json" href="[^,]+,([^"]+)"', audit_page.page(fake.whole()))
    made = json.loads(base64.b64decode(link))
    assert [one["value"] for one in made["estimates"]] == [one.value for one in fake.whole().estimates]
    assert [one["name"] for one in made["checks"]] == ["head", "accuracy"]


def test_the_band_is_one_of_differences_per_token() -> None:
    """Sums over a dozen tokens lie outside a band that their means lie inside."""
    rows = [fake.row("cps", f"our-pairs/{at}", size, 0.0) for at, size in enumerate((0.3, -1.4, 1.6, 9.0))]
    result = fake.run(fake.meta(), (fake.estimate("cps", 60.0),), (), pa.Table.from_pylist(rows))
    spread = audit_page.spread_row(result.headlines()[0], result)
    assert spread["inside"] == "2 (50%)"
    assert spread["largest"] == "1.500"
    earlier = [{**row, "difference_per_token": None} for row in rows]
    result.__dict__["items"] = pa.Table.from_pylist(earlier)
    assert audit_page.spread_row(result.headlines()[0], result)["inside"] == "–"


@pytest.mark.parametrize("kind", ["audit", "diagnosis"])
def test_every_chart_is_drawn_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page, its SVG files and the exported figures come from one drawing of each chart."""
    rows = [{"label": "a", "value": 1.0, "low": 0.5, "high": 1.5}]
    plot = Plot("one", "One", "One.", charts.intervals(rows, axis="x"))
    other = Result(build("diagnosis", title="t", findings=[Section("s", "S", "", Finding((), (), (plot,)))]))
    drawn: list[str] = []
    monkeypatch.setattr("unmask.findings.figure.RENDERER.call", lambda what, *_, **__: drawn.append(what) or b"<svg/>")
    report(fake.bare() if kind == "audit" else other, out=tmp_path / "page.html", figures=tmp_path / "figures")
    charts_written = len(list((tmp_path / "figures").glob("*.pdf")))
    assert drawn.count("vegalite_to_svg") == 2 * charts_written > 0  # for the page, and dark on white for a paper


def test_what_is_true_of_two_datasets_is_said_once() -> None:
    """Two datasets with the same measures would repeat the same validity, which hides the rest."""
    cards = [{"name": name, "title": name, "n": 100} for name in ("first", "second")]
    heads = tuple(fake.estimate("cps", 50.0, data=card["name"]) for card in cards)
    noise, validity = tables.caution_lines(fake.run(fake.meta(data=cards), heads, (), fake.bare().items))
    assert [line.partition(":")[0] for line in (*noise, *validity)] == ["first, second", "first, second"]


def test_no_group_that_differs_leaves_no_others() -> None:
    run = fake.whole()
    same = tuple(replace(each, p_holm=None if each.p_holm is None else 1.0) for each in run.estimates)
    text = Page(audit_page.page(fake.run(run.meta, same, tuple(run.checks), run.items, run.tokens))).text
    assert "No category differs" in text
    assert "There may still be a preference" in text
    assert "The others" not in text
    assert "for templates" not in text  # there are none
