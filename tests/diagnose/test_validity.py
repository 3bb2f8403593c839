"""`validity`: a measure must be said to follow a bias type only if its score follows that dose and no other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.core.types import Row
from unmask.diagnose.psychometrics import VALIDITY
from unmask.diagnose.psychometrics.doses import dosed_models, read_doses
from unmask.diagnose.psychometrics.validity import DosedScores, ValidityOptions
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Finding
from unmask.models.builtin import SIBLINGS

from .plainly import rows_of, run

AGE = (-3, -2, -1, 0, 1, 2, 3, 0)
RELIGION = (1, -3, 2, 3, -2, 0, -1, -3)


def table(folder: Path, text: str) -> Path:
    path = folder / "doses.csv"
    path.write_text(text, encoding="utf-8")
    return path


def population(folder: Path) -> Path:
    lines = [f"m{number},{number},{age},{faith}" for number, (age, faith) in enumerate(zip(AGE, RELIGION, strict=True))]
    return table(folder, "\n".join(["model,seed,age,religion", *lines]) + "\n")


def concluded(folder: Path, follows: dict[str, str]) -> Finding:
    """What is concluded when the score of each measure on every bias type follows one dose, its own, or none."""
    settings = ValidityOptions(doses=population(folder))
    rng = np.random.default_rng(0)
    data, doses = datasets.load("nine-axes"), {"age": AGE, "religion": RELIGION}
    trends = {**doses, "none": (0,) * len(AGE)}
    seen = []
    for number in range(len(AGE)):
        rows = {
            name: {
                axis: [
                    Row(
                        name,
                        data.card.name,
                        f"{axis}/{item}",
                        {},
                        {"more": x, "less": 0.0},
                        "more" if x > 0 else "less",
                    )
                    for item, x in enumerate(
                        (trends[axis if what == "own" else what][number] + rng.normal(size=40)).tolist()
                    )
                ]
                for axis in doses
            }
            for name, what in follows.items()
        }
        lengths = {f"{axis}/{item}": float(item % 3) for axis in doses for item in range(40)}
        seen.append(DiagnosisObservation({"id": f"m{number}"}, data, DosedScores(rows, {}, lengths)))
    return VALIDITY.conclude(seen, settings).finding


def test_a_measure_follows_the_doses_that_it_rises_with(tmp_path: Path) -> None:
    found = concluded(tmp_path, {"cps": "age", "aul": "own"})
    trusted = {(row["measure"], row["statistic"]): row["follows"] for row in rows_of(found, "Which measure")}
    assert trusted["aul", "mean-difference"] == "age, religion"
    assert trusted["cps", "mean-difference"] == "age"
    assert "aul" in found.answers[1]  # the best of all
    by = {
        (row["measure"], row["statistic"], row["scored on"]): row
        for row in rows_of(found, "Correlations with every dose")
    }
    crossed = by["cps", "mean-difference", "religion"]
    assert crossed["dose of age"].value > 0.9
    assert crossed["margin"].high < 0


def test_the_best_of_measures_of_noise_follows_nothing(tmp_path: Path) -> None:
    """The first of the table was said to follow best, and in the next line not to follow."""
    found = concluded(tmp_path, {"cps": "none", "aul": "none"})
    assert not any(line.startswith("best") for line in found.answers)
    assert "aul (bias-score)" in found.answers[1]


def test_every_measure_is_scored_on_the_items_of_each_bias_type(tmp_path: Path) -> None:
    for name in ("low", "middle", "high"):
        shutil.copytree(zoo.folder("bert-uncased"), tmp_path / name)
    doses = table(tmp_path, "model,age,occupation\nlow,-1,2\nmiddle,0,0\nhigh,1,1\n")
    settings = ValidityOptions(doses=doses, measures=("aul", "ppd"), items=4)
    options = unmask.Options(store=False)
    names = ("nine-axes", "triple-gender", "pronoun-templates")
    (found,) = run([VALIDITY], data=names, settings=settings, options=options)
    rows = rows_of(found.finding, "Correlations with every dose")
    assert {(row["measure"], row["scored on"], row["data"], row["items"]) for row in rows} == {
        ("aul", "age", "nine-axes", 4),
        ("aul", "occupation", "triple-gender", 4),
        ("ppd", "occupation", "pronoun-templates", 4),
    }
    assert all(np.isnan(row["dose of age"].value) for row in rows)  # copies of one model: no score differs


def test_the_siblings_are_used_without_a_table() -> None:
    known = dosed_models(None)
    assert tuple(known.references) == SIBLINGS
    assert known.of("builtin-dose-2") == {"occupation": -2.0}
    assert VALIDITY.models == SIBLINGS


def test_folders_beside_the_table_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    known = read_doses(table(tmp_path, "model,age\na,1\norg/b@main,2\nbuiltin,3\n"))
    assert known.references == {"a": str(tmp_path / "a"), "org/b": "org/b@main", "builtin": "builtin"}
    assert known.of("org/b") == {"age": 2.0}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("model\na\nb\nc\n", "expected a column model and one for each bias type"),
        ("name,age\na,1\n", "expected a column model"),
        ("model,age\na,1\nb,2\n", "has 2 models, expected at least 3"),
        ("model,age\na,1\nb,x\nc,2\n", r"line 3: the dose of age is 'x', expected a number"),
        ("model,age\na,1\nb,nan\nc,2\n", "the dose of age is 'nan'"),
        ("model,age\na,1\na,2\nc,2\n", "a second model named 'a'"),
        ("model,age\na,1\nb,1\nc,1\n", "all doses of 'age' are equal"),
        ("model,age\na,1\n,1\nc,1\n", "expected a folder or the name"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(DataError, match=error) as raised:
        read_doses(table(tmp_path, text))
    assert "\n" not in str(raised.value)


def test_a_model_that_is_not_in_the_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'bert-uncased' are not known, only those of m0 and 7 more"):
        run([VALIDITY], [zoo.folder("bert-uncased")], settings=ValidityOptions(doses=population(tmp_path)))


def test_data_without_an_item_of_the_doses_are_refused(tmp_path: Path) -> None:
    for name in ("low", "middle", "high"):
        shutil.copytree(zoo.folder("bert-uncased"), tmp_path / name)
    doses = table(tmp_path, "model,weather\nlow,-1\nmiddle,0\nhigh,1\n")
    data = replace(datasets.load("nine-axes"), items=datasets.load("nine-axes").items[:3])
    with pytest.raises(DataError, match="no item of the data has one of the categories weather"):
        run([VALIDITY], data=data, settings=ValidityOptions(doses=doses), options=unmask.Options(store=False))
