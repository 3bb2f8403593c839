"""`reliability`: a ranking would be called reliable that other items turn round, or scores be read in another order."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError, StatsError
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset, Floats
from unmask.data.matrices import ScoreMatrix
from unmask.diagnose.psychometrics.matrices import centre_scores
from unmask.findings.envelope import Result
from unmask.stats.generalizability import g_study

MODELS = ("bert-uncased", "roberta", "albert", "xlm-roberta")
OPTIONS = unmask.Options(store=False)


def table(path: Path, scores: Floats, *, directions: bool = False) -> Path:
    """A table of scores in long form; categories by threes, the second half of the items in the other direction."""
    lines = ["model,item,template,score,category,direction,group"]
    for (model, item, wording), score in np.ndenumerate(scores):
        direction = ("one" if item < scores.shape[1] // 2 else "two") if directions else ""
        lines.append(f"m{model},i{item:03},t{wording},{score},c{item % 3},{direction},kind")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def planted(models: int = 8, items: int = 40, wordings: int = 3) -> Floats:
    """Models that differ, items that do not all, and wordings."""
    rng = np.random.default_rng(0)
    lean = np.linspace(-1, 1, models)[:, None, None]
    noise = rng.normal(size=(models, items, 1)) + 0.3 * rng.normal(size=(models, items, wordings))
    return np.asarray(lean + noise + rng.normal(size=(1, items, 1)))


def only(result: Result, statistic: str, group: str = "all") -> Estimate:
    (found,) = (each for each in result.estimates if (each.statistic, each.group) == (statistic, group))
    return found


def test_a_table_of_scores(tmp_path: Path) -> None:
    scores = planted()
    result = unmask.diagnose("reliability", data=table(tmp_path / "own.csv", scores))
    study = g_study(scores)
    assert only(result, "generalisability").value == pytest.approx(study.reliability(40, 3).value)
    assert only(result, "generalisability", "wordings=1").value == pytest.approx(study.reliability(40, 1).value)
    assert only(result, "dependability").value == pytest.approx(study.reliability(40, 3, absolute=True).value)
    assert only(result, "variance-of-models").value == pytest.approx(study.share(0, relative=True).value)
    assert only(result, "generalisability").n == 8
    assert {each.measure for each in result.estimates} == {"reliability/scores"}
    assert [model["id"] for model in result.models] == [f"m{number}" for number in range(8)]
    assert result.meta["data"][0]["n"] == 40
    (section,) = result.findings
    assert "8 models by 40 items in 3 wordings" in section.finding.answers[0]
    titles = [each.title.partition(":")[0] for each in section.finding.tables]
    assert titles[:4] == ["Variance components", "Reliability of what could be asked", "Items needed", "Models"]
    ranked = section.finding.tables[3].rows
    order = np.argsort(-scores.mean(axis=(1, 2)))
    assert [row[0] for row in ranked] == [f"m{place}" for place in order]
    assert section.foot == "Data: Scores of own.csv."


def test_items_that_not_every_model_scored_are_left_out_and_counted(tmp_path: Path) -> None:
    scores = planted()
    scores[2, 5, 1] = np.nan
    scores[0, 7] = np.nan
    path = table(tmp_path / "own.csv", scores)
    path.write_text(path.read_text().replace("nan", ""))
    result = unmask.diagnose("reliability", data=path)
    kept = np.delete(scores, [5, 7], axis=1)
    assert only(result, "generalisability").value == pytest.approx(g_study(kept).reliability(38, 3).value)
    notes = result.findings[0].finding.notes
    assert notes == ("own: 2 of 40 items were not scored by every model in every wording and are left out",)


def test_a_general_preference_is_taken_out_by_hand() -> None:
    """Two items of either direction: preferences 3, 5 and −1, −3, so means 4 and −2, middle 1 and scores 2, 4; 2, 4."""
    empty = datasets.from_records([("a", "b")])
    scores = np.array([[3.0, 5.0, 1.0, 3.0]])[:, :, None]
    matrix = ScoreMatrix(empty, ("m",), tuple("abcd"), ("",), scores, (), ("up", "up", "down", "down"))
    assert_allclose(centre_scores(matrix).scores[0, :, 0], [2.0, 4.0, 2.0, 4.0])
    shifted = scores + np.array([1, 1, -1, -1])[None, :, None] * 100.0
    assert_allclose(
        centre_scores(ScoreMatrix(empty, ("m",), tuple("abcd"), ("",), shifted, (), matrix.directions)).scores,
        [[[2], [4], [2], [4]]],
    )
    plain = ScoreMatrix(empty, ("m",), tuple("abcd"), ("",), scores)
    assert centre_scores(plain) is plain


def test_centring_can_be_turned_off(tmp_path: Path) -> None:
    """Models that differ in nothing but a general preference have a ranking only if it is kept in."""
    rng = np.random.default_rng(1)
    signs = np.where(np.arange(30) < 20, 1.0, -1.0)[None, :, None]  # the directions are not balanced
    scores = np.linspace(-3, 3, 8)[:, None, None] * signs + rng.normal(size=(8, 30, 2))
    lines = ["model,item,template,score,direction"]
    for (model, item, wording), score in np.ndenumerate(scores):
        lines.append(f"m{model},i{item},t{wording},{score},{'one' if item < 20 else 'two'}")
    path = tmp_path / "own.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert only(unmask.diagnose("reliability", data=path), "generalisability").value < 0.3
    assert only(unmask.diagnose("reliability", data=path, centre=False), "generalisability").value > 0.7


@cache
def some_pairs() -> Dataset:
    return datasets.from_records(
        [(f"He {verb} it.", f"She {verb} it.") for verb in ("saw", "had", "left", "made", "lost")]
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Audits of four models on the same pairs."""
    folder = tmp_path_factory.mktemp("runs")
    for model in MODELS:
        unmask.audit(
            zoo.folder(model), data=[some_pairs()], measures=["aul", "pll"], out=folder / model, options=OPTIONS
        )
    return [folder / model for model in MODELS]


