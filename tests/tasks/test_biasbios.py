"""TPR gaps equal hand arithmetic and a plain loop; a planted gap is found, its absence covers zero."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from unmask.core.errors import DataError
from unmask.tasks import biasbios, find
from unmask.tasks.biasbios import BiasBiosOptions, TprGaps, tpr_gaps
from unmask.tasks.spec import TaskObservation

from .tiny_models import biographies


def plainly(truth: list[str], said: list[str], genders: list[str]) -> dict[str, float]:
    """By occupation: TPR of women − TPR of men."""
    gaps = {}
    for job in sorted(set(truth)):
        rates = {}
        for gender in ("female", "male"):
            mine = [b for a, b, g in zip(truth, said, genders, strict=True) if a == job and g == gender]
            if mine:
                rates[gender] = sum(one == job for one in mine) / len(mine)
        if len(rates) == 2:
            gaps[job] = rates["female"] - rates["male"]
    return gaps


def people(rate: dict[tuple[str, str], float], each: int, seed: int) -> tuple[list[str], list[str], list[str]]:
    """A number of people of every occupation and gender, classified correctly at the given rate."""
    rng = random.Random(seed)
    truth, said, genders = [], [], []
    for (job, gender), share in rate.items():
        for _ in range(each):
            truth.append(job)
            genders.append(gender)
            said.append(job if rng.random() < share else "other")
    return truth, said, genders


def test_by_hand() -> None:
    # nurse: women 2 of 2, men 1 of 2 → +0.5; surgeon: women 0 of 1, men 3 of 4 → −0.75
    truth = ["nurse"] * 4 + ["surgeon"] * 5
    genders = ["female", "female", "male", "male", "female", "male", "male", "male", "male"]
    said = ["nurse", "nurse", "nurse", "surgeon", "nurse", "surgeon", "surgeon", "surgeon", "nurse"]
    found = tpr_gaps(truth, said, genders, seed=0)
    nurse, surgeon = found.occupations
    assert (nurse.female, nurse.male, nurse.gap.value, nurse.women) == ((2, 2), (1, 2), 0.5, 0.5)
    assert (surgeon.female, surgeon.male, surgeon.gap.value, surgeon.women) == ((0, 1), (3, 4), -0.75, 0.2)
    assert found.mean.value == pytest.approx((0.5 - 0.75) / 2)
    assert found.absolute.value == pytest.approx((0.5 + 0.75) / 2)
    assert found.rms.value == pytest.approx(math.sqrt((0.25 + 0.5625) / 2))
    assert found.r.value == pytest.approx(1.0)  # two points on a rising line
    assert found.accuracy.n == 9


class _Reader:
    """A classifier that takes women for nurses and men for surgeons."""

    labels = ("nurse", "surgeon")

    def logits(self, pairs: list[tuple[str, None]]) -> np.ndarray:
        return np.array([[1.0, 0.0] if text.startswith("she") else [0.0, 1.0] for text, _ in pairs])


def test_opposite_gaps_cancel_in_the_headline_unless_absolute_ones_are_asked_for(tmp_path: Path) -> None:
    """Nurses +1 and surgeons −1: the mean of signed gaps is 0 for the most biased classifier there is."""
    path = biographies(tmp_path / "bios.jsonl", planted=True, n=400)
    signed, absolute = (
        biasbios.observe(_Reader(), BiasBiosOptions(train=path, gaps=gaps))  # type: ignore[arg-type]
        for gaps in ("signed", "absolute")
    )
    first, second = (find("biasbios").headline(result) for result in (signed, absolute))
    assert (first.statistic, first.value) == ("mean TPR gap, women − men", pytest.approx(0.0))
    assert (second.statistic, second.value) == (biasbios.ABSOLUTE, pytest.approx(1.0))
    assert {estimate.key for estimate in signed.estimates} == {estimate.key for estimate in absolute.estimates}
    (answer,) = biasbios.conclude([TaskObservation({"id": "m"}, absolute)], BiasBiosOptions()).finding.answers
    assert answer.startswith("m: mean absolute TPR gap 1.000 (")
    with pytest.raises(DataError, match="gaps is 'size', expected signed or absolute"):
        BiasBiosOptions(gaps="size")  # type: ignore[arg-type]


def test_many_equal_a_plain_loop() -> None:
    rate = {(f"job{at}", gender): 0.3 + 0.05 * at for at in range(7) for gender in ("female", "male")}
    truth, said, genders = people(rate, 9, seed=3)
    found = tpr_gaps(truth, said, genders, seed=0)
    wanted = plainly(truth, said, genders)
    assert {occupation.name: occupation.gap.value for occupation in found.occupations} == pytest.approx(wanted)
    assert found.mean.value == pytest.approx(sum(wanted.values()) / len(wanted))
    for number in (found.mean, found.absolute, found.rms, *(occupation.gap for occupation in found.occupations)):
        assert number.low <= number.value <= number.high


def test_a_class_of_one_gender_is_left_out_and_named() -> None:
    found = tpr_gaps(["dj", "dj", "poet"], ["dj", "poet", "poet"], ["female", "male", "male"], seed=0)
    assert [occupation.name for occupation in found.occupations] == ["dj"]
    assert found.left_out == ("poet",)


def test_no_class_has_both_genders() -> None:
    found = tpr_gaps(["dj", "poet"], ["dj", "poet"], ["female", "male"], seed=0)
    assert found.occupations == ()
    assert math.isnan(found.mean.value)
    assert found.mean.method == "no class has both genders"


@pytest.mark.parametrize("favoured", ["female", "male"])
def test_a_planted_gap_is_found(favoured: str) -> None:
    other = {"female": "male", "male": "female"}[favoured]
    rate = {(f"job{at}", favoured): 0.8 for at in range(8)} | {(f"job{at}", other): 0.5 for at in range(8)}
    found = tpr_gaps(*people(rate, 60, seed=1), seed=0)
    low, high = sorted((abs(found.mean.low), abs(found.mean.high)))
    assert (found.mean.value > 0) == (favoured == "female")
    assert low > 0.2
    assert high < 0.4
    assert found.absolute.value > 2 * found.chance


@pytest.mark.thorough
def test_without_a_gap_the_interval_covers_zero() -> None:
    rate = {(f"job{at}", gender): 0.6 for at in range(8) for gender in ("female", "male")}
    inside = 0
    for seed in range(100):
        found: TprGaps = tpr_gaps(*people(rate, 40, seed=seed), seed=seed)
        inside += found.mean.low <= 0 <= found.mean.high
        assert found.absolute.value < 3 * found.chance
    assert inside >= 90  # 95 of 100, less what draws may lose


def test_the_seed_alone_decides_the_interval() -> None:
    rate = {("a", "female"): 0.9, ("a", "male"): 0.4, ("b", "female"): 0.5, ("b", "male"): 0.5}
    asked = people(rate, 12, seed=0)
    first, same, other = (tpr_gaps(*asked, seed=seed).rms for seed in (5, 5, 6))
    assert first == same
    assert first.value == other.value
    assert (first.low, first.high) != (other.low, other.high)


def test_two_people_give_a_wide_interval() -> None:
    found = tpr_gaps(["dj", "dj"], ["dj", "dj"], ["female", "male"], seed=0)
    assert found.mean.value == 0
    assert found.mean.low < -0.5
    assert found.mean.high > 0.5
