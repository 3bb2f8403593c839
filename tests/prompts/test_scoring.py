"""Shares judged biased and the ranking of bias types, by plain counting."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from prompts.handmade import annotate, answer
from unmask.core.errors import StatsError
from unmask.prompts.annotations import verdicts
from unmask.prompts.rules import Verdict
from unmask.prompts.scoring import estimates, rank_agreement, ranking

B, N, U = "biased", "not biased", "undecided"
BY_TYPE: dict[str, list[Verdict]] = {
    "race": [B, B, B, N, U],
    "gender": [B, B, N, N],
    "religion": [B, N, N, N, N, U, U],
    "socioeconomic": [N, N],
}
KINDS = [(category, verdict) for category, verdicts_of in BY_TYPE.items() for verdict in verdicts_of]
ANSWERS = tuple(
    answer(number, verdict, category, "completion" if number % 2 else "question")
    for number, (category, verdict) in enumerate(KINDS)
)


def wilson(hits: int, n: int) -> tuple[float, float]:
    z, p = 1.959963984540054, hits / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return 100 * (centre - half), 100 * (centre + half)


def test_shares_count_decided_answers() -> None:
    found = {one.group: one for one in estimates(ANSWERS, verdicts(ANSWERS))}
    assert list(found) == ["all", *(f"category={name}" for name in BY_TYPE), "form=question", "form=completion"]
    assert (found["all"].n, found["all"].unscored) == (15, 3)
    assert found["all"].value == pytest.approx(100 * 6 / 15)
    for name, said in BY_TYPE.items():
        one, hits = found[f"category={name}"], said.count(B)
        n = hits + said.count(N)
        assert (one.n, one.unscored) == (n, said.count(U))
        assert one.value == pytest.approx(100 * hits / n)
        low, high = wilson(hits, n)
        assert (one.low, one.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high))
        assert (one.measure, one.statistic, one.null, one.method) == ("hld", "share-biased", None, "wilson")
    forms = [found["form=question"], found["form=completion"]]
    assert sum(one.n for one in forms) == 15
    odd = [verdict for number, (_, verdict) in enumerate(KINDS) if number % 2]
    assert found["form=completion"].value == pytest.approx(100 * odd.count(B) / (odd.count(B) + odd.count(N)))


def test_no_share_if_nothing_is_decided() -> None:
    open_only = (answer(0, U), answer(1, U))
    for one in estimates(open_only, verdicts(open_only)):
        assert math.isnan(one.value)
        assert math.isnan(one.low)
        assert (one.n, one.unscored, one.method) == (0, 2, "none: nothing decided")
    assert ranking(estimates(open_only, verdicts(open_only))) == ()


def test_no_answers_are_refused() -> None:
    with pytest.raises(StatsError, match="answers is empty"):
        estimates((), {})


def test_annotators_override_rules() -> None:
    four = (answer(0, B), answer(1, U), answer(2, U), answer(3, N))
    annotations = [*annotate("anna", [N, B, B, U]), *annotate("ben", [N, B, N])]
    found = verdicts(four, annotations)
    assert [one.verdict for one in found.values()] == [N, B, U, N]
    assert found["prompts/0000"].reason.startswith("people:")
    assert found["prompts/0002"].reason.startswith("people are tied")
    assert found["prompts/0003"].reason == "by hand"


def test_types_are_ranked_by_their_share() -> None:
    found = ranking(estimates(ANSWERS, verdicts(ANSWERS)))
    assert found == (("race", 75.0), ("gender", 50.0), ("religion", 20.0), ("socioeconomic", 0.0))


def plain_tau(first: dict[str, float], second: dict[str, float]) -> float:
    """Kendall's τ without ties."""
    signs = [math.copysign(1, (first[a] - first[b]) * (second[a] - second[b])) for a, b in combinations(first, 2)]
    return sum(signs) / len(signs)


@pytest.mark.parametrize(
    "pll",
    [
        {"race": 4.0, "gender": 3.0, "religion": 2.0, "socioeconomic": 1.0},
        {"race": 1.0, "gender": 2.0, "religion": 3.0, "socioeconomic": 4.0},
        {"race": 2.0, "gender": 3.0, "religion": -1.0, "socioeconomic": 1.0, "age": 9.0},
    ],
)
def test_rank_correlation_with_another_ranking(pll: dict[str, float]) -> None:
    found = rank_agreement(ANSWERS, verdicts(ANSWERS), pll, seed=1)
    shares = dict(ranking(estimates(ANSWERS, verdicts(ANSWERS))))
    assert found.test.value == pytest.approx(plain_tau(shares, pll))
    assert found.test.method == "exact"
    assert found.n == 4
    assert found.tau.low <= found.tau.value == found.test.value <= found.tau.high
    assert found == rank_agreement(ANSWERS, verdicts(ANSWERS), pll, seed=1)


def test_rankings_need_three_types_in_common() -> None:
    with pytest.raises(StatsError, match=r"2 bias types are in both rankings \(gender, religion\)"):
        rank_agreement(ANSWERS, verdicts(ANSWERS), {"race-color": 1.0, "gender": 2.0, "religion": 3.0}, seed=1)
