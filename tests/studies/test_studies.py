"""Each study end to end at minimal size, its numbers checked against independent arithmetic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import zoo
from unmask.audit.result import load
from unmask.findings import Finding, Section, Value
from unmask.findings.envelope import Result
from unmask.studies import Runtime, find
from unmask.studies.cache import step_folder
from unmask.studies.forecast import steps_of
from unmask.studies.results.aul import PAPER as AUL
from unmask.studies.run import StudyPlan, plan_study, run_plan

pytestmark = [pytest.mark.slow]
TRAIN = {"epochs": 1.0, "lr": 1e-3, "batch": 16}


def run_study(
    name: str, folder: Path, *, models: tuple[str, ...], limit: int, **settings: Any
) -> tuple[StudyPlan, Result]:
    chosen = dict(models=tuple(str(zoo.folder(one)) for one in models), limit=limit, reduced=True, **settings)
    plan = plan_study(find(name), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))
    result = run_plan(plan, folder)
    assert not result.meta["details"]["failed"]
    for file in ("tables.md", "tables.tex", "result.json"):
        assert (folder / file).stat().st_size > 1000, file
    assert not missing_parts(plan, result.findings)
    assert not missing_when_alone(plan, result, folder)
    return plan, result


def missing_when_alone(plan: StudyPlan, result: Result, folder: Path) -> list[str]:
    """The tables and figures that are not made if only their own steps were run, as `--part` does."""
    missing = []
    whole = [each for each in result.findings if has_content(each.finding)]
    absent = missing_parts(plan, whole)  # in the whole study too: the miniature has no such rows
    for part, patterns in plan.study.parts.items():
        own = {step.name for step in steps_of(patterns, plan.roles)}
        keys = {role: plan.keys[step.name] for role, step in plan.roles.items() if step.name in own}
        done = {role: step_folder(folder, key) for role, key in keys.items()}
        shown = [each for each in plan.study.conclude(done, plan.options).sections if has_content(each.finding)]
        alone = replace(plan, study=replace(plan.study, parts={part: patterns}))
        if part not in absent and missing_parts(alone, shown):
            missing.append(part)
    return missing


def has_content(finding: Finding) -> bool:
    return bool(finding.tables or finding.plots)


def missing_parts(plan: StudyPlan, sections: Sequence[Section]) -> list[str]:
    """The tables and figures that a dry run names and the page does not have: by section or plot."""
    shown = {each.name for each in sections} | {plot.id for each in sections for plot in each.finding.plots}
    roman = {f"table-{name}": f"table-{number}" for number, name in enumerate(("i", "ii", "iii", "iv", "v"), 1)}
    slugs = {part: re.sub("[^a-z0-9]+", "-", part.lower()) for part in plan.study.parts if part[0] in "TF"}
    return [part for part, slug in slugs.items() if roman.get(slug, slug) not in shown]


def section(result: Result, name: str) -> Section:
    return next(one for one in result.findings if one.name == name)


def rows(result: Result, name: str, table: int = 0) -> list[dict[str, Any]]:
    chosen = section(result, name).finding.tables[table]
    return [dict(zip(chosen.columns, row, strict=True)) for row in chosen.rows]


def claimed(result: Result) -> list[dict[str, Any]]:
    """The tests of all claims."""
    return [
        {"question": table.title, **dict(zip(table.columns, row, strict=True))}
        for table in section(result, "claims").finding.tables
        for row in table.rows
    ]


def items(plan: StudyPlan, folder: Path, step: str) -> list[Mapping[str, Any]]:
    key = next(plan.keys[name] for name in plan.keys if name.startswith(step))
    return list(pq.read_table(folder / "steps" / key / "items.parquet").to_pylist())


def test_aul(tmp_path: Path) -> None:
    plan, result = run_study("aul", tmp_path, models=("bert-uncased", "albert"), limit=20)
    assert [one.name for one in result.findings] == [
        *("about", "claims", "table-1", "table-2", "table-3", "table-4", "table-5", "figure-1")
    ]
    found = rows(result, "table-5")
    assert [(Path(row["model"]).name, row["data"], row["measure"]) for row in found] == [
        (model, data, measure)
        for model in ("bert-uncased", "albert")
        for data, measures in (
            ("crows-pairs", ("cps", "aul", "aula")),
            ("stereoset", ("sss", "sss-diagonal", "aul", "aula")),
        )
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
    of_first = {row["where"].partition(", ")[2]: row for row in claimed(result) if row["where"].startswith(first)}
    ours = items(plan, tmp_path, f"audit {first} on crows")
    wins = [sum(row["outcome"] == "more" for row in ours if row["measure"] == name) for name in ("cps", "aul")]
    gap = 100 * (wins[0] - wins[1]) / len(won)
    assert of_first["crows-pairs, cps − aul, as published"]["value"].value == pytest.approx(gap)
    assert "stereoset, sss − aula, as corrected" in of_first
    claims = AUL.text.claims
    questions = {claim.question for claim in claims.values()}
    assert {row["question"] for row in claimed(result)} == questions - {claims["human"].question}, (
        "this sample has no contested pair"
    )
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
    printed = {row["bias type"]: row["pairs"] for row in rows(result, "table-1", 1)}
    assert (printed["gender"], printed["all"]) == (109, 383)
    assert section(result, "table-2").finding.tables[-1].rows[0][1:] == (0.0177, 0.0609, -0.1344)
    names = ["claims", "figure-1", "table-1", "figure-2", "figure-3", "figure-4", "table-2"]
    assert [one.name for one in result.findings[1:]] == names


def test_prompts(tmp_path: Path) -> None:
    plan, result = run_study("prompts", tmp_path, models=("bert-uncased", "albert"), limit=60, prompts=3)
    model = plan.options.models[0]
    found = {row["score"]: row for row in rows(result, "table-3") if row["model"] == model}
    every = items(plan, tmp_path, "audit")
    for score, direction in (("metric score", None), ("stereo score", "stereo"), ("anti-stereo score", "antistereo")):
        counted = [
            row
            for row in every
            if direction is None or (row["direction"], row["outcome"] != "tie") == (direction, True)
        ]
        won = [row["outcome"] == "more" for row in counted]
        assert found[score]["ours"].value == pytest.approx(100 * sum(won) / len(won)), score
    means = {
        name: np.mean([row["difference"] for row in every if row["category"] == name])
        for name in ("race-color", "gender", "socioeconomic", "religion")
        if any(row["category"] == name for row in every)
    }
    order = [name.removesuffix("-color") for name in sorted(means, key=lambda one: -means[one])]
    ranked = [row for row in rows(result, "table-5") if (row["pairs"], row["model"]) == ("benchmark", model)]
    assert [row["bias type"] for row in ranked] == order
    least, most = rows(result, "table-3", 1)
    assert least["difference"] is None
    assert most["difference"].value == pytest.approx(most["metric score"].value - least["metric score"].value)
    assert most["difference"].value >= 0, "from the model before"
    assert rows(result, "hld")[0]["decided"] + rows(result, "hld")[0]["undecided"] == 12
    assert section(result, "table-4").finding.tables[-1].title.startswith("As published")
    assert rows(result, "table-1")[0]["published"] is None, "60 pairs only"


def test_gbef(tmp_path: Path) -> None:
    small = {"draws": 1, "sizes": (12, 24), "documents": 24, "train": TRAIN, "reminders": (1,), "words": ("pregnant",)}
    plan, result = run_study("gbef", tmp_path, models=("bert-uncased",), limit=12, **small)
    found = {row["category"]: row for row in rows(result, "table-3")}
    every = [abs(row["difference"]) for row in items(plan, tmp_path, "audit")]
    assert found["combined"]["ASLD"].value == pytest.approx(np.mean(every))
    versions = rows(result, "table-4")
    assert len(versions) == 4 * 5, "every category of every version"
    assert {row["published"] for row in (*versions, *rows(result, "table-5"))} == {None}
    assert {row["why not compared"] for row in rows(result, "table-4")} == {"another model"}
    before = rows(result, "figures-8-19")[0]
    first = plan.options.models[0]
    words = [
        row["difference"] for row in items(plan, tmp_path, f"audit {first} on pron") if row["word"] == before["word"]
    ]
    assert before["before"].value == pytest.approx(np.mean(words))
    assert before["after"].value != before["before"].value
    assert [row["sentences"] for row in rows(result, "figure-13") if row["category"] == "combined"] == [0, 12, 24]
    example = {row["of"]: row["ours"] for row in rows(result, "worked-numbers")}
    gaps = [example[f"{word}: his"] - example[f"{word}: her"] for word in ("programmer", "doctor")]
    assert example["programmer and doctor"] == pytest.approx(np.mean(np.abs(gaps)))
    assert example["patient"] == pytest.approx(np.mean([example[f"patient: template {n}"] for n in (1, 2)]))
    _check_claims(plan, tmp_path, {(row["question"], row["where"]): row for row in claimed(result)})


def _check_claims(plan: StudyPlan, folder: Path, claims: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
    """The tests of the thesis' claims against arithmetic on the items."""
    first = plan.options.models[0]
    before, after = (
        {row["item"]: abs(row["difference"]) for row in items(plan, folder, f"audit {name} on triple")}
        for name in (first, "cds on part of gap")
    )
    where = "as it is → cds on part of gap, combined"
    lower = claims["Does counterfactual data substitution lower ASLD?", where]
    assert lower["value"].value == pytest.approx(np.mean([after[item] - before[item] for item in before]))
    none, reminded = (
        {
            row["item"]: row["difference"]
            for row in items(plan, folder, f"audit {name} on pron")
            if row["word"] == "pregnant"
        }
        for name in ("cds on part of gap", "cds on part of gap, reminders of pregnant ×1")
    )
    restored = claims["Do reminders restore words proper to a gender?", "pregnant, reminders ×1 against none"]
    assert restored["n"] == len(none) == 12
    assert restored["value"].value == pytest.approx(np.mean([none[item] - reminded[item] for item in none]))
    assert len({question for question, _ in claims}) >= 6


