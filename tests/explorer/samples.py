"""Hand-made run folders with known sentences, scores and tokens; one pair attempts an injection."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from report import fake
from unmask.core.estimate import Estimate
from unmask.core.files import plain
from unmask.core.types import Check
from unmask.explorer.app import Site
from unmask.explorer.server import create_server, open_socket, page_url
from unmask.prompts.annotations import AnnotationFolder, create_folder
from unmask.prompts.fill import ModelAnswers

TOKEN = "a-token-that-nobody-can-guess"
SCRIPT = "<script>window.attacked = 1</script><img src=x onerror='window.attacked = 1'>"
HIDDEN = "\x1b[31m\u202e"  # controls a terminal, reorders text
FORMULA = '=HYPERLINK("http://attack.test","x")'
HOSTILE = len(fake.PAIRS)  # its number
PAIRS = (*fake.PAIRS, ("@SUM(1)", f"Words {SCRIPT} end{HIDDEN}", FORMULA))
FIRST = (1.0, -2.0, 0.5, -0.25, 3.0, 0.0, -1.5, 4.0, -0.75, 2.5, 0.125)  # differences by pll
SECOND = (1.0, 2.0, 0.5, 0.25, 3.0, 0.5, -1.5, -4.0, -0.75, 2.5, 0.125)  # 1, 3, 5 and 7 go the other way
UNSCORED = 8  # by aul


def item(number: int) -> str:
    return f"our-pairs/{number:04}"


def run(
    folder: Path, model: str, differences: Sequence[float] = FIRST, *, ok: bool = True, passed: Sequence[str] = ()
) -> Path:
    """Two measures: pll with these differences, aul with a tenth of them, one pair unscored."""
    rows: list[dict[str, Any]] = []
    tokens: list[dict[str, Any]] = []
    for number, difference in enumerate(differences):
        rows += [_row("pll", number, difference), _row("aul", number, difference / 10)]
        tokens += _tokens("pll", number, difference)
        if number != UNSCORED:
            tokens += _tokens("aul", number, difference / 10)
    estimates = [
        _share(name, [row["outcome"] for row in rows if row["measure"] == name], data=rows[0]["data"])
        for name in ("pll", "aul")
    ]
    checks = [Check("accuracy", ok, "tokens are the model's first guess"), *(Check(name, True, "") for name in passed)]
    _write(folder, model, rows, tokens, estimates=[plain(one) for one in estimates], checks=checks)
    return folder


def large(folder: Path, n: int = 10_000) -> Path:
    """A run of n pairs; the difference of pair i is i − 5000."""
    rows = [
        {
            **fake.row("pll", f"big/{i:05}", float(i - 5000), 0.0, data="big", category=f"kind {i % 7}"),
            "text_more": f"Sentence number {i} of her.",
            "text_less": f"Sentence number {i} of him.",
            "text_unrelated": None,
            "unrelated": None,
        }
        for i in range(n)
    ]
    estimates = [plain(_share("pll", [row["outcome"] for row in rows], data="big"))]
    _write(folder, "large", rows, [], estimates=estimates, checks=())
    return folder


def templates(folder: Path) -> Path:
    """Two filled templates: `more` is the masculine sentence, and neither is a stereotype."""
    rows = [
        {
            **fake.row("ppd", f"open/{word}", more, 0.25, data="open", category="work", slot="subject"),
            "text_more": f"The {word} said he was in.",
            "text_less": f"The {word} said she was in.",
            "text_unrelated": None,
            "unrelated": None,
        }
        for word, more in (("cook", 0.5), ("nurse", 0.125))
    ]
    estimate = fake.estimate("ppd", 0.0625, statistic="appd", data="open", n=2, null=0.0)
    _write(folder, "tiny", rows, [], estimates=[plain(estimate)], checks=())
    return folder


def answers(folder: Path, count: int = 5) -> AnnotationFolder:
    """Answers that are undecided by the rules, except for the first."""
    from prompts.handmade import answer

    made = [answer(number, "undecided" if number else "biased") for number in range(count)]
    return create_folder(folder, ModelAnswers("tiny", "0" * 8, 2, "likelier", tuple(made)))


@contextmanager
def served(site: Site) -> Iterator[str]:
    """Serve the page from a thread; yield its URL."""
    started, place = threading.Event(), open_socket(0)
    running = create_server(site, started.set)
    thread = threading.Thread(target=running.run, args=([place],), daemon=True)
    thread.start()
    assert started.wait(20)
    try:
        yield page_url(place, site.token)
    finally:
        running.should_exit = True
        thread.join(20)
        place.close()


def _share(measure: str, outcomes: list[str], *, data: str) -> Estimate:
    """The bias score of these outcomes."""
    counts = {name: outcomes.count(name) for name in ("more", "tie", "unscored")}
    n = len(outcomes) - counts["unscored"]
    named = {"n": n, "ties": counts["tie"], "unscored": counts["unscored"], "data": data}
    value = 100 * counts["more"] / n
    return fake.estimate(measure, value, low=max(0.0, value - 4), high=min(100.0, value + 4), **named)


def _row(measure: str, number: int, difference: float) -> dict[str, Any]:
    category, more, less = PAIRS[number]
    texts = {"category": category, "text_more": more, "text_less": less, "text_unrelated": None}
    row = {**fake.row(measure, item(number), difference - 10, -10.0, **texts), "unrelated": None}
    if measure == "aul" and number == UNSCORED:
        nothing = {"more": None, "less": None, "difference": None}
        row |= {**nothing, "outcome": "unscored", "reason": "too long: 600 tokens, the model takes 512"}
    return row


def _tokens(measure: str, number: int, difference: float) -> list[dict[str, Any]]:
    """A shared token that contributes −9 on both sides, and a differing one that contributes the rest."""
    _, more, less = PAIRS[number]
    rows = []
    for side, word, rest in (("more", more, difference - 1), ("less", less, -1.0)):
        known = {"measure": measure, "item": item(number), "side": side}
        rows += [
            {**known, "position": 1, "token": "shared", "logprob": -18.0, "weight": 0.5, "in_span": False},
            {**known, "position": 2, "token": word, "logprob": -abs(rest), "weight": 1.0 if rest <= 0 else -1.0,
             "in_span": True},
        ]  # fmt: skip
    return rows


def _write(
    folder: Path,
    model: str,
    rows: list[dict[str, Any]],
    tokens: list[dict[str, Any]],
    *,
    estimates: list[dict[str, Any]],
    checks: Sequence[Check],
) -> None:
    facts = {"id": model, "kind": "masked", "parameters": 1000, "warnings": []}
    data = [{"name": rows[0]["data"], "title": "Our pairs", "n": len(rows)}]
    made: dict[str, Any] = {"estimates": estimates, "checks": [plain(one) for one in checks]}
    fake.write(folder, fake.meta(model=facts, data=data) | made, pa.Table.from_pylist(rows), fake.token_table(tokens))
