"""Each study end to end at minimal size, its numbers checked against independent arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import zoo
from unmask.audit.result import load
from unmask.findings import Section, Value
from unmask.findings.envelope import Result
from unmask.studies import Runtime, StudyOptions, find
from unmask.studies.run import StudyPlan, plan_study, run_plan

pytestmark = [pytest.mark.slow]
TRAIN = {"epochs": 1.0, "rate": 1e-3, "batch": 16}


def run_study(
    name: str, folder: Path, *, models: tuple[str, ...], limit: int, **settings: Any
) -> tuple[StudyPlan, Result]:
    chosen = StudyOptions(
        models=tuple(str(zoo.folder(one)) for one in models), limit=limit, reduced=True, settings=settings
    )
    plan = plan_study(find(name), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))
    result = run_plan(plan, folder)
    assert not result.meta["details"]["failed"]
    for file in ("tables.md", "tables.tex", "result.json"):
        assert (folder / file).stat().st_size > 1000, file
    return plan, result


def section(result: Result, name: str) -> Section:
    return next(one for one in result.findings if one.name == name)


def rows(result: Result, name: str, table: int = 0) -> list[dict[str, Any]]:
    chosen = section(result, name).finding.tables[table]
    return [dict(zip(chosen.columns, row, strict=True)) for row in chosen.rows]


def items(plan: StudyPlan, folder: Path, step: str) -> list[Mapping[str, Any]]:
    key = next(plan.keys[name] for name in plan.keys if name.startswith(step))
    return list(pq.read_table(folder / "steps" / key / "items.parquet").to_pylist())


def test_aul(tmp_path: Path) -> None:
    plan, result = run_study("aul", tmp_path, models=("bert-uncased", "albert"), limit=9)
    assert [one.name for one in result.findings] == [
        *("about", "table-1", "table-2", "table-3", "table-4", "table-5", "figure-1")
    ]
    found = rows(result, "table-5")
    assert [(Path(row["model"]).name, row["data"], row["measure"]) for row in found] == [
        (model, data, measure)
        for model in ("bert-uncased", "albert")
        for data, measures in (("crows-pairs", ("cps", "aul", "aula")), ("stereoset", ("sss", "aul", "aula")))
        for measure in measures
    ]
    first = plan.options.models[0]
    won = [
        row["outcome"] == "more" for row in items(plan, tmp_path, f"audit {first} on crows") if row["measure"] == "aul"
    ]
    aul = next(row for row in found if row["measure"] == "aul")
    assert aul["bias score"].value == pytest.approx(100 * sum(won) / len(won))
    assert {row["model"] for row in rows(result, "table-1")} == set(plan.options.models)
    assert section(result, "table-3").finding.tables[-1].title == "As published, of the paper's models"
    assert next(each.value for each in result.estimates if each.measure == "aul") == aul["bias score"].value
    assert section(result, "table-4").finding.plots
    assert "Table 5" in (tmp_path / "tables.md").read_text()


def test_paraphrase(tmp_path: Path) -> None:
    plan, result = run_study("paraphrase", tmp_path, models=("bert-uncased", "roberta"), limit=24)
    key = plan.keys[next(iter(plan.keys))]
    kept = load(tmp_path / "steps" / key / "paraphrase").meta["details"]["paraphrase"]["differences"]
    (families,) = (each["families"] for each in kept if each["scale"] == "mean per token")
    agree = sum(len({np.sign(one) for one in each["differences"]}) == 1 for each in families)
    found = rows(result, "figure-2")
    assert found[0]["originals"] == len(families)
    assert found[0]["agree %"].value == pytest.approx(100 * agree / len(families))
    assert section(result, "figure-3").finding.plots, "Figure 3 has its plot"
    sizes = {row["bias type"]: row for row in rows(result, "table-1")}
    assert sizes["all"]["pairs"] == sum(len(one["differences"]) for one in families)
    assert sizes["gender"]["published pairs"] == 109
    assert sizes["all"]["published pairs"] == 383
    assert section(result, "table-2").finding.tables[-1].rows[0][1:] == (0.0177, 0.0609, -0.1344)
    assert [one.name for one in result.findings[1:]] == [*("table-1", "figure-2", "figure-3", "figure-4", "table-2")]


def test_prompts(tmp_path: Path) -> None:
    plan, result = run_study("prompts", tmp_path, models=("bert-uncased",), limit=60, prompts=3)
    found = {row["score"]: row for row in rows(result, "table-3")}
    every = items(plan, tmp_path, "audit")
    for score, direction in (("metric score", None), ("stereo score", "stereo"), ("anti-stereo score", "antistereo")):
        won = [row["outcome"] == "more" for row in every if direction in (None, row["direction"])]
        assert found[score]["ours"].value == pytest.approx(100 * sum(won) / len(won)), score
    means = {
        name: np.mean([row["difference"] for row in every if row["category"] == name])
        for name in ("race-color", "gender", "socioeconomic", "religion")
        if any(row["category"] == name for row in every)
    }
    order = [name.removesuffix("-color") for name in sorted(means, key=lambda one: -means[one])]
    assert [row["bias type"] for row in rows(result, "table-5")] == order
    assert rows(result, "hld")[0]["decided"] + rows(result, "hld")[0]["undecided"] == 12
    assert section(result, "table-4").finding.tables[-1].title.startswith("As published")
    assert rows(result, "table-1")[0]["published"] == 516


def test_gbef(tmp_path: Path) -> None:
    small = {"draws": 1, "sizes": (12, 24), "documents": 24, "templates": 60, "train": TRAIN, "reminders": (1,)}
    plan, result = run_study("gbef", tmp_path, models=("bert-uncased",), limit=12, **small)
    found = {row["category"]: row for row in rows(result, "table-3")}
    every = [abs(row["difference"]) for row in items(plan, tmp_path, "audit")]
    assert found["combined"]["ASLD"].value == pytest.approx(np.mean(every))
    four = {row["model"] for row in rows(result, "table-4")}
    assert four == {"base", "cds on gap", "toxic", "severe toxic"}
    assert {row["published"] for row in rows(result, "table-4") if row["category"] == "combined"} == {
        *(4.05, 2.60, 4.14, 4.41)
    }
    before = rows(result, "figures-8-19")[0]
    words = [
        row["difference"]
        for row in items(plan, tmp_path, f"audit {plan.options.models[0]} on pron")
        if row["word"] == before["word"]
    ]
    assert before["before"].value == pytest.approx(np.mean(words))
    assert before["after"].value != before["before"].value
    assert [row["sentences"] for row in rows(result, "figure-13") if row["category"] == "combined"] == [12, 24]
    assert len(result.findings) == 9


def test_debiasing(tmp_path: Path) -> None:
    use = {
        "grid": {"batch": [8], "rate": [1e-3], "epochs": [1.0]},
        "every": 2,
        "steps": 4,
        "rows": 32,
        "triples": 12,
        "length": 32,
    }
    small = {"documents": 24, "train": TRAIN, "use": use, "tasks": ("STS-bias",), "search": False}
    small |= {"each": {"STS-bias": {"limit": 1}}}
    plan, result = run_study("debiasing", tmp_path, models=("bert-uncased",), limit=12, **small)
    scores = rows(result, "figure-1")
    assert {row["version"] for row in scores} == {"original", "AT", "CDA", "DO"}
    won = [
        row["outcome"] == "more"
        for row in items(plan, tmp_path, f"audit {plan.options.models[0]} on crows")
        if row["measure"] == "cps"
    ]
    cps = next(row for row in scores if (row["version"], row["measure"]) == ("original", "CPS"))
    assert cps["score"].value == pytest.approx(100 * sum(won) / len(won) - 50)
    steps = [row["step"] for row in rows(result, "figure-2") if row["version"] == "CDA"]
    assert steps == [0, 2, 4]
    learnt = {row["version"]: row for row in rows(result, "figure-1", 2)}
    for row in rows(result, "figure-2"):
        if row["step"] == 4:
            assert learnt[row["version"]]["validation score"].value == pytest.approx(row["validation score"])
    poor = sum(row["validation score"].low <= row["majority class"] for row in learnt.values())
    said = [one for one in section(result, "table-2").finding.notes if "not learnt STS-bias" in one]
    assert len(said) == bool(poor)
    assert all(one.startswith(f"{poor} of 4 versions") for one in said)
    tau = rows(result, "table-2")
    assert {(row["intrinsic"], row["fine-tuning"]) for row in tau} <= {
        (measure, when) for measure in ("SSS", "CPS", "AULA") for when in ("before", "after")
    }
    _check_tau(scores, next(row for row in tau if row["fine-tuning"] == "before"))
    ilps = rows(result, "table-1")[0]
    assert ilps["ILPS"].value == pytest.approx(np.log(ilps["feminine"] / ilps["masculine"]))
    assert ilps["published"] == -0.48


def _check_tau(scores: list[dict[str, Any]], row: dict[str, Any]) -> None:
    """Kendall's τ-b by counting pairs."""
    by = {
        name: {one["version"]: one["score"].value for one in scores if one["measure"] == name}
        for name in (row["intrinsic"], row["task"])
    }
    intrinsic, extrinsic = by[row["intrinsic"]], {key: abs(value) for key, value in by[row["task"]].items()}
    names = list(intrinsic)
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    signs = [(np.sign(intrinsic[a] - intrinsic[b]), np.sign(extrinsic[a] - extrinsic[b])) for a, b in pairs]
    top = sum(x * y for x, y in signs)
    bottom = np.sqrt(sum(x != 0 for x, _ in signs) * sum(y != 0 for _, y in signs))
    assert isinstance(row["τ"], Value)
    assert row["τ"].value == pytest.approx(top / bottom)