def test_debiasing(tmp_path: Path) -> None:
    use = {
        "grid": {"batch": [8], "rate": [1e-3], "epochs": [1.0]},
        "every": 2,
        "steps": 4,
        "rows": 32,
        "triples": 12,
        "length": 32,
    }
    small = {"documents": 24, "train": TRAIN, "use": use, "tasks": ("STS-bias", "WinoBias"), "search": False}
    small |= {"each": {"STS-bias": {"limit": 1}}, "methods": ("AT", "CDA", "DO", "CDA+DO")}
    plan, result = run_study("debiasing", tmp_path, models=("bert-uncased",), limit=12, **small)
    scores = rows(result, "figure-1")
    assert {row["version"] for row in scores} == {"original", "AT", "CDA", "DO", "CDA+DO"}
    assert sum(row["measure"] == "WinoBias" for row in scores) == 5
    won = [
        row["outcome"] == "more"
        for row in items(plan, tmp_path, f"audit {plan.options.models[0]} on crows")
        if row["measure"] == "cps"
    ]
    cps = next(row for row in scores if (row["version"], row["measure"]) == ("original", "CPS"))
    assert cps["score"].value == pytest.approx(100 * sum(won) / len(won) - 50)
    steps = [row["step"] for row in rows(result, "figure-2") if row["version"] == "CDA"]
    assert steps == [0, 2, 4]
    learnt = {row["version"]: row for row in rows(result, "figure-1", 2) if row["task"] == "STS-bias"}
    for row in rows(result, "figure-2"):
        if row["step"] == 4:
            assert learnt[row["version"]]["validation score"].value == pytest.approx(row["validation score"])
    poor = sum(row["validation score"].low <= row["majority class"] for row in learnt.values())
    said = [one for one in section(result, "table-2").finding.notes if "not learnt STS-bias" in one]
    assert len(said) == bool(poor)
    assert all(one.startswith(f"{poor} of 5 versions") for one in said)
    tau = rows(result, "table-2")
    assert {(row["intrinsic"], row["fine-tuning"]) for row in tau} <= {
        (measure, when) for measure in ("SSS", "CPS", "AULA") for when in ("before", "after")
    }
    chosen = [row for row in tau if row["mitigations"] == "chosen"]
    _check_tau(scores, next(row for row in chosen if row["fine-tuning"] == "before"))
    assert {row["fine-tuning"] for row in chosen if row["task"] == "WinoBias"} <= {"before"}
    ilps = rows(result, "table-1")[0]
    assert ilps["ILPS"].value == pytest.approx(np.log(ilps["feminine"] / ilps["masculine"]))
    assert (ilps["published"], ilps["why not compared"]) == (None, "other words than Zhao et al.'s")


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
