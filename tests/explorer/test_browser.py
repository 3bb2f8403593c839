"""The page in a real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

import zoo
from renderer import renderer_seconds
from report import fake
from unmask.audit.result import load
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.app import Site
from unmask.explorer.bundle import write_bundle
from unmask.explorer.live import LiveModel, Query, parse_query
from unmask.explorer.pairs import Runs
from unmask.findings import Finding, Plot, Section, charts
from unmask.findings.envelope import Result, build
from unmask.measures import MEASURES
from unmask.models import open_lm
from unmask.prompts.annotations import read_annotations

from . import samples

pytestmark = pytest.mark.slow
ROWS = ".grid-body .grid-row"
SORT = """() => {
  document.querySelector(".grid-head .difference button").click();
  return document.querySelector(".grid").offsetHeight;
}"""
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """Two runs, a tiny live model, and answers to annotate."""
    samples.run(folder / "one", "tiny")
    samples.run(folder / "two", "other", samples.SECOND, ok=False)
    runs = Runs((load(folder / "one"), load(folder / "two")))
    live = LiveModel.start("tiny-bert", lambda: open_lm(zoo.folder("bert-uncased")))
    with samples.served(
        Site(runs, samples.TOKEN, live, AnnotationDesk(samples.answers(folder / "answers")))
    ) as address:
        yield address


@pytest.fixture(scope="module")
def large(folder: Path) -> Iterator[str]:
    """One run of ten thousand pairs."""
    with samples.served(Site(Runs((load(samples.large(folder / "large")),)), samples.TOKEN)) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page; afterwards, check that it made no external requests and logged no errors."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    opened, asked, wrong = context.new_page(), list[str](), list[str]()
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    yield opened
    assert opened.evaluate("window.attacked") is None
    context.close()
    assert {urlsplit(one).hostname for one in asked if not one.startswith(("data:", "blob:"))} <= {"127.0.0.1"}
    assert wrong == []


def visit(page: Page, url: str, view: str = "") -> None:
    page.goto("about:blank")
    page.goto(url + view)
    page.wait_for_selector("body[data-ready]")


def items(page: Page) -> list[str]:
    return page.locator(f"{ROWS} .item").all_text_contents()


def named(*numbers: int) -> list[str]:
    return [samples.item(number) for number in numbers]


# ---------------------------------------------------------------------------------------------- table


def test_all_pairs_are_listed(page: Page, url: str) -> None:
    visit(page, url)
    expect(page.locator(".count")).to_have_text(f"{len(samples.PAIRS)} pairs of {len(samples.PAIRS)}")
    assert items(page) == named(*range(len(samples.PAIRS)))
    first = page.locator(ROWS).first
    expect(first.locator("b")).to_have_text(["she", "he"])
    expect(first.locator(".difference .value")).to_have_text(["▲ +1.000", "▲ +1.000"])


def test_filters_narrow_the_table_and_are_kept_in_the_url(page: Page, url: str, browser: Browser) -> None:
    visit(page, url)
    page.fill("#search", "NURSE tired")
    assert items(page) == named(0)
    page.fill("#search", "")
    page.select_option("#group-category", "age")
    assert items(page) == named(2, 3)
    page.select_option("#group-category", "")
    page.select_option("#outcome", "less")
    assert items(page) == named(*(n for n, one in enumerate(samples.FIRST) if one < 0))
    page.select_option("#run", "1")
    assert items(page) == named(*(n for n, one in enumerate(samples.SECOND) if one < 0))
    page.select_option("#outcome", "")
    page.fill("#least", "2")
    page.fill("#most", "3")
    assert items(page) == named(*(n for n, one in enumerate(samples.SECOND) if 2 <= abs(one) <= 3))
    again = browser.new_page()
    visit(again, page.url)
    assert items(again) == items(page)
    assert again.input_value("#least") == "2"
    again.close()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".count")).to_have_text(f"{len(samples.PAIRS)} pairs of {len(samples.PAIRS)}")


def test_a_measure_has_its_own_differences_and_unscored_pairs(page: Page, url: str) -> None:
    visit(page, url)
    page.select_option("#measure", "aul")
    expect(page.locator(ROWS).nth(4).locator(".difference .value").first).to_have_text("▲ +0.300")
    page.select_option("#outcome", "unscored")
    assert items(page) == named(samples.UNSCORED)
    expect(page.locator(ROWS).locator("[title*='too long']").first).to_be_visible()


def test_columns_sort_both_ways(page: Page, url: str) -> None:
    visit(page, url)
    order = sorted(range(len(samples.FIRST)), key=lambda n: -samples.FIRST[n])
    heading = page.get_by_role("columnheader", name="tiny")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert items(page) == named(*order)
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert items(page) == named(*order[::-1])
    heading.get_by_role("button").click()
    assert items(page) == named(*range(len(samples.PAIRS)))


def test_everything_works_by_keyboard(page: Page, url: str) -> None:
    visit(page, url)
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("people")
    page.keyboard.press("Escape")
    assert page.input_value("#search") == "people"
    assert items(page) == named(3)
    page.fill("#search", "")
    page.keyboard.press("Enter")
    expect(page.locator(".grid")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    expect(page.locator("#row-1")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".grid")).to_have_attribute("aria-activedescendant", "row-1")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(samples.item(1))
    page.keyboard.press("ArrowRight")
    expect(page.locator("h1")).to_have_text(samples.item(2))
    page.keyboard.press("Escape")
    expect(page.locator(".grid")).to_be_focused()
    expect(page.locator("#row-1")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_keys_work_on_arrival_and_after_a_search(page: Page, url: str) -> None:
    visit(page, url)
    expect(page.locator(".grid")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".grid")).to_have_attribute("aria-activedescendant", "row-1")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".grid")).to_have_attribute("aria-activedescendant", "row-2")
    page.keyboard.press("/")
    page.keyboard.type("people")
    page.keyboard.press("Escape")
    expect(page.locator(".grid")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(samples.item(3))


def test_an_empty_table_says_why_and_what_to_do(page: Page, url: str) -> None:
    visit(page, url, "#/pairs?measure=pll&q=zebra&least=2")
    expect(page.locator(".grid .empty")).to_contain_text("No pair has the words “zebra”, |Δ| of at least 2 by pll.")
    page.get_by_role("button", name="Show all pairs").click()
    expect(page.locator(".count")).to_have_text(f"{len(samples.PAIRS)} pairs of {len(samples.PAIRS)}")
    expect(page.locator(".grid .empty")).to_have_count(0)


def test_measures_say_what_they_mean(page: Page, url: str) -> None:
    visit(page, url)
    means = f"{MEASURES['pll'].title}: {MEASURES['pll'].reads}"
    expect(page.locator(".about")).to_have_text(f"pll – {means}")
    expect(page.locator("label:has(#measure)")).to_have_attribute("title", means)
    visit(page, url, "#/runs")
    expect(page.locator("abbr.measure").first).to_have_attribute("title", means)


SHOWN = """row => Array.from(row.querySelectorAll(".texts b"), word => {
  const [box, cell] = [word, word.closest(".texts")].map(node => node.getBoundingClientRect());
  return box.left >= cell.left && box.right <= cell.right + 1 && word.scrollWidth <= word.clientWidth + 1;
})"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("number", [1, 4, 7])
def test_the_changed_words_are_seen_whatever_the_number_of_runs(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, width: int
) -> None:
    start, end = "At the end of a long and busy day in the hospital", "put on a warm coat and walked slowly home alone"
    pair = ("work", f"{start}, the woman from Utrecht {end}.", f"{start}, the man from Groningen {end}.")
    start, end = "في نهاية يوم طويل جدا في المستشفى الكبير قابل", "المدير الجديد ثم عاد وحده إلى البيت ببطء"
    rtl = ("work", f"{start} الطبيب {end}.", f"{start} المهندس {end}.")
    monkeypatch.setattr(samples, "PAIRS", (pair, rtl, *samples.PAIRS[2:]))
    runs = [load(samples.run(tmp_path / str(each), f"model-{each}")) for each in range(number)]
    page.set_viewport_size({"width": width, "height": 800})
    with samples.served(Site(Runs(tuple(runs)), samples.TOKEN)) as address:
        visit(page, address)
        first = page.locator(ROWS).first
        expect(first.locator("b")).to_have_text(["woman", "Utrecht", "man", "Groningen"])
        assert first.evaluate(SHOWN) == [True] * 4
        expect(page.locator("#row-1 b")).to_have_text(["الطبيب", "المهندس"])
        assert page.locator("#row-1").evaluate(SHOWN) == [True] * 2
        expect(first.locator(".difference")).to_have_count(number)


