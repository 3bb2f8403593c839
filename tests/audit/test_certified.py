"""Certified decisions are those of fp32, although scores stay in a lower precision."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

import unmask
import zoo
from unmask.audit import certified, selection
from unmask.audit.certified import Certificate, certificate_check, score_certified, widen
from unmask.audit.checks import Evidence, check_precision
from unmask.audit.run import precisions_of
from unmask.audit.scoring import score_items
from unmask.core.errors import ModelError
from unmask.core.estimate import Estimate
from unmask.core.options import Opening
from unmask.core.types import Card, Dataset, Pair
from unmask.measures import find
from unmask.models import Engine, Lm, open_lm, precision
from unmask.models.lm import NOT_FINITE

NAMES = ("cps", "aul", "sld")
NOUNS = (
    "teacher",
    "doctor",
    "old friend",
    "man who lived there",
    "clerk",
    "woman from the small town",
    "child",
    "cook",
)
VERBS = ("said", "knew", "had told everybody", "wrote in a letter", "thought", "was sure", "heard on the way home")
ENDS = ("was late", "had won", "slept", "could not come to the house", "was right", "sang", "went away with the others")

CERTIFICATE = Certificate(
    *("made", "aul", "fp16", "fp32", 100, 64, 0.1, 0.0, 0.0, 60, 0.1),
    **{"guard": 20, "fell_back": False, "estimate": 0.01, "unseen": 0.03},
)


@pytest.fixture(autouse=True, scope="module")
def _small_samples() -> Iterator[None]:
    """Smaller samples need fewer pairs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certified, "SAMPLE", 64)
        patch.setattr(certified, "LATER_SAMPLE", 48)
        patch.setattr(selection, "GUARD", 8)
        yield


@functools.cache
def low_and_high() -> tuple[Lm, Lm]:
    lm = open_lm(zoo.folder("bert-uncased"))
    low = precision._in_16_bits(lm, torch.bfloat16)
    assert low is not None
    return low, lm


@functools.cache
def pairs() -> tuple[Pair, ...]:
    """More than twice the sample, from very short to longer ones."""
    made = itertools.product(NOUNS, VERBS, ENDS[::2])
    texts = [f"The {noun} {verb} that {{}} {end}." for noun, verb, end in made]
    return tuple(Pair(f"made/{n}", text.format("he"), text.format("she")) for n, text in enumerate(texts))


def run(models: tuple[Lm, ...], items: tuple[Pair, ...], names: tuple[str, ...] = NAMES) -> tuple[dict, list, Evidence]:
    """Rows by measure and item, certificates, and the evidence."""
    made: list[Certificate] = []
    evidence = Evidence()
    engines = [Engine(lm) for lm in models]
    chunks = score_certified(
        *("made", items, [find(name) for name in names], engines),
        **{"evidence": evidence, "progress": lambda _: None, "certificates": made},
    )
    rows = [each.row for chunk in chunks for each in chunk]
    assert [(row.item, row.measure) for row in rows] == [(item.id, name) for item in items for name in names]
    return {(row.measure, row.item): row for row in rows}, made, evidence


@functools.cache
def three_ways() -> tuple[dict, dict, dict, list, Evidence]:
    low, high = low_and_high()
    assert len(pairs()) > 2 * certified.SAMPLE
    rows, made, evidence = run((low, high), pairs())
    return run((low,), pairs())[0], run((high,), pairs())[0], rows, made, evidence


def test_decisions_are_those_of_fp32_although_low_precision_turns_some() -> None:
    low, high, rows, _, _ = three_ways()
    turned = [key for key in high if low[key].outcome != high[key].outcome]
    assert turned
    assert {key: row.outcome for key, row in rows.items()} == {key: row.outcome for key, row in high.items()}


def test_every_row_says_in_which_precision_it_was_scored() -> None:
    low, high, rows, _, _ = three_ways()
    assert {row.precision for row in rows.values()} == {"bf16", "fp32"}
    for key, row in rows.items():
        expected = (low if row.precision == "bf16" else high)[key]
        assert row.scores == pytest.approx(expected.scores, abs=2e-5 if row.precision == "fp32" else 0.05)


