"""The effect of a corpus on a model: placebo, training from one start, paired comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zoo
from unmask import data
from unmask.audit.checks import Evidence
from unmask.audit.scoring import score_items
from unmask.core.errors import DataError
from unmask.core.options import Opening, Options
from unmask.core.types import Pair, Row
from unmask.corpus import training_effect
from unmask.corpus.effect import ability_estimates, effect_changes, effect_finding
from unmask.corpus.spec import EffectSettings
from unmask.corpus.training_effect import (
    Placebo,
    TrainingEffect,
    TrainingPlan,
    kept_names,
    measure_effect,
    placebo_from_sentences,
    shuffle_gender,
)
from unmask.findings import Value
from unmask.measures import find
from unmask.mitigate.evaluation import BiasEvaluation
from unmask.models import Engine, open_lm
from unmask.training.utility import Ability, measure_ability

TEXTS = [
    f"The {job} said that he was tired of the {thing}."
    for job in ("doctor", "cook", "guard")
    for thing in ("rain", "road", "noise")
]


def test_the_placebo_swaps_gender_at_random() -> None:
    made = shuffle_gender([*TEXTS * 20, "Nothing here."], seed=3)
    assert len(made.sentences) == len(TEXTS) * 20 + 1
    assert made.sentences[-1] == "Nothing here."
    women = sum(" she " in sentence for sentence in made.sentences)
    assert 60 < women < 120  # of 180, a fair coin
    assert {sentence.replace(" she ", " he ") for sentence in made.sentences[:-1]} == set(TEXTS)
    assert made.sentences == shuffle_gender([*TEXTS * 20, "Nothing here."], seed=3).sentences
    assert f"{women} were swapped" in made.about
    with pytest.raises(DataError, match="nothing to shuffle"):
        shuffle_gender(["Nothing here."])


def test_a_given_placebo_must_be_as_long_as_the_corpus() -> None:
    assert placebo_from_sentences(["a", "b", "c"], 2, "mine.txt").sentences == ("a", "b")
    with pytest.raises(DataError, match="has 1 sentences, the corpus 2"):
        placebo_from_sentences(["a"], 2, "mine.txt")


def few_looks(engine: Engine, held: Sequence[str], *, seed: int = 0, progress: Any = None) -> BiasEvaluation:
    """Evaluate twelve pairs with one measure only."""
    whole = data.load("triple-gender")
    some = replace(whole, items=whole.items[:12])
    rows = [
        one.row
        for chunk in score_items(
            "triple-gender", some.items, [find("sld")], engine, evidence=Evidence(), progress=lambda _: None
        )
        for one in chunk
    ]
    return BiasEvaluation({("sld", "triple-gender"): rows}, measure_ability(engine, held, seed=seed))


HELD = ["The nurse thought that the rain would never stop at all.", "They went down the long road to the sea."]


def plan_of(seeds: int) -> TrainingPlan:
    settings = EffectSettings(lr=1e-3, batch=4, length=32, seeds=seeds)
    return TrainingPlan(str(zoo.folder("bert-uncased")), Opening(device="cpu"), settings, Options(store=False))


def placebo_of(seed: int) -> Placebo:
    return shuffle_gender(TEXTS * 2, seed=seed)


@pytest.mark.slow
def test_one_training_of_each_has_an_interval_and_no_p_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another seed alone does would be called an effect of the corpus."""
    monkeypatch.setattr(training_effect, "evaluate_model", few_looks)
    made = measure_effect(plan_of(1), TEXTS * 2, placebo_of, HELD, tmp_path)
    prints = [open_lm(tmp_path / name, Opening(device="cpu")).facts.fingerprint for name in ("corpus-0", "placebo-0")]
    assert len({*prints, made.model["fingerprint"]}) == 3
    assert made.trainings["corpus-0"]["steps"] == made.trainings["placebo-0"]["steps"] == 5
    changes = effect_changes(made)
    found = effect_finding(made, changes, ability_estimates(made))
    rows = {row[2]: dict(zip(found.tables[0].columns, row, strict=True)) for row in found.tables[0].rows}
    evaluations = (made.start, made.evaluations["corpus", 0], made.evaluations["placebo", 0])
    sizes = [np.mean([abs(row.difference) for row in each.rows["sld", "triple-gender"]]) for each in evaluations]
    whole = rows["all"]
    assert [whole[name] for name in ("start", "corpus", "placebo")] == pytest.approx(sizes)
    against = whole["corpus − placebo"]
    assert isinstance(against, Value)
    assert against.value == pytest.approx(sizes[1] - sizes[2])
    assert against.low <= against.value <= against.high
    assert against.method.endswith("; items only: one training")
    assert whole["p"] is None
    estimates = {estimate.key: estimate for estimate in changes.estimates()}
    assert estimates["sld", "triple-gender", "all", "asld-corpus-minus-placebo"].value == against.value
    assert estimates["sld", "triple-gender", "all", "asld-corpus-minus-start"].null == 0
    assert {estimate.p for estimate in estimates.values()} == {None}
    start, corpus, placebo = sizes
    for value in (f"{start:.3f} at the start", f"{corpus:.3f} after the corpus", f"{placebo:.3f} after the placebo"):
        assert value in found.answers[0]
    assert "cannot tell" in found.answers[0]
    assert any(note.startswith("One training on the corpus and one on the placebo") for note in found.notes)