@pytest.mark.parametrize(
    ("more", "less", "changed"),
    [
        ("그 여자는 잘한다.", "그 남자는 잘한다.", [["여자는"], ["남자는"]]),
        ("その優しい女性です。", "その優しい男性です。", [["女"], ["男"]]),
        ("那个护士是女人。", "那个医生是女人。", [["护士"], ["医生"]]),
        ("เธอเป็นพยาบาล", "เขาเป็นพยาบาล", [["ธอ"], ["ขา"]]),
        ("A man  left.", "A woman  left.", [["man"], ["woman"]]),
    ],
)
def test_changed_words_are_found_without_spaces_too(
    page: Page, url: str, more: str, less: str, changed: list[list[str]]
) -> None:
    """If this fails, whole sentences in Chinese, Japanese or Thai are marked as changed."""
    page.goto(url)
    both = page.evaluate("async ([a, b]) => (await import('/static/words.js')).changes(a, b)", [more, less])
    sides = [both["more"], both["less"]]
    assert [[part["text"] for part in side if part["changed"]] for side in sides] == changed
    for side, text in zip(sides, (more, less), strict=True):
        assert "".join(part["text"] for part in side).replace(" ", "") == text.replace(" ", "")


def test_the_first_comparison_is_one_that_works(page: Page, folder: Path, tmp_path: Path) -> None:
    alone = load(samples.templates(tmp_path / "alone"))
    runs = Runs((alone, load(samples.run(tmp_path / "a", "a")), load(samples.run(tmp_path / "b", "b", samples.SECOND))))
    with samples.served(Site(runs, samples.TOKEN)) as address:
        visit(page, address, "#/compare")
        assert (page.input_value("#first"), page.input_value("#second")) == ("1", "2")
        expect(page.locator(".lead")).to_contain_text("The runs disagree on")
        page.select_option("#first", "0")
        expect(page.locator(".empty")).to_contain_text("scored no pair by the same measure")
        page.get_by_role("link", name="a and b").click()
        expect(page.locator(".lead")).to_contain_text("The runs disagree on")
        expect(page.locator("[aria-busy]")).to_have_count(0)


