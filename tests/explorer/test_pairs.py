"""The table of all pairs, and one pair token by token."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from unmask.audit.result import load
from unmask.core.errors import DataError, ResultError
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.pairs import Runs, compare_runs, run_summaries, token_breakdown
from unmask.explorer.server import find_folders, open_folders

from . import samples


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    folders = [samples.run(tmp_path / "one", "tiny"), samples.run(tmp_path / "two", "other", samples.SECOND, ok=False)]
    return Runs(tuple(load(folder) for folder in folders))


def test_the_columns_hold_every_score_of_every_run(runs: Runs) -> None:
    columns = runs.columns
    assert columns["n"] == len(samples.PAIRS)
    assert columns["item"] == tuple(samples.item(number) for number in range(len(samples.PAIRS)))
    assert [(scores["run"], scores["measure"]) for scores in columns["scores"]] == [
        (0, "pll"),
        (0, "aul"),
        (1, "pll"),
        (1, "aul"),
    ]
    pll = columns["scores"][0]
    for number, difference in enumerate(samples.FIRST):
        assert pll["more"][number] - pll["less"][number] == difference
        won = "more" if difference > 0 else "less" if difference < 0 else "tie"
        assert columns["outcomes"][pll["outcome"][number]] == won
    aul = columns["scores"][1]
    assert aul["more"][samples.UNSCORED] is None
    assert columns["outcomes"][aul["outcome"][samples.UNSCORED]] == "unscored"
    assert aul["reasons"] == {samples.UNSCORED: "too long: 600 tokens, the model takes 512"}
    assert "difference_per_token" not in columns["groups"], "a score of one measure is no group of pairs"
    category = columns["groups"]["category"]
    assert [category["values"][code] for code in category["codes"]] == [one[0] for one in samples.PAIRS]
    assert columns["text_unrelated"] is None


def test_same_id_with_other_texts_is_another_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples.run(tmp_path / "one", "tiny")
    changed = (("age", "Old folk nap.", "Young folk nap."), *samples.PAIRS[1:])
    monkeypatch.setattr(samples, "PAIRS", changed)
    samples.run(tmp_path / "two", "tiny")
    both = Runs((load(tmp_path / "one"), load(tmp_path / "two")))
    assert both.names == ("tiny (one)", "tiny (two)")
    assert both.columns["n"] == len(samples.PAIRS) + 1
    assert both.columns["item"].count(samples.item(0)) == 2
    here, there = both.columns["scores"][0], both.columns["scores"][2]
    assert here["outcome"][-1] is None
    assert there["outcome"][0] is None
    assert [len(lines) for lines in both.rows_by_run] == [len(samples.PAIRS)] * 2
    assert both.rows_by_run[1] - both.rows_by_run[0] == {len(samples.PAIRS)}


def test_runs_of_one_folder_have_distinct_names(tmp_path: Path) -> None:
    result = load(samples.run(tmp_path / "one", "tiny"))
    assert Runs((result, result)).names == ("tiny (one) #1", "tiny (one) #2")


def test_summaries_have_readings_and_checks(runs: Runs) -> None:
    first, second = run_summaries(runs)
    won = sum(one > 0 for one in samples.FIRST)
    # by aul one pair is unscored, which pll does not prefer either
    assert [one["value"] for one in first["headlines"]] == [100 * won / 11, 100 * won / 10]
    assert [one["reading"] for one in first["headlines"]] == ["too few items for a verdict"] * 2
    assert [one["ok"] for one in first["checks"]] == [True]
    assert [one["ok"] for one in second["checks"]] == [False]
    assert first["warning"] == ""
    assert second["warning"] == "1 of 1 checks failed: do not interpret these numbers"  # as in all other outputs
    assert {one["reading"] for one in second["headlines"]} == {"a check failed: do not interpret this number"}


def test_a_pair_token_by_token(runs: Runs) -> None:
    result = runs.results[0]
    pll, aul = token_breakdown(result.items, result.tokens, samples.item(4))
    assert (pll["measure"], pll["outcome"], pll["difference"]) == ("pll", "more", 3.0)
    assert pll["adds_up"]
    shared, own = pll["tokens"]["more"]
    assert (shared["text"], shared["logprob"], shared["weight"], shared["part"], shared["together"]) == (
        "shared", -18.0, 0.5, 0.0, 0.0,
    )  # fmt: skip
    assert own["changed"]
    assert not shared["changed"]
    assert math.isclose(own["together"], 3.0)
    parts = [token["part"] for side in ("more", "less") for token in pll["tokens"][side]]
    assert math.isclose(sum(parts), 3.0)
    assert math.isclose(aul["difference"], 0.3)


def test_unscored_pair_has_a_reason(runs: Runs) -> None:
    result = runs.results[0]
    _, aul = token_breakdown(result.items, result.tokens, samples.item(samples.UNSCORED))
    assert aul["difference"] is None
    assert aul["reason"].startswith("too long")
    assert aul["tokens"]["more"] == []
    assert not aul["adds_up"]


def test_comparison_equals_the_compare_command(runs: Runs) -> None:
    changes = {(change["measure"], change["statistic"]): change for change in compare_runs(*runs.results)}
    pll = changes["pll", "bias-score"]
    before, after = (100 * sum(one > 0 for one in some) / len(some) for some in (samples.FIRST, samples.SECOND))
    assert math.isclose(pll["change"], after - before)
    assert pll["flips"] == 4
    assert pll["low"] <= pll["change"] <= pll["high"]


def test_folders_are_runs_or_answers(tmp_path: Path) -> None:
    one, folder = samples.run(tmp_path / "one", "tiny"), samples.answers(tmp_path / "answers").path
    opened = open_folders([folder, one])
    runs, desk = opened.runs, opened.desk
    assert [result.folder for result in runs.results] == [one]
    assert desk is not None
    assert desk.model == "tiny"
    assert open_folders([]).desk is None
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "result.json").write_text("{")
    skipped: list[str] = []
    assert len(open_folders([tmp_path / "damaged", one], skip=skipped.append).runs.results) == 1
    assert ["is not JSON" in reason for reason in skipped] == [True]  # one damaged folder does not hide the others
    with pytest.raises(ResultError, match="answers of 2 models"):
        open_folders([folder, samples.answers(tmp_path / "more").path])
    with pytest.raises(ResultError, match=r"no result\.json"):
        open_folders([tmp_path])
    (one / "tokens.parquet").write_bytes(b"cut short")
    with pytest.raises(ResultError, match="cannot be read"):
        open_folders([one])


def test_runs_in_a_folder_are_found(tmp_path: Path) -> None:
    assert find_folders(tmp_path / "nowhere") == []
    one, two = samples.run(tmp_path / "b", "tiny"), samples.run(tmp_path / "a", "tiny")
    answers = samples.answers(tmp_path / "c").path
    (tmp_path / "unfinished").mkdir()
    assert set(find_folders(tmp_path)[:2]) == {one, two}
    assert find_folders(tmp_path)[2:] == [answers]


def test_annotation_resumes(tmp_path: Path) -> None:
    desk = AnnotationDesk(samples.answers(tmp_path))
    assert desk.state("anna")["waiting"] == [f"prompts/{number:04}" for number in (1, 2, 3, 4)]
    response = desk.annotate("prompts/0002", " anna  b ", "not biased")
    assert response["saved"]["judge"] == "anna b"
    assert response["waiting"] == [f"prompts/{number:04}" for number in (1, 3, 4)]
    again = AnnotationDesk(samples.answers(tmp_path))
    assert again.state("anna b")["waiting"] == response["waiting"]
    assert [one["own"] for one in again.state("anna b")["answers"]] == [None, None, "not biased", None, None]
    assert len(again.state("bela")["waiting"]) == 4
    assert len(again.state("")["waiting"]) == 4


@pytest.mark.parametrize(
    ("prompt", "annotator", "verdict", "message"),
    [
        ("prompts/0099", "anna", "biased", "prompts/0099"),
        ("prompts/0001", "", "biased", "'' is not a valid annotator name"),
        ("prompts/0001", "x" * 81, "biased", "is not a valid annotator name: give at most 80 characters"),
        ("prompts/0001", "=cmd()", "biased", r"'=cmd\(\)' is not a valid annotator name"),
        ("prompts/0001", "anna", "maybe", "maybe"),
    ],
)
def test_invalid_annotation_is_refused_and_not_written(
    tmp_path: Path, prompt: str, annotator: str, verdict: str, message: str
) -> None:
    desk = AnnotationDesk(samples.answers(tmp_path))
    with pytest.raises(DataError, match=message):
        desk.annotate(prompt, annotator, verdict)
    assert not desk.folder.annotations_path.exists()
