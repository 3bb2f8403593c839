"""Numbers from the literature, recomputed from the counts and predictions behind them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from unmask.core.types import Row
from unmask.stats import estimates
from unmask.stats.triples import stereoset_scores

from .tables import DATA, measure, only, row

PREDICTIONS = {
    "bert-base-cased": "predictions_bert-base-cased_BertNextSentence_BertLM.json",
    "gpt2": "predictions_gpt2_ModelNSP_GPT2LM.json",
    "roberta-large": "predictions_roberta-large_ModelNSP_RoBERTaLM.json",
}
STEREO, ANTISTEREO = 1290, 218  # CrowS-Pairs' rows by direction


def crows_pairs(stereo_wins: int, antistereo_wins: int, stereo_ties: int = 0) -> list[Row]:
    """1,508 rows with so many wins by direction."""
    stereo = [1.0] * stereo_wins + [0.0] * stereo_ties + [-1.0] * (STEREO - stereo_wins - stereo_ties)
    anti = [1.0] * antistereo_wins + [-1.0] * (ANTISTEREO - antistereo_wins)
    return [
        *(row(i, x, direction="stereo") for i, x in enumerate(stereo)),
        *(row(STEREO + i, x, direction="antistereo") for i, x in enumerate(anti)),
    ]


@pytest.mark.parametrize(
    ("wins", "ties", "printed"),
    [
        ((788, 124), 1, (60.48, 61.13, 56.88)),  # bert-base-uncased
        ((861, 126), 1, (65.45, 66.80, 57.80)),  # roberta-large
        ((873, 138), 0, (67.04, 67.67, 63.30)),  # albert-xxlarge-v2
    ],
)
def test_crows_pairs_denominators(wins: tuple[int, int], ties: int, printed: tuple[float, ...]) -> None:
    """Metric, stereotype and anti-stereotype score: only whole wins and these denominators give all three."""
    found = estimates(measure(), crows_pairs(*wins, ties), data=DATA, rng_seed=0)
    ours = [only(found, name).value for name in ("bias-score", "stereo-score", "antistereo-score")]
    assert [round(value, 2) for value in ours] == list(printed)
    assert found[0].ties == ties


@pytest.mark.parametrize(
    ("advantaged", "disadvantaged", "printed"),
    [
        (108, 690, (49.54, 53.49, 3.95, 52.92)),  # bert-base-cased, AUL
        (112, 829, (51.38, 64.26, 12.88, 62.40)),  # roberta-large, AUL
        (120, 683, (55.05, 52.95, 2.10, 53.25)),  # albert-large-v2, AUL
    ],
)
def test_advantaged_and_disadvantaged(advantaged: int, disadvantaged: int, printed: tuple[float, ...]) -> None:
    """Kaneko & Bollegala 2022, Tables 3 and 5."""
    found = estimates(measure(), crows_pairs(disadvantaged, advantaged), data=DATA, rng_seed=0)
    ours = (
        only(found, "bias-score", "direction=antistereo").value,
        only(found, "bias-score", "direction=stereo").value,
        only(found, "direction-gap").value,
        only(found, "bias-score").value,
    )
    assert ours == pytest.approx(printed, abs=0.011)  # the printed difference is one of rounded numbers


@cache
def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("category", ["gender", "race", "religion"])
@pytest.mark.parametrize("system", list(PREDICTIONS))
def test_stereoset_tables_follow_from_the_published_predictions(system: str, category: str, published: Path) -> None:
    """Nadeem et al. 2021, `code/predictions.json`, intrasentence; its counts are of sentences."""
    folder = published / "stereoset_predictions"
    printed = loaded(folder / "predictions.json")[system]["intrasentence"][category]
    scores = {one["id"]: one["score"] for one in loaded(folder / PREDICTIONS[system])["intrasentence"]}
    triples = loaded(published / "stereoset" / "dev.json")["data"]["intrasentence"]
    examples = [one for one in triples if one["bias_type"] == category]
    sides = [{one["gold_label"]: scores[one["id"]] for one in example["sentences"]} for example in examples]
    found = stereoset_scores(
        [example["target"] for example in examples],
        *([side[label] for side in sides] for label in ("stereotype", "anti-stereotype", "unrelated")),
    )
    expected = (printed["LM Score"], printed["SS Score"], printed["ICAT Score"])
    assert 3 * len(examples) == printed["Count"]
    assert found == pytest.approx(expected, abs=1e-9)