def test_large_table_renders_few_rows(page: Page, large: str) -> None:
    visit(page, large)
    expect(page.locator(".count")).to_have_text("10,000 pairs of 10,000")
    assert page.locator(ROWS).count() < 60
    page.locator(".grid").focus()
    page.keyboard.press("End")
    expect(page.locator(f"{ROWS}.active .item")).to_have_text("big/09999")
    assert page.locator(ROWS).count() < 60
    page.get_by_role("button", name="Difference").click()
    expect(page.locator(ROWS).first.locator(".item")).to_have_text("big/09999")
    page.fill("#search", "number 4321 ")
    assert items(page) == ["big/04321"]


def test_rows_keep_their_dom_order_for_screen_readers(page: Page, large: str) -> None:
    visit(page, large)
    page.locator(".grid").focus()
    for key in ("PageDown", "PageDown", "PageDown", "PageUp", "ArrowUp", "PageUp"):
        page.keyboard.press(key)
        shown = [int(one.removeprefix("big/")) for one in items(page)]
        assert shown == list(range(shown[0], shown[0] + len(shown)))


def test_sorting_ten_thousand_rows_takes_under_a_second(page: Page, large: str, browser: Browser) -> None:
    visit(page, large)
    before = renderer_seconds(browser)
    assert page.evaluate(SORT) > 0
    assert renderer_seconds(browser) - before < 1


