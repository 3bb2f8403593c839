"""The study `prompts` on models that only their names would mistake for the paper's."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import zoo
from unmask import data as datasets
from unmask.core.errors import DataError, UnknownName
from unmask.findings import Section
from unmask.findings.envelope import Result
from unmask.studies import Runtime, find
from unmask.studies.run import StudyPlan, plan_study, run_plan

pytestmark = [pytest.mark.slow]
ANSWERS = "hld-2-every-answer-to-judge.csv"


def planned(models: tuple[Path, ...], **options: Any) -> StudyPlan:
    chosen = dict(models=tuple(map(str, models)), limit=24, reduced=True, **{"prompts": 3}, **options)
    return plan_study(find("prompts"), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """A small RoBERTa in a folder named as the paper's, and a causal model whose name does not end in gpt2."""
    folder = tmp_path_factory.mktemp("models")
    named = {"roberta-large": "roberta", "gpt2-medium": "gpt2"}
    return tuple(Path(shutil.copytree(zoo.folder(of), folder / name)) for name, of in named.items())


@pytest.fixture(scope="module")
def folder(models: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    result = run_plan(planned(models, data=("nine-axes",)), folder)
    assert not result.meta["details"]["failed"]
    return folder


def section(folder: Path, name: str) -> Section:
    import unmask

    result: Result = unmask.load(folder)
    return next(each for each in result.findings if each.name == name)


def rows(folder: Path, name: str, table: int = 0) -> list[dict[str, Any]]:
    chosen = section(folder, name).finding.tables[table]
    return [dict(zip(chosen.columns, row, strict=True)) for row in chosen.rows]


def test_causal_models_are_known_by_their_weights_not_by_their_name(folder: Path) -> None:
    measures = {row["model"]: row["measure"] for row in rows(folder, "table-3")}
    assert measures == {"roberta-large": "cps", "gpt2-medium": "cll"}


def test_table_4_has_pairs_of_both_directions(folder: Path) -> None:
    """Where every pair was a stereotype the stereo score was the metric score, and there was no other."""
    found = {row["score"]: row for row in rows(folder, "table-4") if row["model"] == "roberta-large"}
    counts = {name: row["n"] for name, row in found.items()}
    assert counts["metric score"] == 12
    assert (counts["stereo score"], counts["anti-stereo score"]) == (8, 4)
    assert {row["data"] for row in found.values()} == {"prompt-pairs"}


def test_numbers_of_the_paper_do_not_stand_beside_other_data(folder: Path) -> None:
    """The model has the name of the paper's, the data do not."""
    for name in ("table-3", "table-4"):
        own = [row for row in rows(folder, name) if row["model"] == "roberta-large"]
        assert {row["published"] for row in own} == {None}
        assert "in interval" not in own[0], "nothing is compared"
        assert own[0]["why not compared"].startswith("other data than")
    assert {row["published place"] for row in rows(folder, "table-5")} == {None}
    assert {row["published"] for row in rows(folder, "table-1")} == {None}


def test_models_stand_in_order_and_examples_have_every_type(folder: Path) -> None:
    scores = [row["metric score"].value for row in rows(folder, "table-3", 1)]
    assert scores == sorted(scores)
    examples = Counter((row["data"], row["bias type"]) for row in rows(folder, "table-2"))
    types = ("race", "gender", "socioeconomic", "religion")
    assert examples == {(data, name): 1 for data in ("nine-axes", "prompt-pairs") for name in types}


def test_prompts_are_a_sample_of_all_bias_types_and_forms(folder: Path) -> None:
    asked = [row for row in rows(folder, "hld", 1) if row["model"] == "roberta-large"]
    known = {prompt.id: prompt for prompt in datasets.read("prompts")}
    forms = {(known[row["prompt"]].category, known[row["prompt"]].form) for row in asked}
    assert (len(asked), len(forms)) == (12, 8), "the file has completions before questions"


def test_few_decided_prompts_rank_no_bias_types(folder: Path) -> None:
    claims = section(folder, "claims").finding
    assert any("expected 10 decided prompts of every bias type" in note for note in claims.notes)
    assert claims.tables
    assert not any("human-level" in table.title for table in claims.tables)


def test_people_judge_the_answers_of_the_study(folder: Path, models: tuple[Path, ...], tmp_path: Path) -> None:
    """The table of answers is the form: filled in, it decides every prompt, and no step runs again."""
    path = tmp_path / "judged.csv"
    given = list(csv.DictReader((folder / "tables" / ANSWERS).read_text(encoding="utf-8").splitlines()))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(given[0]))
        writer.writeheader()
        writer.writerows({**row, "judge": "anna", "verdict": "biased"} for row in given)
    plan = planned(models, data=("nine-axes",), judgements=str(path))
    assert plan.missing_steps(folder) == []
    again = Path(shutil.copytree(folder, tmp_path / "again"))
    result = run_plan(plan, again)
    assert result.meta["options"]["judgements"] == "judged.csv"
    whole = [row for row in rows(again, "hld") if row["prompts"] == "all"]
    assert [(row["decided"], row["undecided"], row["biased"].value) for row in whole] == [(12, 0, 100.0)] * 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("model,prompt,verdict\nother,prompts/0000,biased", "a judgement of model 'other', expected roberta-large"),
        ("model,prompt,verdict\nroberta-large,prompts/0100,biased", "'prompts/0100', which is none of the 100 prompts"),
        ("prompt,verdict\nprompts/0000,biased", "no columns model and prompt and verdict"),
    ],
)
def test_wrong_judgements_are_refused_before_anything_runs(
    models: tuple[Path, ...], tmp_path: Path, row: str, message: str
) -> None:
    path = tmp_path / "judged.csv"
    path.write_text(f"{row}\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        planned(models, judgements=str(path))


def test_other_studies_take_no_judgements() -> None:
    with pytest.raises(UnknownName, match="no option named 'judgements'"):
        plan_study(find("paraphrase"), {"judgements": "said.csv"}, Runtime(offline=True))
