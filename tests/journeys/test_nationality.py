"""A social scientist with sentences and templates of her own on nationality: to a page, and to a copy to send."""

from __future__ import annotations

import re
from pathlib import Path

import unmask

from .conftest import User

PAIRS = """\
more;less;category
The Turkish driver was late again.;The German driver was late again.;work
My Turkish neighbour is loud.;My German neighbour is loud.;home
The Polish cleaner left early.;The German cleaner left early.;work
"""
TEMPLATES = """\
slots:
  who: [Turkish, German]
words:
  - {word: driver, category: work}
  - {word: doctor, category: work}
  - {word: lawyer, category: work}
  - {word: cleaner, category: work}
templates:
  - {category: work, template: "The {word} is {who}."}
  - {category: work, template: "That {who} person is a {word}."}
  - {category: work, template: "A {who} {word} came in."}
  - {category: work, template: "We met a {who} {word}."}
"""


def test_her_sentences_become_a_page_and_a_copy(user: User, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(PAIRS, encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(TEMPLATES, encoding="utf-8")
    user("unmask audit --data mine.csv --measure aul --out runs/pairs --quiet")
    said = user("unmask audit --data mine.yaml --measure ppd --out runs/templates --quiet")
    page = (tmp_path / "runs" / "templates" / "report.html").read_text(encoding="utf-8")
    words = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert "Turkish" in said
    assert "Turkish" in words
    for text in (said, words):
        assert not re.search(r"towards (wo)?men\b", text), "her slot is not about gender"
    result = unmask.load(tmp_path / "runs" / "templates")
    assert result.meta["data"][0]["sides"] == ["Turkish", "German"]

    user("unmask report runs/pairs -o page.html")
    assert "mine.csv" in (tmp_path / "page.html").read_text(encoding="utf-8")
    user("unmask explore runs/pairs runs/templates --bundle copy")
    assert (tmp_path / "copy" / "index.html").stat().st_size > 50_000