@pytest.mark.slow
def test_further_seeds_are_added_to_those_that_are_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every added seed would cost all trainings again, or all seeds would be one training."""
    monkeypatch.setattr(training_effect, "evaluate_model", few_looks)
    one = measure_effect(plan_of(1), TEXTS * 2, placebo_of, HELD, tmp_path)
    before = (tmp_path / "corpus-0" / "model.safetensors").stat().st_mtime_ns
    labels: set[str] = set()
    progress = Options(store=False, progress=lambda label, share, total, note="": labels.add(label))
    several = measure_effect(replace(plan_of(2), options=progress), TEXTS * 2, placebo_of, HELD, tmp_path)
    assert (tmp_path / "corpus-0" / "model.safetensors").stat().st_mtime_ns == before
    assert labels == {"training on the corpus, seed 1", "training on the placebo, seed 1"}
    assert [*several.trainings] == ["corpus-0", "placebo-0", "corpus-1", "placebo-1"]
    assert {name: several.trainings[name] for name in one.trainings} == one.trainings
    assert several.trainings["corpus-1"]["losses"] != several.trainings["corpus-0"]["losses"]
    assert {*several.trainings} <= {*kept_names(tmp_path, EffectSettings())}  # one seed may follow two


def he_or_she(engine: Engine, held: Sequence[str], *, seed: int = 0, progress: Any = None) -> BiasEvaluation:
    """Ask for the pronoun in sentences like those of the corpus."""
    items = [
        Pair(f"asked/{job}-{number}", *(frame.format(job, word) for word in ("he", "she")), groups=groups)
        for job in ("doctor", "cook", "guard", "nurse", "clerk")
        for number, frame in enumerate(
            ("The {} said that {} was tired of the rain.", "The {} said that {} was tired of the road.",
             "The {} said that {} was tired of the noise.", "The {} thought that {} was tired of the rain.")
        )
        for groups in [{"word": job, "template": str(number), "slot": "subject", "category": "job"}]
    ]  # fmt: skip
    chunks = score_items("asked", items, [find("ppd")], engine, evidence=Evidence(), progress=lambda _: None)
    rows = [scored.row for chunk in chunks for scored in chunk]
    return BiasEvaluation({("ppd", "asked"): rows}, measure_ability(engine, held, seed=seed))


@pytest.mark.slow
def test_a_planted_effect_is_found_over_several_trainings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus that says only "he" would seem to teach nothing."""
    monkeypatch.setattr(training_effect, "evaluate_model", he_or_she)
    plan = plan_of(4)
    plan = replace(plan, settings=replace(plan.settings, lr=5e-3, epochs=4.0))
    effect = measure_effect(plan, TEXTS * 4, placebo_of_many, HELD, tmp_path)
    changes = effect_changes(effect)
    (against,) = changes.against
    assert against.statistic == "appd"
    assert against.change > 0
    assert against.p_holm is not None
    assert against.p_holm < 0.05
    assert against.method == "t over 4 trainings and 5 words and 4 templates"
    found = effect_finding(effect, changes, ability_estimates(effect))
    assert "sd between trainings" in found.tables[0].columns
    assert any(note.startswith("4 trainings on each") for note in found.notes)


def placebo_of_many(seed: int) -> Placebo:
    return shuffle_gender(TEXTS * 4, seed=seed)


def evaluation_of(changes: Sequence[float]) -> BiasEvaluation:
    """Twelve pairs with these differences in the scores of their sentences."""
    rows = [
        Row("sld", "triple-gender", f"triple-gender/{i}", {"category": "x"}, {"more": value, "less": 0.0}, "more")
        if np.isfinite(value)
        else Row("sld", "triple-gender", f"triple-gender/{i}", {"category": "x"}, {}, "unscored", "too long")
        for i, value in enumerate(changes)
    ]
    return BiasEvaluation({("sld", "triple-gender"): rows}, Ability(*np.ones((4, 3))))


def test_seeds_are_compared_in_pairs_over_the_items_that_all_models_scored() -> None:
    """Items of other trainings would be subtracted from each other, or dropped without a word."""
    rng = np.random.default_rng(0)
    scores = rng.uniform(1.0, 2.0, (5, 12))  # start; corpus and placebo of two seeds
    scores[2, 0], scores[:, 1] = np.nan, np.nan
    start, corpus, placebo, second, other = map(evaluation_of, scores)
    keys = (("corpus", 0), ("placebo", 0), ("corpus", 1), ("placebo", 1))
    effect = TrainingEffect({}, start, dict(zip(keys, (corpus, placebo, second, other), strict=True)), {}, "as many")
    found = effect_changes(effect)
    against, shift = found.against[0], found.shifts[0]
    assert against.change == pytest.approx(np.mean([scores[1, 2:] - scores[2, 2:], scores[3, 2:] - scores[4, 2:]]))
    assert shift.change == pytest.approx(np.mean([scores[1, 2:] - scores[0, 2:], scores[3, 2:] - scores[0, 2:]]))
    assert (against.n, found.left_out) == (10, 1)
    means = [(scores[1, 2:] - scores[2, 2:]).mean(), (scores[3, 2:] - scores[4, 2:]).mean()]
    assert found.spreads[0] == pytest.approx(np.std(means, ddof=1))
    assert against.p is not None
    assert against.p_holm is not None
