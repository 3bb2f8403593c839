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
from unmask.corpus import training_effect
from unmask.corpus.spec import EffectSettings
from unmask.corpus.training_effect import (
    TrainingPlan,
    effect_estimates,
    effect_finding,
    measure_effect,
    placebo_from_sentences,
    shuffle_gender,
    summarize_effect,
)
from unmask.findings import Value
from unmask.measures import find
from unmask.mitigate.evaluation import BiasEvaluation
from unmask.models import Engine, open_lm
from unmask.training.utility import measure_ability

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


@pytest.mark.slow
def test_corpus_and_placebo_train_from_the_same_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_effect, "evaluate_model", few_looks)
    settings = EffectSettings(lr=1e-3, batch=4, length=32)
    plan = TrainingPlan(str(zoo.folder("bert-uncased")), Opening(device="cpu"), settings, Options(store=False))
    texts = TEXTS * 2
    held = ["The nurse thought that the rain would never stop at all.", "They went down the long road to the sea."]
    made = measure_effect(plan, texts, shuffle_gender(texts), held, tmp_path)
    prints = [open_lm(tmp_path / name, Opening(device="cpu")).facts.fingerprint for name in ("corpus", "placebo")]
    assert len({*prints, made.model["fingerprint"]}) == 3
    assert made.trainings["corpus"]["steps"] == made.trainings["placebo"]["steps"] == 5
    summary = summarize_effect(made)
    found = effect_finding(summary)
    rows = {row[2]: dict(zip(found.tables[0].columns, row, strict=True)) for row in found.tables[0].rows}
    sizes = [
        np.mean([abs(row.difference) for row in seen.rows["sld", "triple-gender"]])
        for seen in made.evaluations.values()
    ]
    whole = rows["all"]
    assert [whole[name] for name in ("start", "corpus", "placebo")] == pytest.approx(sizes)
    against = whole["corpus − placebo"]
    assert isinstance(against, Value)
    assert against.value == pytest.approx(sizes[1] - sizes[2])
    assert against.low <= against.value <= against.high
    estimates = {estimate.key: estimate for estimate in effect_estimates(summary)}
    assert estimates["sld", "triple-gender", "all", "asld-corpus-minus-placebo"].value == against.value
    assert estimates["sld", "triple-gender", "all", "asld-corpus-minus-start"].null == 0
    start, corpus, placebo = sizes
    assert found.answers[0].startswith(
        f"ASLD on triple-gender: {start:.3f} at the start, {corpus:.3f} after the corpus "
    )
    assert f", {placebo:.3f} after the placebo; corpus − placebo " in found.answers[0]
    assert found.answers[0].endswith("(n = 12).")
    before = (tmp_path / "corpus" / "model.safetensors").stat().st_mtime_ns
    again = measure_effect(plan, texts, shuffle_gender(texts), held, tmp_path)  # nothing is trained twice
    assert (tmp_path / "corpus" / "model.safetensors").stat().st_mtime_ns == before
    assert again.trainings == made.trainings