def test_results_of_other_commands_are_listed_and_open_as_their_pages(page: Page) -> None:
    chart = charts.intervals([{"label": "nurse", "value": 0.5, "low": 0.2, "high": 0.8}], axis="gap")
    plot = Plot("gap", "Gaps", "The gap of nurses.", chart)
    section = Section("toy", "A toy", "How large?", Finding(("It leans to <b>men</b>.",), (), (plot,)))
    other = Result(build("task", title="Toy of a model", findings=[section]))
    with samples.served(Site(Runs(()), samples.TOKEN, others=(other,))) as address:
        visit(page, address, "/runs" if "#" in address else "")
        page.get_by_role("link", name="Toy of a model").click()
        expect(page.locator("h1")).to_have_text("Toy of a model")
        expect(page.locator("body")).to_contain_text("It leans to <b>men</b>.")
        expect(page.locator("#gap canvas, #gap svg").first).to_be_visible()
        page.wait_for_selector("#gap .vega-embed")  # the scripts of the page may run


def test_neither_sentence_of_a_template_is_called_a_stereotype(page: Page, folder: Path) -> None:
    runs = Runs((load(samples.templates(folder / "templates")),))
    with samples.served(Site(runs, samples.TOKEN)) as address:
        visit(page, address)
        expect(page.locator("#outcome")).to_contain_text("masculine likelier")
        expect(page.locator(ROWS).first.locator(".side")).to_have_count(2)
        assert page.locator(ROWS).first.locator(".side").first.get_attribute("aria-label") == "masculine:"
        assert page.locator(f"{ROWS} .meter").nth(1).get_attribute("title") == "the feminine sentence is likelier"
        page.locator(ROWS).first.locator(".texts").click()
        expect(page.locator(".quoted")).to_contain_text("▲ masculine")
        assert "stereotyp" not in page.locator("main").inner_text()


# ---------------------------------------------------------------------------------------------- pairs


def test_a_pair_token_by_token_in_both_runs(page: Page, url: str) -> None:
    visit(page, url)
    page.locator(ROWS).nth(7).locator(".texts").click()
    expect(page.locator("h1")).to_have_text(samples.item(7))
    summary = page.locator("main table").first
    expect(summary.locator("tbody tr").first).to_contain_text("▲ +4.0000")
    expect(summary.locator("tbody tr").first).to_contain_text("▼ −4.0000")
    expect(summary.locator("tbody tr").first).to_contain_text("≠ disagree")
    matrix = page.locator("table.matrix")
    expect(matrix.locator("tbody tr")).to_have_count(2)
    expect(matrix.locator("tbody tr.changed td.n").first).to_have_text("+4.000")
    expect(matrix.locator("tfoot td").first).to_have_text("+4.000")
    page.select_option("#mode", "logprob")
    expect(matrix.locator("tbody tr.changed td.n").first).to_have_text("−3.000 / −1.000")
    page.select_option("#mode", "weight")
    expect(matrix.locator("tbody tr").first.locator("td.n").first).to_have_text("0.500 / 0.500")
    page.select_option("#pair-run", "1")
    page.select_option("#mode", "difference")
    expect(matrix.locator("tfoot td").first).to_have_text("−4.000")
    expect(page.locator(".pair .token.changed").first).to_have_attribute("title", re.compile("log-probability"))


def test_a_link_reopens_the_same_pair(page: Page, url: str) -> None:
    visit(page, url, f"#/pair/{quote(samples.item(3), safe='')}?run=1&mode=logprob")
    expect(page.locator("h1")).to_have_text(samples.item(3))
    assert page.input_value("#pair-run") == "1"
    assert page.input_value("#mode") == "logprob"
    visit(page, url, "#/pair/nowhere")
    expect(page.get_by_role("alert")).to_contain_text("No run has a pair of this name")


def test_two_runs_side_by_side(page: Page, url: str) -> None:
    visit(page, url, "#/compare?measure=pll")
    flips = [
        n
        for n, both in enumerate(zip(samples.FIRST, samples.SECOND, strict=True))
        if both[0] * both[1] < 0 or 0 in both
    ]
    expect(page.locator(".lead")).to_contain_text(f"{len(flips)} of {len(samples.PAIRS)} pairs")
    expect(page.locator("[aria-busy]")).to_have_count(0)
    expect(page.locator("main table").last.locator("tbody tr").first).to_contain_text("bias-score")
    page.click("#show-flips")
    expect(page.locator(".count")).to_contain_text(f"{len(flips)} pairs")
    assert set(items(page)) == set(named(*flips))