def test_everything_inside_the_band_is_scored_again() -> None:
    low, _, rows, made, _ = three_ways()
    assert {each.measure for each in made} == set(NAMES)
    for each in made:
        own = {item: row for (measure, item), row in rows.items() if measure == each.measure}
        again = [item for item, row in own.items() if row.precision == "fp32"]
        assert (each.pairs, each.rescored) == (len(pairs()), len(again))
        assert certified.SAMPLE <= each.sampled <= each.rescored < each.pairs
        hidden = 10.0 ** -(find(each.measure).decimals or 300)
        left = [abs(low[each.measure, item].difference) - hidden for item in own if item not in set(again)]
        assert each.band == pytest.approx(min(left))
        assert 0 < each.estimate <= selection.STATED * selection.TARGET
        assert 0 < each.unseen <= selection.UNSEEN
        assert 0 < each.guard < each.rescored
        assert not each.fell_back
        assert each.largest_error > 0


def test_an_error_beyond_the_fit_scores_everything_in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    """A precision that is grossly wrong for a few pairs would otherwise be trusted for the pairs left."""
    low, high = low_and_high()
    bad = {(item.id, "aul") for item in pairs()[::20]}
    real = certified.score_items

    def wrong(data, items, measures, engine, **options):
        for chunk in real(data, items, measures, engine, **options):
            yield [
                replace(each, row=replace(each.row, scores={"more": each.row.scores["more"] + 50, "less": 0.0}))
                if engine.lm is low and (each.row.item, each.row.measure) in bad
                else each
                for each in chunk
            ]

    monkeypatch.setattr(certified, "score_items", wrong)
    rows, made, _ = run((low, high), pairs(), ("aul", "cps"))
    aul, cps = made
    assert {rows["aul", item.id].precision for item in pairs()} == {"fp32"}
    assert (aul.fell_back, aul.rescored, aul.band, aul.estimate, aul.unseen) == (True, len(pairs()), 0.0, 0.0, 0.0)
    assert not cps.fell_back
    assert cps.rescored < len(pairs())


def test_blocks_are_certified_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certified, "BLOCK", len(pairs()) // 2)
    _, high, _, _, _ = three_ways()
    rows, made, _ = run(low_and_high(), pairs(), ("aul",))
    assert all(row.outcome == high[key].outcome for key, row in rows.items())
    assert [each.pairs for each in made] == [len(pairs())]
    assert made[0].sampled >= 2 * certified.SAMPLE
    assert made[0].estimate <= selection.STATED * selection.TARGET
    assert made[0].unseen <= selection.UNSEEN


def test_little_data_is_scored_in_fp32_alone() -> None:
    rows, made, _ = run(low_and_high(), pairs()[: 2 * certified.SAMPLE - 1], ("aul",))
    assert {row.precision for row in rows.values()} == {"fp32"}
    assert not made


def test_what_overflows_is_scored_in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = low_and_high()
    bad = {item.id for item in pairs()[100:103]}
    real = certified.score_items

    def overflowing(data, items, measures, engine, **options):
        for chunk in real(data, items, measures, engine, **options):
            options["evidence"].not_finite += engine.lm is low
            yield [
                replace(each, row=replace(each.row, scores={}, outcome="unscored", reason=NOT_FINITE))
                if engine.lm is low and each.row.item in bad
                else each
                for each in chunk
            ]

    monkeypatch.setattr(certified, "score_items", overflowing)
    monkeypatch.setattr(certified, "_overflows", lambda *_: False)
    rows, _, evidence = run((low, high), pairs(), ("aul",))
    assert {rows["aul", item].precision for item in bad} == {"fp32"}
    assert all(row.scores for row in rows.values())
    assert evidence.not_finite == 0


