"""Sentences "noun is a profession": their form, their paired test, and the correlation with the share of women."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, ttest_1samp

from unmask import data
from unmask.core.errors import DataError
from unmask.data.examples import user_source
from unmask.tasks import Grid, sentiment
from unmask.tasks.sentiment import NOUNS, PROFESSION, PROFESSIONS, SentimentOptions
from unmask.tasks.spec import TaskObservation

from .tiny_models import evaluate, untrained_model

SHARES = {occupation.name: occupation.women for occupation in data.read("occupations")}


def test_the_sentences_are_800_of_twenty_professions_and_twenty_nouns_of_each_gender() -> None:
    """Otherwise the group would not be what Bhaskaran & Bhallamudi (2019) describe, or a sentence would be broken."""
    pairs = sentiment.load_pairs(SentimentOptions())
    chosen = [at for at, group in enumerate(pairs.group) if group == PROFESSION]
    sentences = [text for at in chosen for text in (pairs.female[at], pairs.male[at])]
    assert (len(sentences), len(set(sentences))) == (800, 800)
    assert "My niece is an electrician." in sentences
    assert "The groom is a nurse." in sentences
    for at in chosen:  # the two sentences of a pair end alike
        assert pairs.female[at].partition(" is a")[2] == pairs.male[at].partition(" is a")[2]
    women = sum(SHARES[name] > 0.5 for name in PROFESSIONS)
    assert (women, len(PROFESSIONS), len(set(PROFESSIONS)), len(set(NOUNS))) == (10, 20, 20, 20)


def planted_result(*, planted: float) -> sentiment.SentimentResult:
    """Scores that are higher for women in professions of women by `planted` × (share − 0.5), with some noise."""
    pairs = sentiment.load_pairs(SentimentOptions())
    noise = np.random.default_rng(0).normal(0, 0.01, len(pairs.unit))
    lift = [
        planted * (SHARES[unit] - 0.5) if group == PROFESSION else 0.0
        for unit, group in zip(pairs.unit, pairs.group, strict=True)
    ]
    male = np.full(len(pairs.unit), 0.5)
    return sentiment.summarize(pairs, male + lift + noise, male, [False] * len(lift), "p", seed=0)


@pytest.mark.parametrize("planted", [0.4, -0.4])
def test_a_planted_stereotype_of_professions_is_found_in_both_directions(planted: float) -> None:
    result = planted_result(planted=planted)
    r = result.estimates[-1]
    assert r.value * np.sign(planted) > 0.95
    assert (r.low > 0) == (planted > 0)
    assert r.low * r.high > 0


def test_the_test_is_paired_and_over_professions() -> None:
    """400 pairs are not 400 independent observations: nouns of one profession share it."""
    result = planted_result(planted=0.4)
    by_profession = np.array([value.value for _, _, value in result.professions])
    group = f"sentences={PROFESSION}"
    shift = next(each for each in result.estimates if each.group == group)
    assert (shift.n, result.flips[group][1]) == (400, 20)
    assert shift.value == pytest.approx(by_profession.mean())
    assert shift.p == pytest.approx(ttest_1samp(by_profession, 0).pvalue)
    shares = [share for _, share, _ in result.professions]
    assert result.estimates[-1].value == pytest.approx(pearsonr(shares, by_profession).statistic)
    table = sentiment.conclude([TaskObservation({"id": "m"}, result)], SentimentOptions()).finding.tables[2]
    assert [row[1] for row in table.rows[:1]] == ["dental hygienist"]  # the largest share of women first
    assert len(table.rows) == 20


def test_the_users_pairs_have_no_professions(tmp_path: Path) -> None:
    """A column `category` with the word profession must not be mistaken for the built-in group."""
    path = tmp_path / "pairs.csv"
    path.write_text("more,less,category\nShe is a nurse.,He is a nurse.,profession\n", encoding="utf-8")
    pairs = sentiment.load_pairs(SentimentOptions(data=path))
    result = sentiment.summarize(pairs, np.array([0.2]), np.array([0.1]), [False], "p", seed=0)
    assert result.professions == ()
    assert sentiment.R not in {estimate.statistic for estimate in result.estimates}


def test_a_language_model_is_fine_tuned_on_the_users_labels(tmp_path: Path) -> None:
    """Otherwise sentiment could not be compared between an original and its mitigated versions, only classifiers."""
    path = tmp_path / "train.csv"
    words = ("city", "school", "people", "friends", "day")
    rows = [f"{'good' if at % 2 else 'bad'} {words[at % 5]} of the {words[at % 3]},{at % 2}" for at in range(80)]
    path.write_text("text,label\n" + "\n".join(rows), encoding="utf-8")
    settings = SentimentOptions(train=path, grid=Grid((16,), (1e-3,), (2.0,)), length=24)
    done = evaluate("sentiment", [untrained_model()], settings)
    (seen,) = done.observations
    assert seen.fine_tuned is not None
    assert seen.result.score_name == "probability of positive"
    assert [file["name"] for file in done.files] == ["train.csv"]
    assert "Task performance" in [table.title for table in done.conclusion.finding.tables]


def test_labels_of_the_users_texts(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_text("sentence,sentiment\nA.,Positive\nB.,neg\nC.,1\n", encoding="utf-8")
    examples = sentiment.read_examples(user_source(path))
    assert [example.label for example in examples] == ["positive", "negative", "positive"]
    path.write_text("text,label\nA.,maybe\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: label 'maybe', expected 0, 1, neg, pos, negative, positive"):
        sentiment.read_examples(user_source(path))
    with pytest.raises(DataError, match="there is no training data: give `train`"):
        sentiment.load_task_data(SentimentOptions())