def test_runs_show_intervals_and_failed_checks(page: Page, url: str) -> None:
    visit(page, url, "#/runs")
    won = 100 * sum(one > 0 for one in samples.FIRST) / len(samples.FIRST)
    expect(page.locator("main table").first.locator("tbody tr").first).to_contain_text(
        f"{won - 4:.1f} to {won + 4:.1f}"
    )
    expect(page.locator(".banner")).to_have_count(1)
    expect(page.locator(".banner")).to_contain_text("accuracy")


# ---------------------------------------------------------------------------------------- live, judging


def test_sentences_are_scored_while_typing(page: Page, url: str) -> None:
    visit(page, url, "#/live")
    page.fill("#live-more", "He ran home.")
    page.fill("#live-less", "She ran home.")
    table = page.locator("#scores")
    expect(page.locator("table.matrix tbody tr").first).to_contain_text("he", timeout=60_000)
    lm = open_lm(zoo.folder("bert-uncased"))
    found = parse_query("pair", Query("He ran home.", "She ran home."))(lm)["measures"]
    expect(table.locator("tbody tr")).to_have_count(len(found))
    pll = next(one for one in found if one["measure"] == "pll")
    shown = table.locator("tr", has=page.get_by_role("rowheader", name="pll", exact=True))
    expect(shown).to_contain_text(f"{abs(pll['difference']):.4f}")
    expect(shown).to_contain_text("the first" if pll["difference"] > 0 else "the second")
    page.click("#swap")
    expect(shown).to_contain_text("the second" if pll["difference"] > 0 else "the first")
    assert "more=She+ran+home" in page.url
    page.fill("#live-less", "")
    expect(page.get_by_role("alert")).to_contain_text("nothing to score")


def test_templates_and_prompts_are_scored(page: Page, url: str) -> None:
    visit(page, url, "#/live?kind=template&text=The+%7Bword%7D+lost+%7Bpossessive%7D+hat.&words=cook,nurse")
    expect(page.locator("#scores tbody tr")).to_have_count(2, timeout=60_000)
    page.get_by_role("link", name="Prompt").click()
    page.fill("#live-text", "It was ___ again.")
    expect(page.locator("#scores tbody tr")).to_have_count(12)
    expect(page.locator("#scores tbody tr").first).to_contain_text("%")


def test_outdated_token_shows_what_to_do(browser: Browser, url: str) -> None:
    page = browser.new_page()
    visit(page, url.replace(samples.TOKEN, "old"), "#/live")
    expect(page.get_by_role("alert")).to_contain_text("open the URL that unmask explore printed")
    page.close()


def test_annotations_by_keyboard_are_saved(page: Page, url: str, folder: Path) -> None:
    path = folder / "answers" / "judgements.csv"
    visit(page, url, "#/judge")
    page.fill("#judge", "anna")
    page.keyboard.press("Enter")
    expect(page.locator("#left")).to_contain_text("4 answers left")
    for key, number in (("b", 1), ("n", 2), ("u", 3)):
        expect(page.locator(".judging")).to_have_attribute("aria-label", f"prompts/{number:04}")
        page.keyboard.press(key)
        expect(page.locator("#saved")).to_contain_text(f"prompts/{number:04}")
        assert read_annotations(path)[-1].prompt == f"prompts/{number:04}"
    expect(page.locator("#left")).to_contain_text("1 answer left")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#say-u")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("n")
    expect(page.locator("#saved")).to_contain_text("prompts/0003 not biased")
    said = [(one.prompt, one.judge, one.verdict) for one in read_annotations(path)]
    assert said == [
        ("prompts/0001", "anna", "biased"),
        ("prompts/0002", "anna", "not biased"),
        ("prompts/0003", "anna", "undecided"),
        ("prompts/0003", "anna", "not biased"),
    ]
    visit(page, url, "#/judge?judge=anna")
    expect(page.locator(".judging")).to_have_attribute("aria-label", "prompts/0004")


# --------------------------------------------------------------------------------------- files and copies

