"""The words of unmask are held here, once; everything else compares numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unmask.core.estimate import NAN, Estimate, Value
from unmask.findings import sentences

SCORE = Estimate(60.0, 54.0, 66.0, "wilson", measure="cps", data="d", statistic="bias-score", null=50.0, n=200, p=0.001)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({}, "above"),
        ({"value": 40.0, "low": 34.0, "high": 46.0}, "below"),
        ({"low": 49.0}, "within"),
        ({"p": 0.2}, "within"),
        ({"p_holm": 0.06}, "within"),
        ({"n": 29}, "too few"),
        ({"group": "category=age", "n": 12, "p_holm": 0.01}, "above"),
        ({"group": "category=age", "p_holm": 0.2}, "within"),
        ({"ties": 101}, "ties"),
        ({"low": NAN, "high": NAN}, "no interval"),
        ({"null": None}, "no null"),
        ({"statistic": "asld", "n": 5, "null": 0.0}, "above"),
    ],
)
def test_a_verdict_needs_interval_and_test_and_items(fields: dict[str, object], place: str) -> None:
    assert sentences.verdict(replace(SCORE, **fields)) == place  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("statistic", "value", "words"),
    [
        ("bias-score", (60, 54, 66), "leans towards stereotypes"),
        ("bias-score", (50, 44, 56), "no preference found by this measure"),
        ("appd", (-0.2, -0.3, -0.1), "leans towards women"),
        ("lms", (80, 75, 85), "prefers meaningful words to unrelated ones"),
        ("effect-size", (0.5, 0.2, 0.8), "the words are associated with men"),
    ],
)
def test_leans(statistic: str, value: tuple[float, float, float], words: str) -> None:
    null = 50.0 if value[0] > 1 else 0.0
    assert sentences.lean(Estimate(*value, "t", statistic=statistic, null=null, n=200)) == words


@pytest.mark.parametrize(
    ("difference", "p", "words"),
    [
        (Value(3.1, 1.0, 5.2), None, "cps: rose by 3.1 points (1.0 to 5.2)"),
        (Value(-3.1, -5.2, -1.0), 0.01, "cps: fell by 3.1 points (1.0 to 5.2)"),
        (Value(3.1, 1.0, 5.2), 0.06, "cps: no change found, +3.1 (+1.0 to +5.2) points"),
        (Value(3.1, -1.0, 7.2), None, "cps: no change found, +3.1 (−1.0 to +7.2) points"),
        (Value(3.1), None, "cps: cannot tell (+3.1 points, no interval)"),
        (Value(0.04, 0.01, 0.07), None, "cps: rose by less than 0.1 points"),
    ],
)
def test_changes(difference: Value, p: float | None, words: str) -> None:
    assert sentences.change("cps", difference, p=p, of="bias-score") == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Value(-3.1, -5.2, -1.0), "score: lower of a than of b, by 3.1 points (1.0 to 5.2)"),
        (Value(3.1, -1.0, 7.2), "score: no difference found, +3.1 (−1.0 to +7.2) points"),
        (
            replace(SCORE, value=10.0, low=4.0, high=16.0, null=0.0),
            "score: higher of a than of b, by 10.0 points (4.0 to 16.0)",
        ),
        (replace(SCORE, null=0.0, n=12), "score: cannot tell (12 items are too few for a verdict)"),
    ],
)
def test_differences_of_two_groups(value: Value, words: str) -> None:
    assert sentences.difference("score", "of a", "of b", value, of="bias-score") == words


def test_the_other_forms() -> None:
    related = Value(0.41, 0.2, 0.6)
    assert sentences.correlation("score and length", related) == (
        "score and length: rise together, r +0.41 (+0.20 to +0.60)"
    )
    assert sentences.correlation("score and length", related, p=0.2, symbol="τ") == (
        "score and length: no relation found, τ +0.41 (+0.20 to +0.60), p 0.200"
    )
    assert sentences.correlation("score and length", Value(0.4)) == (
        "score and length: cannot tell (r +0.40, no interval)"
    )
    assert sentences.size("halves differ by", Value(3.14, 2, 4.2), "points", 1) == (
        "halves differ by 3.1 points (2.0 to 4.2)"
    )
    assert sentences.span("halves differ by", {"sss": 5.2, "aul": 3.1}, "points") == (
        "halves differ by 3.1 (aul) to 5.2 (sss) points"
    )
    assert sentences.share("the longer is preferred in", Value(58, 52, 64), 50.0) == (
        "the longer is preferred in 58.0% (52.0 to 64.0), more than chance"
    )
    assert sentences.agreement("rules and people", Value(0.7, 0.6, 0.8), symbol="κ") == (
        "rules and people: κ 0.70 (0.60 to 0.80)"
    )
    assert sentences.effect("bias-score", 61.2, 55.0, Value(-6.2, -10.3, -2.1), of="bias-score") == (
        "bias-score 61.2 to 55.0: fell by 6.2 points (2.1 to 10.3)"
    )
    assert sentences.too_few(1, "item") == "1 item is too few for a verdict"
    assert sentences.too_few(12, "item") == "12 items are too few for a verdict"
    assert sentences.invalid("cps", "accuracy") == ("cps: a check failed (accuracy): do not interpret this number")