def test_result_folders_say_what_the_models_say(runs: list[Path]) -> None:
    from_folders = unmask.diagnose("reliability", runs)
    opened = unmask.diagnose(
        "reliability",
        [zoo.folder(model) for model in MODELS],
        data=some_pairs(),
        measures=("aul", "pll"),
        options=OPTIONS,
    )
    assert from_folders.estimates == opened.estimates
    assert {each.measure for each in from_folders.estimates} == {"reliability/aul", "reliability/pll"}
    assert [model["id"] for model in from_folders.models] == [model["id"] for model in opened.models]
    rows = unmask.load(runs[0]).items.to_pylist()
    won = [
        100.0 * (row["outcome"] == "more")
        for row in sorted(rows, key=lambda row: row["item"])
        if row["measure"] == "aul"
    ]
    assert from_folders.findings[0].finding.tables[3].columns[-1] == "bias-score"
    by_model = {row[0]: row[-1].value for row in from_folders.findings[0].finding.tables[3].rows}
    assert by_model[unmask.load(runs[0]).models[0]["id"]] == pytest.approx(np.mean(won))


def test_paraphrases_are_nested_in_their_originals(tmp_path: Path) -> None:
    rows = [
        {"more": f"He {verb} {thing}.", "less": f"She {verb} {thing}.", "original": verb, "paraphrase": str(number)}
        for verb in ("saw", "had", "left")
        for number, thing in enumerate(("it", "them"), start=1)
    ]
    result = unmask.diagnose(
        "reliability",
        [zoo.folder(model) for model in MODELS[:3]],
        data=datasets.from_records(rows),
        measures=("aul",),
        options=OPTIONS,
    )
    effects = [row[0] for row in result.findings[0].finding.tables[0].rows]
    assert effects == ["model", "item", "wording in item", "model × item", "rest"]
    assert "3 items in 2 wordings" in result.findings[0].finding.answers[0]