PAIRS = "more;less;category\nHe ran home.;She ran home.;gender\nHe sat.;She sat.;gender\n"
DROP = """([name, text]) => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def accepting(folder: Path, tmp_path: Path) -> Iterator[str]:
    """A page with one run that accepts files."""
    live = LiveModel.start("tiny-bert", lambda: open_lm(zoo.folder("bert-uncased")))
    runs = Runs((load(samples.run(tmp_path / "one", "tiny")),))
    with samples.served(Site(runs, samples.TOKEN, live, new_folder=lambda name: tmp_path / "new" / name)) as address:
        yield address


def test_a_file_that_is_dropped_is_audited(page: Page, accepting: str, tmp_path: Path) -> None:
    visit(page, accepting)
    page.evaluate(DROP, ["../My pairs.csv", PAIRS])
    expect(page.locator("#upload-said")).to_contain_text("2 items audited, kept in my-pairs", timeout=60_000)
    result = load(tmp_path / "new" / "my-pairs")
    assert {row["text_more"] for row in result.items.to_pylist()} == {"He ran home.", "He sat."}
    page.click("#upload-open")
    expect(page.locator(".count")).to_contain_text("2 pairs of")
    expect(page.locator(ROWS).first.locator("b")).to_have_text(["He", "She"])
    visit(page, accepting, "#/runs")
    expect(page.locator("main h2")).to_have_count(2)


def test_a_bad_file_is_refused_with_the_words_of_the_command_line(browser: Browser, accepting: str) -> None:
    page = browser.new_page()  # its console tells of the refusals
    visit(page, accepting, "#/live?kind=file")
    for name, content, reason in (
        ("own.csv", "a,b\n1,2\n", "own.csv, line 2: no column 'more'"),
        ("own.txt", "x", "own.txt"),
        ("own.csv", "more,less\nHe ran.,\n", "own.csv, line 2"),
        ("big.csv", "x" * (2**20 + 1), "at most 1,048,576 here: run unmask audit MODEL --data big.csv"),
    ):
        page.set_input_files("#upload", {"name": name, "mimeType": "text/csv", "buffer": content.encode()})
        expect(page.get_by_role("alert")).to_contain_text(reason)
        assert "/tmp" not in page.get_by_role("alert").inner_text()
        visit(page, accepting, "#/live?kind=file")
    page.close()


@pytest.fixture(scope="module")
def copy(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A static copy of two runs and a result of another command, as a URL of a file."""
    there = tmp_path_factory.mktemp("copies")
    samples.run(there / "one", "tiny")
    samples.run(there / "two", "other", samples.SECOND, ok=False)
    other = Result(build("task", title="Toy of a model"))
    runs = Runs((load(there / "one"), load(there / "two")))
    live = LiveModel.start("tiny-bert", lambda: open_lm(zoo.folder("bert-uncased")))
    return write_bundle(Site(runs, samples.TOKEN, live, others=(other,)), there / "copy").as_uri()


def test_a_copy_works_from_a_file_without_a_server(browser: Browser, copy: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_offline(True)
    page, wrong, asked = context.new_page(), list[str](), list[str]()
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    visit(page, copy)
    assert items(page) == named(*range(len(samples.PAIRS)))
    assert page.locator("#views a").all_inner_texts() == ["Runs", "Pairs", "Side by side"]
    expect(page.locator(".brand")).to_contain_text("a copy by unmask")
    page.select_option("#outcome", "flips")
    assert items(page) == named(1, 3, 5, 7)
    page.locator(ROWS).last.locator(".texts").click()
    expect(page.locator("h1")).to_have_text(samples.item(7))
    expect(page.locator("table.matrix tfoot td").first).to_have_text("+4.000")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("h1")).to_have_text(samples.item(5))
    page.goto(copy + "#/compare?measure=pll")
    expect(page.locator(".lead")).to_contain_text("4 of 11 pairs")
    expect(page.locator("main table").last.locator("tbody tr").first).to_contain_text("bias-score")
    page.goto(copy + "#/pairs?q=window.attacked")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    expect(page.locator(ROWS)).to_contain_text(samples.SCRIPT)
    assert page.evaluate("window.attacked") is None
    page.goto(copy + "#/runs")
    page.get_by_role("link", name="Toy of a model").click()
    expect(page.locator("h1")).to_have_text("Toy of a model")
    assert wrong == []
    assert {urlsplit(one).scheme for one in asked} <= {"file", "data"}
    context.close()


