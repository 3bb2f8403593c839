"""`.eval_results/unmask.yaml` beside a model card: the hub's own reader finds our numbers on data of the hub."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from unmask.audit.result import AuditResult
from unmask.report import eval_results
from unmask.report.run import report

from . import fake

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def on_hub() -> AuditResult:
    made = fake.whole()
    on_hub = {"hub": "owner/pairs", "revision": COMMIT, "subset_of": 9000}
    made.meta["data"] = [{**card, **on_hub} for card in made.meta["data"]]
    return made


def test_the_hub_reads_every_finite_headline(tmp_path: Path) -> None:
    made = on_hub()
    report(made, card=tmp_path / "README.md")
    path = tmp_path / ".eval_results" / "unmask.yaml"
    read = parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))
    headlines = {each.measure: each for each in made.headlines() if each.value == each.value}
    named = {card["name"] for card in made.meta["data"]}
    assert {entry.task_id for entry in read} == {each.measure for each in headlines.values() if each.data in named}
    for entry in read:
        assert entry.value == headlines[entry.task_id].value
        assert (entry.dataset_id, entry.dataset_revision) == ("owner/pairs", COMMIT)
    notes = next(entry.notes for entry in read if entry.task_id == "cps")
    assert notes is not None
    assert "(a subset of 9,000 items)" in notes
    assert "95% interval 57.2 to 65.2; no preference at 50" in notes
    assert notes.endswith("1 of 2 checks failed")


def test_without_data_of_the_hub_there_is_no_file_and_an_earlier_one_goes(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    assert eval_results.write(on_hub(), card) is not None
    assert eval_results.write(fake.whole(), card) is None
    assert not eval_results.path_beside(card).exists()


def test_the_command_says_what_it_wrote(tmp_path: Path, miniature: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import unmask
    import zoo
    from unmask.cli import main

    unmask.audit(
        zoo.folder("bert-uncased"),
        data="crows-pairs",
        measures="aul",
        limit=4,
        data_dir=miniature,
        out=tmp_path / "run",
    )
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path / "run"), "--card", str(tmp_path / "README.md")])
    beside = tmp_path / ".eval_results" / "unmask.yaml"
    assert capsys.readouterr().out.splitlines() == [f"wrote {tmp_path / 'README.md'}", f"wrote {beside}"]
    (entry,) = parse_eval_result_entries(yaml.safe_load(beside.read_text(encoding="utf-8")))
    assert (entry.dataset_id, entry.task_id, entry.dataset_revision) == ("nyu-mll/crows_pairs", "aul", None)