def test_a_precision_in_which_the_model_overflows_is_left_out() -> None:
    low, high = low_and_high()
    broken = precision._in_16_bits(high, torch.float16)
    assert broken is not None
    with torch.no_grad():
        for weight in broken.network.model.parameters():
            weight.fill_(float("inf"))
    rows, made, evidence = run((broken, low, high), pairs(), ("aul",))
    assert {row.precision for row in rows.values()} == {"bf16", "fp32"}
    assert [each.precision for each in made] == ["bf16"]
    assert evidence.not_finite == 0


def test_three_precisions_give_the_decisions_of_the_last() -> None:
    low, high = low_and_high()
    middle = precision._in_16_bits(high, torch.float16)
    assert middle is not None
    rows, made, _ = run((low, middle, high), pairs(), ("aul", "cps"))
    _, expected, _, _, _ = three_ways()
    assert all(row.outcome == expected[key].outcome for key, row in rows.items())
    assert [(each.measure, each.precision, each.next_precision) for each in made] == [
        *(("aul", "bf16", "fp16"), ("cps", "bf16", "fp16"), ("aul", "fp16", "fp32"), ("cps", "fp16", "fp32"))
    ]
    assert {row.precision for row in rows.values()} == {"bf16", "fp16", "fp32"}
    assert made[2].pairs == made[0].rescored


def test_means_carry_the_error_of_low_precision() -> None:
    one = replace(CERTIFICATE, mean_error=0.01, error_deviation=0.02)
    estimate = Estimate(1.0, 0.5, 1.5, "t", measure="aul", data="made", statistic="mean-difference", n=100)
    (wide,) = widen([estimate], [one])
    more = 0.4 * (0.01 + 3 * 0.02 / 8)
    assert (wide.low, wide.high) == pytest.approx((0.5 - more, 1.5 + more))
    assert "for fp16" in wide.method
    share = replace(estimate, statistic="bias-score")
    other = replace(estimate, measure="cps")
    assert widen([share, other], [one]) == [share, other]
    assert widen([replace(estimate, statistic="asld", low=0.0)], [one])[0].low == 0


@pytest.mark.parametrize(
    ("estimate", "unseen", "fell_back", "stated"),
    [
        (0.0093, 0.03, False, ("0.009 by an extreme", "plus 0.03 for larger, rare errors", "beyond the fit: none)")),
        (1e-12, 0.0, False, ("less than 0.001 by an extreme", "plus less than 0.001 for larger", "fit: none)")),
        (0.0, 0.0, True, ("less than 0.001 by an extreme", "beyond the fit: in aul, scored again whole)")),
    ],
)
def test_the_check_states_estimates_and_what_the_guard_found(
    estimate: float, unseen: float, stated: tuple[str, ...], *, fell_back: bool
) -> None:
    """A fit would otherwise be read as a bound, and a number below what it can tell as knowledge."""
    one = replace(CERTIFICATE, estimate=estimate, unseen=unseen, fell_back=fell_back)
    check = certificate_check([one])
    assert check.ok
    assert "extreme-value fit to 64 pairs" in check.detail
    assert "guard: 20 random pairs" in check.detail
    assert "estimated chance that any decision is not that of fp32, highest for aul: " in check.detail
    assert all(part in check.detail for part in stated)
    assert "at most" not in check.detail


def test_the_chance_of_a_measure_adds_up_over_its_precisions() -> None:
    last = replace(CERTIFICATE, precision="fp32+tf32", next_precision="fp32", estimate=0.008, unseen=0.01)
    other = replace(CERTIFICATE, measure="cps", estimate=0.012)
    check = certificate_check([CERTIFICATE, other, last])
    assert "highest for aul: 0.02 by an extreme-value fit" in check.detail
    assert "plus 0.04 for larger" in check.detail
    assert "guard: 40 random pairs" in check.detail


def test_a_measure_that_scored_no_pair_does_not_stop_the_check() -> None:
    """Data of which a measure can score nothing would end the audit with a traceback."""
    nothing = replace(CERTIFICATE, measure="cps", pairs=0, rescored=0, guard=0, estimate=0.0, unseen=0.0)
    check = certificate_check([CERTIFICATE, nothing])
    assert "(aul 60%, cps 0%)" in check.detail