# ------------------------------------------------------------------------------- attacks, export, looks


def test_text_of_the_data_is_escaped(page: Page, url: str) -> None:
    visit(page, url, "#/pairs?q=window.attacked")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator(ROWS)).to_contain_text(samples.SCRIPT)
    expect(page.locator(ROWS)).to_contain_text(r"end\u001b[31m\u202e")
    page.locator(".grid").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".quoted")).to_contain_text(samples.SCRIPT)
    expect(page.locator(".quoted")).to_contain_text(samples.FORMULA)
    assert not [mark for mark in samples.HIDDEN if mark != "[" and not mark.isalnum() and mark in page.content()]
    assert page.locator("main script, main img").count() == 0
    visit(page, url, f"#/live?more={quote(samples.SCRIPT)}&less=x")
    assert page.input_value("#live-more") == samples.SCRIPT
    assert page.locator("main script, main img").count() == 0


def test_a_selection_is_exported_and_no_cell_is_a_formula(page: Page, url: str, tmp_path: Path) -> None:
    visit(page, url)
    page.locator(ROWS).nth(samples.HOSTILE).scroll_into_view_if_needed()
    for number in (4, samples.HOSTILE):
        page.locator(f"#row-{number} input").click()
    with page.expect_download() as waiting:
        page.click("#export-csv")
    waiting.value.save_as(tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 2 * 2 * 2  # pairs, runs, measures
    assert {row["item"] for row in rows} == set(named(4, samples.HOSTILE))
    (one,) = (row for row in rows if (row["item"], row["run"], row["measure"]) == (samples.item(4), "tiny", "pll"))
    assert (float(one["difference"]), one["outcome"]) == (3.0, "more")
    attack = next(row for row in rows if row["item"] == samples.item(samples.HOSTILE))
    assert attack["text_less"] == "'" + samples.FORMULA
    assert attack["category"] == "'@SUM(1)"
    texts = [value for row in rows for key, value in row.items() if key not in ("more", "less", "difference")]
    assert not [text for text in texts if text.startswith(("=", "+", "-", "@"))]
    with page.expect_download() as waiting:
        page.click("#export-json")
    waiting.value.save_as(tmp_path / "out.json")
    whole = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [one["text_less"] for one in whole] == [fake.PAIRS[4][2], samples.FORMULA]


def test_theme_follows_the_system_until_changed(page: Page, url: str) -> None:
    page.emulate_media(color_scheme="dark")
    visit(page, url)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    visit(page, url)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


VIEWS = ("#/runs", "#/pairs", f"#/pair/{quote(samples.item(7), safe='')}", "#/compare", "#/live", "#/judge?judge=eva")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(browser: Browser, url: str, theme: str) -> None:
    page = browser.new_page(color_scheme=theme, viewport={"width": 1280, "height": 800})  # type: ignore[arg-type]
    for view in VIEWS:
        visit(page, url, view)
        if "live" in view:
            expect(page.locator("#scores")).to_be_visible(timeout=60_000)
        found = Axe().run(page).response["violations"]
        worst = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found
                 if one["impact"] in ("serious", "critical")]  # fmt: skip
        assert worst == [], view
    page.close()


def test_axe_can_find_a_barrier(browser: Browser, url: str) -> None:
    page = browser.new_page()
    visit(page, url)
    page.evaluate("document.getElementById('theme').textContent = ''")
    assert "button-name" in {one["id"] for one in Axe().run(page).response["violations"]}
    page.close()


def test_the_name_of_an_item_is_copied_in_one_line(page: Page, url: str) -> None:
    visit(page, url)
    name = page.locator(f"{ROWS} .item a").first
    assert name.inner_text() == samples.item(0)
    copied = """node => { const range = document.createRange(); range.selectNodeContents(node);
      const chosen = getSelection(); chosen.removeAllRanges(); chosen.addRange(range); return chosen.toString(); }"""
    assert name.evaluate(copied) == samples.item(0)


def test_a_narrow_screen_does_not_scroll_sideways(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for view in VIEWS:
        visit(page, url, view)
        if "live" in view:
            page.locator("table.matrix").first.wait_for(timeout=60_000)  # the widest part of the answer
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth + 1"), view
