"""What an audit prints, in Python and by the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import unmask
import zoo
from unmask.audit.interpretation import slot_sides
from unmask.audit.result import AuditResult
from unmask.cli import main
from unmask.findings.html import fragment
from unmask.findings.sentences import lean


def run_audit(folder: Path, *data: str) -> AuditResult:
    """A result folder of a tiny model on the first items of datasets."""
    options = unmask.Options(limit=4, store=False)
    return unmask.audit(zoo.folder("gpt2"), data=data, out=folder, options=options)


def test_printing_a_result_shows_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", str(zoo.folder("gpt2")), "--data", "nine-axes", "pronoun-templates", "--limit", "4"]
    with pytest.raises(SystemExit) as left:
        main([*words, "--no-report", "--no-store", "--quiet", "--out", str(tmp_path / "command")])
    assert not left.value.code
    printed = capsys.readouterr().out
    result = run_audit(tmp_path / "python", "nine-axes", "pronoun-templates")
    assert str(result).splitlines() == printed.splitlines()
    assert str(unmask.load(tmp_path / "command")) == str(result)
    for estimate in result.headlines():
        assert result.measure(estimate.measure).name in printed
    for said in (
        "gpt2 (GPT2LMHeadModel",
        "begin-of-text rule",
        "Nine axes",
        "verdict",
        "what the measures read",
        "furthest towards",
    ):
        assert said in printed


def test_a_notebook_shows_the_same_tables(tmp_path: Path) -> None:
    result = run_audit(tmp_path, "nine-axes")
    html = result._repr_html_()
    assert html == fragment(result.findings)
    assert "Nine axes of stereotype (4 of 360 items, a subset)</h2>" in html
    assert html.count("<tr>") == 1 + len(result.headlines())


def test_a_measure_that_is_not_installed_is_shown_by_what_the_result_records(tmp_path: Path) -> None:
    result = run_audit(tmp_path, "nine-axes")
    name = result.measures()[0]
    own = {"name": "own", "title": "Our own", "reads": "as we say", "citation": "us", "in_nats": True}
    recorded = next(each for each in result.meta["details"]["measures"] if each["name"] == name)
    meta = result.meta | {"details": {"measures": [{**recorded, **own}]}}
    meta["estimates"] = [{**each, "measure": "own"} for each in meta["estimates"] if each["measure"] == name]
    renamed = replace(result, meta=meta)
    assert "own: as we say" in str(renamed)


def test_templates_not_about_gender_are_read_by_their_own_words(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "slots: {who: [Turkish, German]}\n"
        "words: [{word: baker, category: work}, {word: judge, category: work}]\n"
        "templates:\n  - {category: work, template: 'The {who} man is {a} {word}.'}\n"
        "  - {category: work, template: 'I saw the {who} {word}.'}\n"
    )
    result = unmask.audit(zoo.folder("bert-uncased"), data=str(tmp_path / "mine.yaml"), out=tmp_path / "r", store=False)
    printed = str(result)
    assert "towards “Turkish”" in printed
    assert "towards “German”" in printed
    assert not {"men", "women", "masculine"} & set(printed.replace(":", "").split())
    leaning = replace(result.headlines()[0], value=0.5, low=0.4, high=0.6, n=30, p=0.01)
    assert lean(leaning, slot_sides(result, "mine")) == "leans towards “Turkish”"


def test_only_words_that_lean_to_a_side_are_listed_there(tmp_path: Path) -> None:
    result = run_audit(tmp_path, "pronoun-templates")
    meta = result.meta | {
        "estimates": [
            {**each, "value": 0.25} if str(each["group"]).startswith("word=") else each
            for each in result.meta["estimates"]
        ]
    }
    lines = str(replace(result, meta=meta)).splitlines()
    assert any("furthest towards men: " in line and "+0.25" in line for line in lines)
    assert any(line.strip() == "furthest towards women: none" for line in lines)
