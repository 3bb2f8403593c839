"""Recipes of docs/ci.md: one that passes a planted bias, or fails an unchanged model, would mislead who pastes it."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tools.gate_recipes import BALANCED, LONGER, PAGE, PLANTED, Gated, Trainings, recipes, write_text

import unmask
from unmask.audit.gate import GateResult

STEPS, ROWS = 60, 16  # of trainings, which are shorter than those of the page
LIMIT = float(PAGE.read_text(encoding="utf-8").partition("LIMITS: bias-score=")[2].split()[0])  # of the first run


def test_every_recipe_of_the_page_is_found() -> None:
    """Every command of the page that names data and measures is a recipe: what is not found is not run below."""
    text = PAGE.read_text(encoding="utf-8")
    options = {
        line.split("--data ")[1].split("--out")[0].strip()
        for line in text.splitlines()
        if "--measure " in line and "--data " in line
    }
    assert {" ".join(("--data", *each.data, "--measure", *each.measures)) for each in recipes(text)} == {
        f"--data {each}" for each in options
    }


def test_the_table_of_the_page_is_about_its_recipes() -> None:
    """A recipe that is changed on the page has no row in the table until the table is printed again."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("## What it catches")[2].partition("\n## ")[0]
    rows = {line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| nine-axes")}
    assert rows == {recipe.name for recipe in recipes(text)}


def test_no_recipe_rests_on_one_measure() -> None:
    """A measure that was not seen to follow a bias may be gated, but not alone."""
    for recipe in recipes(PAGE.read_text(encoding="utf-8")):
        assert {"sss", "pll", "ppd"} & {*recipe.measures}, recipe.name
        assert len(recipe.measures) > 1, recipe.name


def test_the_first_command_of_the_readme_is_a_recipe() -> None:
    """What a newcomer copies first catches a planted bias, because the recipes are run below."""
    first, *_ = recipes((PAGE.parents[1] / "README.md").read_text(encoding="utf-8"))
    assert first in recipes(PAGE.read_text(encoding="utf-8"))


def test_the_first_audit_in_python_and_of_the_tutorial_is_a_recipe() -> None:
    """With `nine-axes` alone, which these named, a planted bias about occupations passes the gate."""
    known, docs = recipes(PAGE.read_text(encoding="utf-8")), PAGE.parent
    for page in (docs / "tutorials" / "1-audit.md", docs / "notebooks" / "1-audit.ipynb", docs.parent / "README.md"):
        text = page.read_text(encoding="utf-8")
        audits = [*recipes(text)[:1], *python_recipes(text)]
        assert audits, page
        assert {*audits} <= {*known}, page


def python_recipes(text: str) -> list[Gated]:
    """What the calls of `unmask.audit` measure, where the data are named in the line before."""
    pattern = re.compile(r"data ?= ?(\[.*?\]).*?unmask.audit\(.*?measures=(\[.*?\])", re.DOTALL)
    calls = (map(ast.literal_eval, match.groups()) for match in pattern.finditer(text.replace("\\", "")))
    return [Gated(tuple(names), tuple(measures)) for names, measures in calls]


@pytest.mark.slow
def test_every_recipe_catches_planted_siblings_and_passes_an_equal_model(tmp_path: Path) -> None:
    """Planted by low-rank changes at masked pronouns; the first run is judged by a limit that none is beyond."""
    for recipe in recipes(PAGE.read_text(encoding="utf-8")):
        for baseline in (BALANCED, "builtin-dose-3"):
            assert_caught(recipe, recipe.gate(PLANTED, [baseline], tmp_path))
        equal = unmask.audit(BALANCED, data=list(recipe.data), measures=list(recipe.measures), store=False)
        found = unmask.gate(equal, recipe.audit(BALANCED, tmp_path))
        assert found.answer == "pass", f"{recipe.name}\n{found}"
        for model in (BALANCED, PLANTED):
            first = unmask.gate(recipe.audit(model, tmp_path), max={"bias-score": LIMIT})
            assert first.answer != "fail", f"{recipe.name} of {model}\n{first}"


@pytest.mark.slow
def test_every_recipe_catches_a_planted_training_and_passes_a_balanced_one(tmp_path: Path) -> None:
    """Planted by masked language modelling with all weights; balanced as the siblings are made, with another seed."""
    trainings = Trainings(write_text(tmp_path / "text.txt"), STEPS, ROWS)
    balanced = [trainings.train_balanced(tmp_path / f"balanced-{seed}", seed) for seed in (1, 2)]
    longer = replace(trainings, steps=LONGER * STEPS)
    before, after = (longer.train_all_weights(tmp_path / f"all-weights{dose:+d}", dose, 1) for dose in (0, 3))
    for recipe in recipes(PAGE.read_text(encoding="utf-8")):
        assert_caught(recipe, recipe.gate(after, [before], tmp_path))
        other = recipe.gate(balanced[1], [balanced[0]], tmp_path)
        assert other.answer == "pass", f"{recipe.name}\n{other}"
        exchanged = recipe.gate(balanced[0], [balanced[1]], tmp_path)
        assert exchanged.answer != "fail", f"{recipe.name}\n{exchanged}"


def assert_caught(recipe: Gated, found: GateResult) -> None:
    """The gate fails for the mean difference of the data that have pairs about occupations."""
    assert found.answer == "fail", f"{recipe.name}\n{found}"
    worse = {each.statistic for each in found.verdicts if each.answer == "worse" and each.data == "triple-gender"}
    assert worse & {"mean-difference", "balanced-mean-difference"}, (recipe.name, worse)
