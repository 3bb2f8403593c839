"""The page in a real browser: how large, how fast, how safe, and what is left without JavaScript."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import unmask
from renderer import renderer_seconds
from unmask import data
from unmask.core.types import Check, Dataset
from unmask.findings.envelope import Result

from . import made

pytestmark = pytest.mark.slow
MEASURES = ["cps", "pll", "sss", "aul", "aula", "all-masked", "sld"]
PAIRS = 1508  # of CrowS-Pairs
LIVE = "html[data-charts=live]"
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>=1+1"
HIDDEN = "\x1b[31m\v\u202e"  # controls a terminal, ends XML, reorders text


@dataclass
class PageLog:
    """What a page did while it was open."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def opened(browser: Browser, path: Path, *, scripts: bool = True, scheme: str = "light") -> tuple[Page, PageLog]:
    context = browser.new_context(java_script_enabled=scripts, color_scheme=scheme, bypass_csp=False)
    page, seen = context.new_page(), PageLog()
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda line: seen.errors.append(line.text) if line.type == "error" else None)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.goto(path.as_uri())
    if scripts:
        page.locator(LIVE).wait_for(state="attached")
    return page, seen


def many_pairs() -> Dataset:
    """As many pairs as CrowS-Pairs has, of nine categories: the built-in ones, and again with other ends."""
    items = [item for name in ("nine-axes", "paraphrases") for item in data.load(name).items]
    return data.from_records(
        [
            {
                "more": f"{item.more}{end}",
                "less": f"{item.less}{end}",
                "category": item.groups["category"],
                "direction": item.groups["direction"],
            }
            for end in ("", " So I was told.", " It has been like that for years.")
            for item in items
        ][:PAIRS],
        name="many",
    )


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run over many pairs by every measure for masked models."""
    folder = tmp_path_factory.mktemp("many")
    whole = many_pairs()
    assert len({(item.more, item.less) for item in whole.items}) == PAIRS
    result = made.run(folder / "run", [(whole, MEASURES)])
    return unmask.report(result, out=folder / "report.html")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result]:
    folder = tmp_path_factory.mktemp("small")
    pairs = data.from_records(
        [
            {"more": f"{HOSTILE} He said so {i}.", "less": f"{HOSTILE} She said so {i}.", "category": HOSTILE}
            for i in range(12)
        ]
        + [
            {"more": f"{HIDDEN} He ran {i}.", "less": f"{HIDDEN} She ran {i}.", "category": label}
            for label in (f"race{HIDDEN}", "😀" * 30, "نص عربي طويل", "e\u0301" * 90, "𒐫" * 20)
            for i in range(4)
        ]
    )
    first = made.run(folder / "a", [(pairs, ["cps", "aul"])], model=HOSTILE)
    return first, made.run(folder / "b", [(pairs, ["cps", "aul"])], model="other", seed=1)


def test_a_page_of_1508_pairs_is_under_five_megabytes_and_live_within_two_seconds(many: Path, browser: Browser) -> None:
    assert 1_000_000 < many.stat().st_size < 5_000_000
    times = []
    for _ in range(3):
        page, seen = opened(browser, many)  # a context of its own, so renderers of its own
        times.append(renderer_seconds(browser))
        assert seen.errors == []
        assert seen.requests == [many.as_uri()]
        page.context.close()
    assert 0 < min(times) < 2


def test_charts_become_interactive_on_scroll(many: Path, browser: Browser) -> None:
    page, seen = opened(browser, many)
    charts = page.locator("figure .chart")
    last = charts.nth(charts.count() - 1)
    assert last.locator("svg").count() == 1  # a drawing until then
    last.scroll_into_view_if_needed()
    last.locator("summary[aria-label='Save this chart']").wait_for()
    assert seen.errors == []


def test_without_javascript_all_charts_and_texts_are_shown(many: Path, browser: Browser) -> None:
    page, seen = opened(browser, many, scripts=False)
    charts = page.locator("figure .chart > svg")
    assert charts.count() == page.locator("figure").count() >= 3
    assert all(charts.nth(i).bounding_box()["width"] > 200 for i in range(charts.count()))
    assert page.locator("h2").count() == 8
    assert seen.requests == [many.as_uri()]


def test_hostile_rows_stay_text(small: tuple[Result, Result], tmp_path: Path, browser: Browser) -> None:
    paths = [unmask.report(small[0], out=tmp_path / "one.html"), unmask.report(*small, out=tmp_path / "two.html")]
    for path in paths:
        page, seen = opened(browser, path)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        for figure in page.locator("figure").all():
            figure.scroll_into_view_if_needed()
        page.wait_for_timeout(300)
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        assert not [mark for mark in "\x1b\v\u202e" if mark in page.content()]
        assert r"race\x1b[31m\x0b\u202e" in page.locator("body").inner_text()
        assert page.locator("figure svg.marks").count() == page.locator("figure").count()
        assert page.locator("body").inner_text().count("<script>window.hacked = 1</script>") > 3
        assert seen.requests == [path.as_uri()]
        assert seen.errors == []


OUTSIDE = """() => [...document.querySelectorAll("body *")].filter(part => {
  const box = part.getBoundingClientRect();
  return box.width > 1 && box.right > innerWidth + 1 && !part.closest("nav, thead");
}).map(part => part.tagName + " " + part.textContent.slice(0, 60))"""
WORDY = "a-long-name-without-any-space-in-it-" * 3


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Pages of one item, of text from right to left, of long names and failed checks, and of a comparison."""
    folder = tmp_path_factory.mktemp("states")
    one = data.from_records([{"more": "He ran.", "less": "She ran.", "category": "gender"}], name="one")
    arabic = [{"more": f"قال إنه متعب {i}.", "less": f"قالت إنها متعبة {i}.", "category": "نوع"} for i in range(31)]
    plan = [(data.load("nine-axes"), ["cps", "aul", "sld"]), (data.load("pronoun-templates"), ["ppd"])]
    runs = [
        made.run(folder / "1", [(one, ["cps"])]),
        made.run(folder / "2", [(data.from_records(arabic, name="عربي"), ["cps"])], model=WORDY),
        made.run(folder / "3", plan, checks=(Check("nine-axes/masked-accuracy", False, f"{WORDY} " * 4),)),
        made.run(folder / "4", plan, model=WORDY, seed=1),
    ]
    pages = [unmask.report(run, out=folder / f"{number}.html") for number, run in enumerate(runs)]
    return [*map(Path, pages), Path(unmask.report(*runs[2:], out=folder / "two.html"))]


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_outside_the_screen(width: int, states: list[Path], browser: Browser) -> None:
    for path in states:
        context = browser.new_context(viewport={"width": width, "height": 800})
        page = context.new_page()
        page.goto(path.as_uri())
        page.locator(LIVE).wait_for(state="attached")
        for figure in page.locator("figure").all():
            figure.scroll_into_view_if_needed()
            figure.locator("svg.marks").first.wait_for()
        page.wait_for_timeout(500)
        if width < 500:
            page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true; })")
            assert page.evaluate(OUTSIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.evaluate("window.scrollTo(0, 2000)")
        assert page.locator("nav").bounding_box()["y"] == 0  # the navigation stays
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation(
    scheme: str, small: tuple[Result, Result], tmp_path: Path, browser: Browser
) -> None:
    axe = Axe()
    path = unmask.report(*small, out=tmp_path / "two.html")
    for one in (unmask.report(small[0], out=tmp_path / "one.html"), path):
        context = browser.new_context(bypass_csp=True, color_scheme=scheme)  # axe is a script of its own
        page = context.new_page()
        page.goto(one.as_uri())
        page.locator(LIVE).wait_for(state="attached")
        page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true; })")
        found = axe.run(page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
        context.close()


def test_print_opens_all_details_but_long_ones(many: Path, browser: Browser) -> None:
    page, _ = opened(browser, many)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    closed = page.locator("main > section > details:not([open])")
    assert closed.count() == page.locator("main > section > details.long").count() > 0
    assert page.locator("main > section > details[open]").count() > 0
    assert page.locator("nav").is_hidden()
    assert page.pdf(format="A4").startswith(b"%PDF")
