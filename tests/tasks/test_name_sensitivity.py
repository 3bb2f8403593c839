"""Names in toxicity: the figures of Prabhakaran et al. (2019) equal plain loops, and a planted name is found."""

from __future__ import annotations

import numpy as np
import pytest

from unmask.core.estimate import Estimate
from unmask.tasks import name_sensitivity, toxicity
from unmask.tasks.name_sensitivity import (
    DEVIATION,
    SENTENCES,
    measure_names,
    names,
    perturbed_sentences,
    summarize_names,
)
from unmask.tasks.spec import TaskObservation
from unmask.tasks.toxicity import ToxicityOptions

RANGE, DISTANCE, GAP = "score range over names", "label distance over names", "score, names of women − of men"


def by_name(estimates: list[Estimate]) -> dict[str, Estimate]:
    """The figures over all names by their statistic, and those of single names by the name."""
    return {each.statistic if each.group == "all" else each.group.removeprefix("name="): each for each in estimates}


def random_scores() -> dict[tuple[int, str], float]:
    rng = np.random.default_rng(1)
    return {key: float(rng.random()) for key in perturbed_sentences()}


def test_a_name_takes_the_place_of_the_pronoun() -> None:
    filled = perturbed_sentences()
    assert len(filled) == len(SENTENCES) * (2 + 40)
    assert filled[0, "female"] == "I had lunch with her on Friday."
    assert filled[0, "male"] == "I had lunch with him on Friday."
    assert filled[0, "Mary"] == "I had lunch with Mary on Friday."
    assert [filled[6, name] for name in ("female", "James")] == ["She is an idiot.", "James is an idiot."]
    assert "Mark" not in names()["male"]  # also a word


def test_sensitivity_deviation_range_and_label_distance_equal_plain_loops() -> None:
    scores = random_scores()
    found = by_name(summarize_names(scores, seed=0))
    women, men = names()["female"], names()["male"]
    everybody, sentences = [*women, *men], range(len(SENTENCES))
    shift = sum(scores[at, "Mary"] - scores[at, "female"] for at in sentences) / len(SENTENCES)
    assert found["Mary"].value == pytest.approx(shift)
    shift = sum(scores[at, "James"] - scores[at, "male"] for at in sentences) / len(SENTENCES)
    assert found["James"].value == pytest.approx(shift)
    spreads, ranges, gaps = [], [], []
    for at in sentences:
        values = [scores[at, name] for name in everybody]
        mean = sum(values) / len(values)
        spreads.append((sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5)
        ranges.append(max(values) - min(values))
        gaps.append(sum(scores[at, name] for name in women) / 20 - sum(scores[at, name] for name in men) / 20)
    assert found[DEVIATION].value == pytest.approx(np.mean(spreads))
    assert found[RANGE].value == pytest.approx(np.mean(ranges))
    assert found[GAP].value == pytest.approx(np.mean(gaps))
    distances = []
    for gender, listed in names().items():
        toxic = {at for at in sentences if scores[at, gender] > 0.5}
        for name in listed:
            now = {at for at in sentences if scores[at, name] > 0.5}
            distances.append(1 - len(toxic & now) / len(toxic | now))
    assert found[DISTANCE].value == pytest.approx(np.mean(distances))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_planted_name_and_a_planted_gender_are_found(sign: float) -> None:
    """A classifier that dislikes one name, or the names of one gender, must not look fair."""
    women = set(names()["female"])
    texts = {text: name for (_, name), text in perturbed_sentences().items()}

    def score(asked: list[str]) -> np.ndarray:
        noise = np.random.default_rng(2).normal(0, 0.001, len(asked))
        lift = [0.3 * (texts[text] == "Linda") + 0.1 * (texts[text] in women) for text in asked]
        return 0.5 + sign * np.array(lift) + noise

    found = by_name(measure_names(score, seed=0))  # type: ignore[arg-type]
    assert found["Linda"].value == pytest.approx(0.4 * sign, abs=0.01)
    assert abs(found["James"].value) < 0.01
    assert found[GAP].value == pytest.approx(sign * 0.115, abs=0.01)
    assert found[GAP].low * found[GAP].high > 0
    assert found[RANGE].value == pytest.approx(0.4, abs=0.01)


def test_a_classifier_that_labels_nothing_toxic_has_no_distance() -> None:
    found = by_name(measure_names(lambda texts: np.full(len(texts), 0.2), seed=0))
    assert (found[DISTANCE].value, found[RANGE].value) == (0.0, 0.0)
    assert found[DEVIATION].value == pytest.approx(0.0)


class _Toxic:
    labels = ("fine", "toxic")

    def probabilities(self, pairs: list[tuple[str, None]]) -> np.ndarray:
        bad = np.array([0.9 if "idiot" in text or "hate" in text else 0.1 for text, _ in pairs])
        bad += 1e-3 * np.random.default_rng(0).random(len(bad))
        return np.stack([1 - bad, bad], axis=1)


def test_the_task_shows_names_beside_identity_terms() -> None:
    result = toxicity.observe(_Toxic(), ToxicityOptions())  # type: ignore[arg-type]
    found = toxicity.conclude([TaskObservation({"id": "m"}, result)], ToxicityOptions()).finding
    assert [table.title for table in found.tables[2:]] == [
        "Names instead of pronouns",
        "Names that shift the score most",
    ]
    statistics = {estimate.statistic for estimate in result.estimates}
    assert {"score deviation over names", "score range over names", "label distance over names"} <= statistics
    assert result.estimates[0].statistic == "spread of the score over terms"  # the headline stays
    assert name_sensitivity.PAIRS == 20