def test_the_band_of_two_parts_is_that_of_the_pairs_left() -> None:
    """A part scored again whole has no band, and would otherwise hide the other's."""
    whole = replace(CERTIFICATE, rescored=100, band=0.0, fell_back=True)
    merged = CERTIFICATE.merge(whole)
    assert (merged.band, merged.fell_back, merged.rescored) == (CERTIFICATE.band, True, 160)
    assert whole.merge(whole).band == 0.0


def test_certified_decisions_need_a_model_in_fp32() -> None:
    half = open_lm(zoo.folder("bert-uncased"), Opening(dtype="bf16"))
    with pytest.raises(ModelError, match="dtype is bf16, but certified decisions are those of fp32"):
        precisions_of(half, "certified")
    assert precisions_of(half, "plain") == (half,)
    assert precisions_of(low_and_high()[1], "plain") == (low_and_high()[1],)


def test_a_processor_without_bf16_products_has_fp32_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = low_and_high()[1]
    monkeypatch.setattr(precision, "has_bf16_products", lambda: False)
    assert precisions_of(lm, "certified") == (lm,)
    monkeypatch.setattr(precision, "has_bf16_products", lambda: True)
    assert [each.facts.dtype for each in precisions_of(lm, "certified")] == ["bf16", "fp32"]


def test_plain_low_precision_fails_a_check() -> None:
    half = open_lm(zoo.folder("bert-uncased"), Opening(dtype="bf16"))
    (check,) = check_precision(half)
    assert not check.ok
    assert "about 2 in 100 pairs otherwise than fp32" in check.detail
    assert check_precision(low_and_high()[1]) == []


def test_an_audit_records_what_was_scored_again(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "ladder", lambda lm: (precision._in_16_bits(lm, torch.bfloat16), lm))
    card = Card("made", "Made", "", (), "", ("en",), "", "", len(pairs()), "")
    data = Dataset(card, pairs(), "", True)
    keep = {"data": data, "measures": ["aul"], "store": False, "offline": True}
    model = zoo.folder("bert-uncased")
    result = unmask.audit(model, out=tmp_path / "certified", precision="certified", **keep)
    plain = unmask.audit(model, out=tmp_path / "plain", precision="plain", **keep)
    assert result.items["outcome"].to_pylist() == plain.items["outcome"].to_pylist()
    assert set(result.items["precision"].to_pylist()) == {"bf16", "fp32"}
    assert set(plain.items["precision"].to_pylist()) == {"fp32"}
    (recorded,) = result.meta["details"]["precision"]
    assert recorded["rescored"] == result.items["precision"].to_pylist().count("fp32")
    assert recorded["band"] > 0
    assert 0 < recorded["estimate"] <= selection.STATED * selection.TARGET
    assert recorded["guard"] > 0
    assert result.meta["options"]["precision"] == ["bf16", "fp32"]
    assert plain.meta["details"]["precision"] == []
    (check,) = [check for check in result.checks if check.name == "precision"]
    assert check.ok
    assert "scored in bf16, and again in fp32" in check.detail
    scores = {e.statistic: e.value for e in result.estimates if e.group == "all"}
    expected = {e.statistic: e.value for e in plain.estimates if e.group == "all"}
    assert scores["bias-score"] == expected["bias-score"]


def test_scoring_again_asks_for_nothing_but_the_items_named() -> None:
    lm = low_and_high()[1]
    only = {pairs()[0].id: {"aul"}, pairs()[1].id: {"cps"}}
    chunks = score_items(
        *("made", pairs()[:2], [find("cps"), find("aul")], Engine(lm)),
        **{"evidence": Evidence(), "progress": lambda _: None, "only": only},
    )
    assert [(each.row.item, each.row.measure) for chunk in chunks for each in chunk] == [
        *((pairs()[0].id, "aul"), (pairs()[1].id, "cps"))
    ]
