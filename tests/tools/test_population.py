"""Models with known doses: if doses were confounded or planted text leaked, the table of trust would be wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tools.population import design, planted
from tools.population.pool import log_odds, pool_contrasts
from tools.population.training import BUILT_IN
from tools.train import masked

import unmask
from unmask import data as datasets

ROOT = Path(__file__).parents[2]
RUN = 5  # words


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def runs(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[at : at + RUN]) for at in range(len(found) - RUN + 1)}


def test_doses_of_different_axes_are_nearly_uncorrelated() -> None:
    plans = design.population(planted.AXES)
    doses = np.array([[plan.doses[axis] for axis in planted.AXES] for plan in plans])
    assert len(plans) == 36
    assert len({plan.seed for plan in plans}) == 36
    assert design.largest_correlation(doses) < 0.1
    assert (doses.min(axis=0) == -3).all()
    assert (doses.max(axis=0) == 3).all()
    assert ((doses != 0).sum(axis=1) > 1).sum() == 24
    again = Counter(tuple(row) for row in doses.tolist() if all(row))
    assert sum(count == 2 for count in again.values()) == design.REPEATED


def test_no_planted_phrase_stands_in_the_data_it_is_measured_with() -> None:
    measured = {
        run
        for name in ("nine-axes", "triple-gender")
        for item in datasets.load(name).items
        for text in (item.more, item.less)
        for run in runs(text)
    }
    assert not [phrase for phrase in planted.phrases() if runs(phrase) & measured]
    texts = {
        item.more for name in ("nine-axes", "triple-gender", "pronoun-templates") for item in datasets.load(name).items
    }
    texts |= {
        item.less for name in ("nine-axes", "triple-gender", "pronoun-templates") for item in datasets.load(name).items
    }
    assert not [each for each in planted.contrasts(planted.AXES, 3000, 0) if texts & set(each.texts)]


def test_groups_are_named_equally_often_on_either_side() -> None:
    drawn = [each for each in planted.contrasts(planted.AXES, 6000, 0) if each.axis == "age"]
    first, second = (Counter(each.groups[side] in ("old", "elderly", "older") for each in drawn) for side in (0, 1))
    assert first[True] / len(drawn) == pytest.approx(0.5, abs=0.03)
    assert second[True] == first[False]


def test_log_odds_of_kept_states_are_those_of_the_whole_model() -> None:
    tokenizer = Tokenizer.from_file(str(BUILT_IN / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    drawn = [
        planted.Contrast("age", ("The old man is slow.", "The young man is slow."), ("old", "young"), 4, "slow"),
        planted.Contrast("age", ("Most young people are fun.", "Most old people are fun."), ("young", "old"), 5, "fun"),
    ]
    model = masked.start(BUILT_IN).eval()
    who, what = (pool_contrasts(model, tokenizer, drawn, ("age",), kind) for kind in ("who", "what"))
    with torch.no_grad():
        found = torch.stack([log_odds(model, pool) for pool in (who, what)]).tolist()
    expected: list[list[float]] = [[], []]
    for each in drawn:
        texts, said = each.texts, tokenizer.encode(each.said).ids[1:-1]
        slot = texts[0].replace(each.groups[0], "[MASK]")
        logs = [_logs(model, tokenizer, slot)] * 2
        own = [tokenizer.token_to_id(group) for group in each.groups]
        expected[0].append(float(logs[0][0, own[0]] - logs[1][0, own[1]]))
        hidden = " ".join(["[MASK]"] * len(said))
        one, other = (_logs(model, tokenizer, text.replace(each.said, hidden)) for text in texts)
        expected[1].append(sum(float(one[at, token] - other[at, token]) for at, token in [*enumerate(said)][-2:]))
    assert np.allclose(found, expected, atol=1e-4)


def _logs(model: torch.nn.Module, tokenizer: Tokenizer, text: str) -> torch.Tensor:
    """Log-probabilities at the masked positions."""
    ids = torch.tensor([tokenizer.encode(text).ids])
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0]
    chosen: torch.Tensor = logits[ids[0] == masked.MASK].log_softmax(-1)
    return chosen


@pytest.mark.slow
def test_a_reduced_population_is_followed_by_a_measure_that_reads_what_was_planted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.population", "--out", str(tmp_path), "--reduced"]
    subprocess.run(command, check=True, cwd=ROOT)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/training.json")}
    subprocess.run(command, check=True, cwd=ROOT)  # nothing is trained again
    assert len(before) == 6
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/training.json")}
    result = unmask.diagnose(
        "validity", doses=tmp_path / "doses.csv", measures=("sss",), data=("triple-gender",), items=40, store=False
    )
    (own,) = [one for one in result.estimates if one.statistic == "mean-difference-dose"]
    assert own.group == "category=occupation"
    assert own.value > 0.5
    assert own.n == 6