def test_templates_are_crossed_with_their_sentences() -> None:
    result = unmask.diagnose(
        "reliability",
        [zoo.folder(model) for model in MODELS[:3]],
        data=datasets.load("gest", data_dir=zoo.MINIATURE),
        measures=("sss-diagonal",),
        options=unmask.Options(store=False),
    )
    assert "32 items in 4 wordings" in result.findings[0].finding.answers[0]
    assert len(result.findings[0].finding.tables[0].rows) == 7


def test_what_cannot_be_answered_is_refused(tmp_path: Path, runs: list[Path]) -> None:
    with pytest.raises(
        StatsError, match=r"1 model with scores of the same items: expected at least 3; name more models"
    ):
        unmask.diagnose("reliability", runs[:1])
    with pytest.raises(DataError, match=r"nowhere is no result folder: give models, or result folders of all of them"):
        unmask.diagnose("reliability", [*runs, "nowhere"])
    with pytest.raises(DataError, match=r"length opens models; result folders and scores are read by reliability"):
        unmask.diagnose("length", runs)
    with pytest.raises(DataError, match=r"no measure of pairs on nine-axes in this audit"):
        unmask.diagnose("reliability", runs, data="nine-axes")
    scores = table(tmp_path / "own.csv", planted(models=2))
    with pytest.raises(StatsError, match="2 models with scores of the same items"):
        unmask.diagnose("reliability", data=scores)


def test_details_list_the_items(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lean = np.linspace(-2, 2, 16)[:, None, None]
    slopes = np.array([1.0] * 60 + [-1.0] * 6)[None, :, None]
    scores = lean * slopes + 0.4 * rng.normal(size=(16, 66, 1))
    result = unmask.diagnose("reliability", data=table(tmp_path / "own.csv", scores))
    lists = result.meta["details"]["reliability"]["items"]["own"]
    assert sorted(lists["wrong_way"]) == [f"i{number:03}" for number in range(60, 66)]
    assert only(result, "negative-items").value == pytest.approx(100 * 6 / 66)
    worst = next(each for each in result.findings[0].finding.tables if each.title.startswith("Items that push"))
    assert {row[0] for row in worst.rows} == set(lists["wrong_way"])


def test_the_pilot_on_published_scores(published: Path) -> None:
    """Between-model variance 2–5%; masked models: 3,565 items in one template 0.81, 200 in ten 0.88, 60 in one 0.53."""
    result = unmask.diagnose("reliability", data=["gest-masked-scores", "gest-causal-scores"], data_dir=published)
    masked, causal = (
        [each for each in result.estimates if each.data == f"gest-{kind}-scores"] for kind in ("masked", "causal")
    )
    one = {each.statistic: each for each in masked if each.group == "wordings=1"}
    assert one["generalisability"].value == pytest.approx(0.81, abs=0.005)
    assert next(each for each in masked if each.statistic == "generalisability").value == pytest.approx(0.94, abs=0.005)
    assert next(each for each in causal if each.statistic == "generalisability").value == pytest.approx(0.95, abs=0.005)
    assert 1 < next(each for each in masked if each.statistic == "variance-of-models").value < 5
    for own in (masked, causal):
        assert next(each for each in own if each.statistic == "negative-items").value == pytest.approx(33, abs=0.5)
    asked = next(each for each in result.findings[0].finding.tables if each.title.startswith("Reliability of what"))
    by_size = {(row[0], row[1]): row[2] for row in asked.rows}
    assert by_size["60 items", 1].value == pytest.approx(0.53, abs=0.005)
    assert by_size["200 items", 10].value == pytest.approx(0.875, abs=0.01)
    shares = {row[0]: row[5] for row in result.findings[0].finding.tables[0].rows}
    assert shares["model"].value == pytest.approx(2.4, abs=0.15)
