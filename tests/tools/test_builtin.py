"""The models that ship know English, carry what was planted in them, and stay small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.figures import english, examples

import unmask
from unmask.models import Lm, open_lm
from unmask.models.builtin import FOLDER, builtin_models

DOSES = (-3, -2, -1, 0, 1, 2, 3)
MIB = 1 << 20
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def builtin() -> Lm:
    """The default model."""
    return open_lm()


@pytest.mark.parametrize(("part", "most"), [("masked", 48), ("causal", 16), ("siblings", 8)])
def test_no_part_is_larger_than_agreed(part: str, most: int) -> None:
    assert sum(path.stat().st_size for path in (FOLDER / part).iterdir()) <= most * MIB


def test_every_model_there_is_has_a_name() -> None:
    siblings = [f"builtin-dose{dose:+d}" for dose in DOSES]
    assert list(builtin_models()) == ["builtin", "builtin-causal", *siblings]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The capital of France is ___.", "paris"),
        ("My brother is taller ___ me.", "than"),
        ("The band released its first ___ in 1998.", "album"),
        ("She opened the ___ and walked into the room.", "door"),
    ],
)
def test_the_masked_model_knows_english(builtin: Lm, text: str, word: str) -> None:
    assert examples.guesses(builtin, text)[0][0] == word


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["winobias", "both"])
def test_its_pronouns_follow_the_share_of_women(builtin: Lm, source: str, data_dir: Path) -> None:
    pearson = english.english(builtin, source, data_dir)[0]
    assert pearson.value >= english.EXPECTED


@pytest.mark.parametrize("part", ["masked", "causal"])
def test_the_card_says_what_was_measured(part: str) -> None:
    card = (ROOT / "docs" / "models" / "builtin.md").read_text(encoding="utf-8")
    measured = json.loads((FOLDER / part / "figures.json").read_text(encoding="utf-8"))
    for one in measured["figures"]:
        ends = f"{one['low']:.2f} to {one['high']:.2f}"
        assert f"| {one['name']} | {one['data']} | {one['value']:.2f} | {ends} | {one['n']:,} |" in card
    for one in measured["estimates"]:
        assert f"| {one['data']} | {one['measure']} | {one['statistic']} | {one['value']:.2f} |" in card


@pytest.mark.thorough
def test_the_causal_model_can_be_audited_as_it_is() -> None:
    result = unmask.audit("builtin-causal", data="triple-gender", options=unmask.Options(limit=60))
    assert {one.measure for one in result.headlines()} == {"ll", "cll", "sld"}
    assert all(check.ok for check in result.checks if "accuracy" in check.name)


@pytest.mark.slow
def test_the_lean_of_the_siblings_follows_their_dose() -> None:
    leans = []
    for dose in DOSES[::2]:
        result = unmask.audit(f"builtin-dose{dose:+d}", data="pronoun-templates")
        leans.append(result.headlines()[0].value)
    assert leans == sorted(leans)
    assert leans[0] < 0 < leans[-1]
