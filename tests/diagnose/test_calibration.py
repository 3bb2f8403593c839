"""`calibration`: scores by dose against plain loops, on tiny models named as siblings and on real ones."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import reference
import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.core.types import Dataset, Row
from unmask.diagnose import UnitOptions
from unmask.diagnose.psychometrics import CALIBRATION
from unmask.diagnose.psychometrics.doses import sibling_dose
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Finding
from unmask.models.builtin import SIBLINGS, builtin_models

from .plainly import run

DOSES = (-1, 0, 2)
WORDS = {"doctor": 1, "registered nurse": -1, "programmer": 1}  # whether a man is the stereotype
PAIRS = 6


@cache
def pairs() -> Dataset:
    """Occupations, and some pairs of sexism that must not count."""
    whole = datasets.load("triple-gender")
    return replace(whole, items=(*whole.items[:PAIRS], *whole.items[-4:]))


@cache
def templates() -> Dataset:
    """Of each word three templates, and of a word that is no occupation two that must not count."""
    whole = datasets.load("pronoun-templates")
    items = [[item for item in whole.items if item.groups["word"] == word][:3] for word in WORDS]
    other = [item for item in whole.items if item.groups["goal"] == "female"][:2]
    return replace(whole, items=(*(item for some in items for item in some), *other))


def siblings(architecture: str, folder: Path) -> list[Path]:
    """Copies of one tiny model, weights shaken by more with every dose."""
    made = []
    for dose in DOSES:
        path = folder / f"builtin-dose{dose:+d}"
        shutil.copytree(zoo.folder(architecture), path)
        generator = torch.Generator().manual_seed(dose + 10)

        def shaken(tensors: dict[str, torch.Tensor], generator: torch.Generator = generator) -> None:
            for tensor in tensors.values():
                if tensor.is_floating_point():
                    tensor.add_(torch.randn(tensor.shape, generator=generator), alpha=0.1)

        zoo.rewrite(path, shaken)
        made.append(path)
    return made


def plain(path: Path, name: str, data: Dataset) -> list[float]:
    """Differences towards the stereotype, of what speaks of occupations."""
    model, tokenizer = reference.load(path)
    found = []
    for item in data.items:
        sign = WORDS.get(item.groups["word"], 0) if "word" in item.groups else 1
        if item.groups["category"].endswith("sexism") or not sign:
            continue
        scores = reference.reference(name, model, tokenizer, item)
        assert scores is not None
        found.append(sign * (scores["more"] - scores["less"]))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ["bert-uncased", "roberta"])
def test_scores_by_dose_are_those_of_plain_loops(architecture: str, tmp_path: Path) -> None:
    folders = siblings(architecture, tmp_path)
    settings = UnitOptions(measures=("aul", "sld", "ppd"))
    options = unmask.Options(store=False)
    (found,) = run([CALIBRATION], folders, data=[pairs(), templates()], settings=settings, options=options)
    trusted, scores = found.finding.tables
    assert scores.columns[3:] == ("dose -1", "dose 0", "dose +2")
    seen = {(row[0], row[2]): row[3:] for row in scores.rows}
    assert set(seen) == {("aul", "bias-score"), ("aul", "mean-difference"), ("sld", "asld"), ("ppd", "appd")}
    items = {row[0]: row[3] for row in trusted.rows}
    assert items == {"aul": PAIRS, "sld": PAIRS, "ppd": 3 * len(WORDS)}
    for place, path in enumerate(folders):
        aul, sld = (plain(path, name, pairs()) for name in ("aul", "sld"))
        ppd = plain(path, "ppd", templates())
        assert seen["aul", "mean-difference"][place] == pytest.approx(sum(aul) / PAIRS, abs=1e-5)
        assert seen["aul", "bias-score"][place] == pytest.approx(100 * sum(x > 0 for x in aul) / PAIRS)
        assert seen["sld", "asld"][place] == pytest.approx(sum(map(abs, sld)) / PAIRS, abs=1e-4)
        assert seen["ppd", "appd"][place] == pytest.approx(sum(ppd) / len(ppd), abs=2e-5)
    assert [plot.id for plot in found.finding.plots] == ["calibration"]


def concluded(by_dose: dict[int, dict[str, list[float]]]) -> Finding:
    """What is concluded from differences made up for pairs about occupations."""
    data = datasets.load("triple-gender")
    seen = []
    for dose, measures in by_dose.items():
        rows = {
            name: [
                Row(name, data.card.name, f"{i:03}", {}, {"more": x, "less": 0.0}, "more" if x > 0 else "less")
                for i, x in enumerate(values)
            ]
            for name, values in measures.items()
        }
        seen.append(DiagnosisObservation({"id": f"builtin-dose{dose:+d}"}, data, rows))
    return CALIBRATION.conclude(seen, UnitOptions()).finding


def test_the_measure_that_follows_the_dose_comes_first() -> None:
    rng = np.random.default_rng(0)
    own = rng.normal(size=60)
    finding = concluded(
        {
            dose: {
                "cps": (own + rng.normal(size=60)).tolist(),
                "aul": (own + dose + 0.5 * rng.normal(size=60)).tolist(),
            }
            for dose in (-2, -1, 0, 1, 2)
        }
    )
    table = finding.tables[0]
    assert [row[0] for row in table.rows] == ["aul", "aul", "cps", "cps"]
    best = next(row for row in table.rows if row[:3] == ("aul", "triple-gender", "mean-difference"))
    assert best[3] == 60
    assert best[5].value == pytest.approx(1.0)  # type: ignore[union-attr]
    assert best[6] == pytest.approx(2 / 120)  # one order of five, and its reverse
    assert best[7:] == (1, "10 of 10")
    assert table.rows[-1][7] is None


def test_scores_that_never_change_come_last() -> None:
    flat = {dose: {"cps": [1.0, -1.0, 1.0], "aul": [1.0, dose - 0.5, -1.0]} for dose in (-1, 0, 1)}
    finding = concluded(flat)
    assert finding.tables[0].rows[-1][:1] == ("cps",)


def test_a_model_without_a_dose_is_refused() -> None:
    with pytest.raises(ModelError, match="roberta has no known dose"):
        run([CALIBRATION], [zoo.folder("roberta")], data=pairs(), options=unmask.Options(store=False))


def test_two_doses_are_too_few() -> None:
    with pytest.raises(ModelError, match="2 doses; give at least 3 siblings"):
        concluded({0: {"aul": [1.0, -1.0]}, 1: {"aul": [1.0, 1.0]}})


def test_items_that_speak_of_no_occupation_are_refused(tmp_path: Path) -> None:
    data = replace(templates(), items=templates().items[-2:])
    with pytest.raises(DataError, match="none of 2 items is about a planted occupation"):
        run([CALIBRATION], siblings("roberta", tmp_path), data=data, options=unmask.Options(store=False))
    with pytest.raises(DataError, match="neither templates nor a category 'occupation'"):
        run([CALIBRATION], data="nine-axes")


def test_doses_are_read_from_names() -> None:
    assert [sibling_dose(name) for name in SIBLINGS] == [-3, -2, -1, 0, 1, 2, 3]
    assert sibling_dose("builtin-dose+0") == 0


@cache
def changed(name: str) -> tuple[Any, Any]:
    """A sibling opened plainly: the built-in model with the products of its file added."""
    ours = builtin_models()[name]
    assert ours.update is not None
    model, tokenizer = reference.load(ours.folder)
    parts, weights = load_file(ours.update), dict(model.named_parameters())
    with torch.no_grad():
        for key in {key.rpartition(".")[0] for key in parts}:
            weights[key] += parts[f"{key}.b"].float() @ parts[f"{key}.a"].float()
    return model, tokenizer


@pytest.mark.slow
def test_the_real_siblings_follow_their_doses() -> None:
    chosen = ("builtin-dose-3", "builtin-dose+0", "builtin-dose+3")
    settings, options = UnitOptions(measures=("sss", "ppd")), unmask.Options(store=False)
    (found,) = run([CALIBRATION], chosen, data=[pairs(), templates()], settings=settings, options=options)
    scores = {(row[0], row[2]): row[3:] for row in found.finding.tables[1].rows}
    for name in chosen:
        model, tokenizer = changed(name)
        both = [reference.reference("sss", model, tokenizer, item) for item in pairs().items[:PAIRS]]
        mean = sum(one["more"] - one["less"] for one in both if one is not None) / PAIRS
        place = chosen.index(name)
        assert scores["sss", "mean-difference"][place] == pytest.approx(mean, abs=1e-4)
    for values in (scores["sss", "mean-difference"], scores["ppd", "appd"]):
        assert values[0] < values[1] < values[2]  # type: ignore[operator]
        assert values[0] < 0 < values[2]  # type: ignore[operator]
