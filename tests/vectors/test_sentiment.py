"""RNSB would not be the published divergence, or would not see negative terms, if these failed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.core.errors import StatsError
from unmask.vectors.questions import Group, Question
from unmask.vectors.sentiment import divergence, negative_probabilities, rnsb
from unmask.vectors.spec import VectorSettings
from unmask.vectors.static import WordVectors

SETTINGS = VectorSettings()


def sentiment_vectors(shift: float) -> tuple[Question, WordVectors]:
    """Positive words lie at +2 and negative ones at −2 of the first axis; the terms Y at `shift`, the terms X at 0."""
    rng = np.random.default_rng(3)
    names = {key: tuple(f"{key}{number}" for number in range(10)) for key in "xyab"}
    centres = {"x": 0.0, "y": shift, "a": 2.0, "b": -2.0}
    rows = [rng.normal(scale=0.5, size=(10, 4)) + centres[key] * np.eye(4)[0] for key in names]
    question = Question("q", *(Group(key, words) for key, words in names.items()))
    return question, WordVectors(
        tuple(word for words in names.values() for word in words), np.concatenate(rows), "made"
    )


def test_the_divergence_is_the_sum_of_the_paper() -> None:
    """P = (0.5, 0.25, 0.25) of probabilities 0.8, 0.4, 0.4: Σ p ln(p / (1/3)) = 0.5 ln 1.5 + 0.5 ln 0.75."""
    expected = 0.5 * math.log(1.5) + 0.5 * math.log(0.75)
    assert divergence(np.array([0.8, 0.4, 0.4])) == pytest.approx(expected)
    assert divergence(np.array([0.3, 0.3])) == pytest.approx(0.0, abs=1e-15)


def reference_negative(question: Question, vectors: WordVectors) -> dict[str, float]:
    """Logistic regression with an L2 penalty of 1, by plain gradient descent; its intercept is not penalised."""
    a, b = vectors.lookup(question.a.texts), vectors.lookup(question.b.texts)
    rows, labels = np.concatenate([a, b]), np.repeat([0.0, 1.0], [len(a), len(b)])
    weights, intercept = np.zeros(rows.shape[1]), 0.0
    for _ in range(20_000):
        wrong = 1 / (1 + np.exp(-(rows @ weights + intercept))) - labels
        weights -= 0.02 * (rows.T @ wrong + weights)
        intercept -= 0.02 * wrong.sum()
    terms = (*question.x.texts, *question.y.texts)
    return dict(zip(terms, 1 / (1 + np.exp(-(vectors.lookup(terms) @ weights + intercept))), strict=True))


@pytest.mark.parametrize(("shift", "negative"), [(-2.0, True), (2.0, False)])
def test_planted_sentiment_is_found_in_both_directions(shift: float, negative: bool) -> None:
    question, vectors = sentiment_vectors(shift)
    found = rnsb(question, vectors, SETTINGS)
    assert found.negative == pytest.approx(reference_negative(question, vectors), abs=1e-3)
    share = np.array([*found.negative.values()]) / sum(found.negative.values())
    assert found.effect.value == pytest.approx(float(np.sum(share * np.log(share * len(share)))))
    assert found.effect.low <= found.effect.value <= found.effect.high
    assert (found.means[1] > found.means[0]) is negative
    assert (found.p < 0.01) is negative
    assert found.accuracy > 90
    assert (found.sizes, found.left_out, found.partitions) == ((10, 10, 10, 10), (), math.comb(20, 10))


def test_even_terms_are_not_called_negative_and_words_without_a_vector_are_listed() -> None:
    question, vectors = sentiment_vectors(0.0)
    assert rnsb(question, vectors, SETTINGS).p > 0.05
    some = Question("q", Group("x", ("x1", "x2", "gone")), question.y, question.a, question.b)
    assert rnsb(some, vectors, SETTINGS).left_out == ("gone",)
    with pytest.raises(StatsError, match="expected at least two of each"):
        rnsb(Question("q", Group("x", ("x1",)), question.y, question.a, question.b), vectors, SETTINGS)
    alone = negative_probabilities(np.array([[1.0], [2.0]]), np.array([[-1.0], [-2.0]]), np.array([[0.0]]))
    assert alone.tolist() == pytest.approx([0.5])


def test_a_lexicon_replaces_the_attributes(tmp_path: Path) -> None:
    """If the lexicon were ignored, the question's own attributes, which have no vector, would be missed."""
    question, vectors = sentiment_vectors(-2.0)
    lines = [
        f"{word} {' '.join(map(str, row))}" for word, row in zip(vectors.words, vectors.matrix.tolist(), strict=True)
    ]
    (tmp_path / "made.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, group in (("positive.txt", question.a), ("negative.txt", question.b)):
        (tmp_path / name).write_text("; a comment\n" + "\n".join(group.texts) + "\n", encoding="utf-8")
    rows = [f"q,{key},{key},{word}" for key in "xy" for word in getattr(question, key).texts]
    rows += ["q,a,a,no", "q,b,b,none"]
    (tmp_path / "q.csv").write_text("question,set,name,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    result = unmask.vectors(
        tmp_path / "made.txt",
        measures="rnsb",
        questions=str(tmp_path / "q.csv"),
        lexicon=(tmp_path / "positive.txt", tmp_path / "negative.txt"),
    )
    (estimate,) = result.estimates
    assert (estimate.statistic, estimate.n, estimate.null) == ("divergence", 20, 0.0)
    assert estimate.value == pytest.approx(rnsb(question, vectors, SETTINGS).effect.value)
    assert "Y are more negative than those of X" in str(result.findings)
