"""`invariance`: groups mixed up, or items of one set beside others, would make differences out of nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate
from unmask.core.types import Floats
from unmask.findings.envelope import Result
from unmask.stats.dif import invariance_test, regression_dif

FOCAL = np.array([True] * 6 + [False] * 8)


def scores(dif: float = 0.0, items: int = 30) -> Floats:
    """Fourteen models; the first three items are higher in the first six."""
    rng = np.random.default_rng(0)
    made = rng.normal(size=(14, 1)) + rng.normal(size=items) + 0.5 * rng.normal(size=(14, items))
    made[:6, :3] += dif
    return np.asarray(made)


def write(path: Path, made: Floats, *, group: bool = True, only: slice = slice(None), drop: int = 0) -> Path:
    """A table of scores, of some models, without the last `drop` items."""
    lines = ["model,item,score,category,group"]
    for model in range(14)[only]:
        kind = ("chat" if model < 6 else "base") if group else ""
        for item in range(made.shape[1] - drop):
            lines.append(f"{'chat' if model < 6 else 'base'}-{model},i{item},{made[model, item]},c{item % 3},{kind}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def only(result: Result, statistic: str, group: str = "all") -> Estimate:
    (found,) = (each for each in result.estimates if (each.statistic, each.group) == (statistic, group))
    return found


def test_groups_of_a_table(tmp_path: Path) -> None:
    made = scores(dif=3.0)
    result = unmask.diagnose("invariance", data=write(tmp_path / "own.csv", made))
    expected = regression_dif(made, FOCAL)
    assert result.meta["details"]["invariance"]["items"] == {
        "chat against base, own": [f"i{place}" for place in np.flatnonzero(expected.has_dif)]
    }
    assert {"i0", "i1", "i2"} <= set(result.meta["details"]["invariance"]["items"]["chat against base, own"])
    assert only(result, "mean-squared-t").value == pytest.approx(
        invariance_test(made, FOCAL, rng=np.random.default_rng(0))[0]
    )
    assert only(result, "items-below-0.05").value == pytest.approx(100 * (expected.p < 0.05).mean())
    finding = result.findings[0].finding
    assert finding.tables[0].rows[0][:2] == ("chat", 6)
    assert finding.tables[0].rows[1][:2] == ("base", 8)
    assert [row[0] for row in finding.tables[-1].rows[:3]] == [
        f"i{place}" for place in np.argsort(expected.p, kind="stable")[:3]
    ]
    means = np.stack([made[:, category::3].mean(axis=1) for category in range(3)], axis=1)
    by_category = regression_dif(means, FOCAL, purify=False)
    assert only(result, "dif", "category=c1").value == pytest.approx(by_category.effect[1])


def test_patterns_choose_the_groups(tmp_path: Path) -> None:
    made = scores()
    path = write(tmp_path / "own.csv", made, group=False)
    result = unmask.diagnose("invariance", data=path, focal="chat-*", reference=("base-6", "base-7", "base-8"))
    rows = result.findings[0].finding.tables[0].rows
    assert [row[1] for row in rows] == [6, 3]
    assert rows[1][-1] == "base-6, base-7, base-8"
    all_others = unmask.diagnose("invariance", data=path, focal=["chat-*"])
    assert [row[1] for row in all_others.findings[0].finding.tables[0].rows] == [6, 8]


def test_two_tables_are_compared_on_the_items_they_share(tmp_path: Path) -> None:
    made = scores()
    first = write(tmp_path / "one.csv", made, only=slice(0, 6), drop=4, group=False)
    second = write(tmp_path / "two.csv", made, only=slice(6, 14), group=False)
    result = unmask.diagnose("invariance", data=[first, second])
    finding = result.findings[0].finding
    assert finding.tables[0].rows[0][:2] == ("one", 6)
    assert "the 26 items that one and two have in common" in finding.notes[0]
    expected = regression_dif(made[:, :26], FOCAL)
    assert only(result, "items-below-0.05").value == pytest.approx(100 * (expected.p < 0.05).mean())


@pytest.mark.parametrize("dif", [0.0, 3.0])
def test_the_same_models_in_two_languages(tmp_path: Path, dif: float) -> None:
    """Eight multilingual models, 40 sentences of two genders in English and in Slovak, which shifts the first three."""
    rng = np.random.default_rng(5)
    own, of_items = rng.normal(size=(8, 1)), rng.normal(size=40)
    files = []
    for language, shift in (("english", 0.0), ("slovak", dif)):
        made = own + of_items + 0.5 * rng.normal(size=(8, 40))
        made[:, :3] += shift
        lines = [
            f"xlm-{model},gest/{item:04},{made[model, item]},{'female' if item % 2 else 'male'}"
            for model in range(8)
            for item in range(40)
        ]
        files.append(tmp_path / f"{language}.csv")
        files[-1].write_text("\n".join(["model,item,score,direction", *lines]) + "\n", encoding="utf-8")
    result = unmask.diagnose("invariance", data=files)
    groups = result.findings[0].finding.tables[0].rows
    assert [row[:2] for row in groups] == [("english", 8), ("slovak", 8)]
    (items,) = result.meta["details"]["invariance"]["items"].values()
    whole = only(result, "mean-squared-t")
    assert whole.p is not None
    if dif:
        assert items == ["gest/0000", "gest/0001", "gest/0002"]
        assert whole.p < 0.05
    else:
        assert items == []
        assert whole.p > 0.05


def test_without_two_groups_it_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", scores(), group=False)
    with pytest.raises(
        StatsError, match=r"own: groups own: expected two, or the models of one of them in focal \(--focal\)"
    ):
        unmask.diagnose("invariance", data=path)
    with pytest.raises(StatsError, match="groups of 0 and 14 models"):
        unmask.diagnose("invariance", data=path, focal="nobody-*")


def test_masked_and_causal_models_of_gest(published: Path) -> None:
    """The two kinds order the items alike only in part, base and chat models could not be told apart."""
    kinds = unmask.diagnose("invariance", data=["gest-masked-scores", "gest-causal-scores"], data_dir=published)
    assert only(kinds, "mean-squared-t").p < 0.05
    assert only(kinds, "item-correlation").value == pytest.approx(0.78, abs=0.01)
    chat = unmask.diagnose(
        "invariance",
        data="gest-causal-scores",
        data_dir=published,
        focal=("*chat*", "*Instruct*"),
        reference=("Llama*-hf", "Mistral-7B-v0.1"),
    )
    assert only(chat, "mean-squared-t").p > 0.05
    assert only(chat, "item-correlation").value == pytest.approx(0.91, abs=0.01)
