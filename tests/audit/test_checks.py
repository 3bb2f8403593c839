"""Evidence that a model was read: counted by hand, and what the checks say at and beyond their limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from measures.hand import Hand, pair, reading, readings
from unmask.audit.checks import Evidence, check_repeats, checks
from unmask.core.errors import ModelError
from unmask.core.types import Check, Measure, Pair, Probe, Reading, Row
from unmask.measures import find
from unmask.measures.probes import all_masked_probe, each_masked_probe, next_tokens_probe, unmasked_probe

MASKED, CAUSAL = Hand(), Hand("causal")
ONE = MASKED.encode("he ran home")


def lm(of: Hand) -> Any:
    return of


def add(evidence: Evidence, answers: Mapping[Probe, Reading], of: Hand) -> None:
    evidence.add_readings(readings(answers, answers.__getitem__), lm(of))


def items(count: int) -> list[Pair]:
    return [Pair(f"made/{at}", f"m{at} ran", f"f{at} ran") for at in range(count)]


# -------------------------------------------------------------------- what is asked for evidence alone


def test_the_first_twelve_items_are_asked_what_no_measure_asks() -> None:
    found = Evidence().more_probes(items(13), [], lm(MASKED))
    masked, unhidden = found[:24], found[24:]
    assert len(unhidden) == 24
    assert all(probe.one_at_a_time for probe in masked)
    assert not any(probe.one_at_a_time or probe.masked for probe in unhidden)
    assert MASKED.describe(masked[1])[1] == "[CLS] <f0> <ran> [SEP]"
    assert MASKED.describe(unhidden[22]) == (["m11@1", "ran@2"], "[CLS] m11 ran [SEP]")


def test_nothing_is_asked_twice() -> None:
    evidence = Evidence()
    assert evidence.more_probes(items(1), [each_masked_probe(ONE, (1,)), unmasked_probe(ONE)], lm(MASKED)) == []
    assert evidence.more_probes(items(1), [], lm(MASKED)) == []
    other = Evidence()
    (first, second) = other.more_probes(items(1), [each_masked_probe(ONE, (1,))], lm(MASKED))
    assert not first.one_at_a_time
    assert not second.one_at_a_time
    assert other.more_probes(items(1), [], lm(MASKED)) == []


def test_probes_that_do_not_read_the_sentence_itself_are_no_evidence() -> None:
    other_token = Probe(ONE.ids, ((1, MASKED.id("she")),), (1,), one_at_a_time=True)
    with_mask = Probe(MASKED.ids("[CLS]", "[MASK]", "ran"), ((2, MASKED.id("ran")),))
    next_sentence = Probe(ONE.ids, ((1, ONE.ids[1]),), head="next")
    nothing = Probe(ONE.ids, ())
    useless = [all_masked_probe(ONE), other_token, with_mask, next_sentence, nothing]
    assert len(Evidence().more_probes(items(1), useless, lm(MASKED))) == 4


def test_a_causal_model_is_asked_its_next_tokens() -> None:
    found = Evidence().more_probes(items(1), [], lm(CAUSAL))
    assert [CAUSAL.describe(one) for one in found] == [
        (["m0@0", "ran@1"], "[BOS] m0 ran"),
        (["f0@0", "ran@1"], "[BOS] f0 ran"),
    ]
    sentence = CAUSAL.encode("he ran")
    assert Evidence().more_probes(items(1), [next_tokens_probe(sentence, (2,))], lm(CAUSAL)) == []
    elsewhere = Probe(sentence.ids, ((0, CAUSAL.id("she")),))
    last = Probe(sentence.ids, ((2, CAUSAL.id("ran")),))
    assert len(Evidence().more_probes(items(1), [elsewhere, last], lm(CAUSAL))) == 2


# --------------------------------------------------------------------------------- what is counted


def test_hits_are_tokens_the_model_finds_likeliest() -> None:
    evidence = Evidence()
    add(evidence, {unmasked_probe(ONE): reading(-1.0, -2.0, -3.0, ranks=(0, 1, 0))}, MASKED)
    assert (evidence.hits, evidence.reads) == ({"unmasked": 2}, {"unmasked": 3})
    add(evidence, {each_masked_probe(ONE, (1,)): reading(-1.0, ranks=(4,))}, MASKED)
    add(evidence, {unmasked_probe(MASKED.encode("she")): reading(-1.0, ranks=(0,))}, MASKED)
    assert evidence.accuracy("unmasked") == pytest.approx(3 / 4)
    assert evidence.accuracy("masked") == 0.0
    assert str(evidence.accuracy("causal")) == "nan"
    sentence = CAUSAL.encode("he ran home")
    answer = reading(-1.0, -2.0, -3.0, ranks=(0, 1, 0))
    add(evidence, {next_tokens_probe(sentence, sentence.content): answer}, CAUSAL)
    assert evidence.accuracy("causal") == pytest.approx(2 / 3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_output_that_is_not_finite_is_no_hit(value: float) -> None:
    evidence = Evidence()
    add(evidence, {unmasked_probe(ONE): reading(-1.0, value, -3.0, ranks=(0, 0, 0))}, MASKED)
    add(evidence, {unmasked_probe(MASKED.encode("she")): reading(-1.0, ranks=(3,))}, MASKED)
    assert (evidence.hits, evidence.reads) == ({"unmasked": 0}, {"unmasked": 1})
    assert (evidence.not_finite, evidence.readings) == (1, 2)
    found = run_checks(evidence)["finite-outputs"]
    assert (found.ok, found.detail) == (False, "1 of 2 readings are not finite (NaN or infinity)")
    assert run_checks(Evidence(readings=2))["finite-outputs"].ok


@pytest.mark.parametrize(
    ("bad", "complete", "refused"), [(5, True, False), (6, True, True), (9, False, False), (10, False, True)]
)
def test_a_model_is_refused_when_most_outputs_are_not_finite(bad: int, complete: bool, refused: bool) -> None:
    evidence, model = (
        Evidence(readings=10, not_finite=bad),
        SimpleNamespace(facts=SimpleNamespace(id="m", dtype="fp32")),
    )
    with pytest.raises(ModelError, match=f"{bad} of 10 readings") if refused else nullcontext():
        evidence.refuse_bad_outputs(model, complete=complete)  # type: ignore[arg-type]


def test_of_several_readings_of_a_sentence_the_fullest_counts() -> None:
    few, most = each_masked_probe(ONE, (1,)), each_masked_probe(ONE, (1, 2, 3))
    equal = each_masked_probe(ONE, (3, 2, 1))
    answers = {
        few: reading(-1.0, ranks=(0,)),
        most: reading(-1.0, -1.0, -1.0, ranks=(0, 0, 5)),
        equal: reading(-1.0, -1.0, -1.0, ranks=(5, 0, 0)),
    }
    evidence = Evidence()
    add(evidence, answers, MASKED)
    assert (evidence.hits, evidence.reads) == ({"masked": 2}, {"masked": 3})
    evidence = Evidence()
    add(evidence, {unmasked_probe(ONE): answers[most], most: answers[most]}, MASKED)
    assert evidence.reads == {"masked": 3, "unmasked": 3}
    evidence = Evidence()
    add(evidence, {all_masked_probe(ONE): answers[most]}, MASKED)
    assert evidence.reads == {}


def test_what_the_tokenizer_made_of_the_items() -> None:
    evidence = Evidence()
    short = Hand(longest=6)
    some = [
        Pair("a", "he [UNK] home", "she [UNK] [UNK]"),
        Pair("b", "he ran", "she ran off"),
        Pair("c", "he ran on and on", "she ran"),
        Pair("d", "", "she"),
    ]
    evidence.add_items(some, lm(short))
    assert (evidence.pairs, evidence.tokens, evidence.unknown) == (4, 6 + 5 + 2 + 1, 3)
    assert evidence.unequal == {"b"}
    assert evidence.too_long == 2
    assert evidence.ambiguous == []


def test_an_unknown_token_that_is_the_begin_token_says_nothing() -> None:
    """As of GPT-2, whose tokenizer knows every byte."""
    causal = Hand("causal")
    causal.unknown_id = causal.begin  # type: ignore[assignment]
    evidence = Evidence()
    evidence.add_items([pair("he ran", "she ran")], lm(causal))
    assert evidence.unknown == 0


def test_pairs_whose_alignment_depends_on_the_order_are_kept() -> None:
    from unmask.measures.spans import order_matters

    evidence = Evidence()
    texts = ["a b", "b a", "a a b", "a b b", "b a b", "b b a"]
    some = [Pair(f"{x}/{y}", x, y) for x in texts for y in texts]
    evidence.add_items(some, lm(MASKED))
    expected = [one.id for one in some if order_matters(MASKED.encode(one.more), MASKED.encode(one.less))]
    assert evidence.ambiguous == expected
    assert 0 < len(expected) < len(some)


def test_nothing_is_counted_before_it_is_seen() -> None:
    new = Evidence()
    assert (new.tokens, new.unknown, new.pairs, new.too_long) == (0, 0, 0, 0)
    assert (new.hits, new.reads, new.asked, new.ambiguous, new.unequal) == ({}, {}, set(), [], set())


# -------------------------------------------------------------------------------------- the checks

PLAIN = replace(find("pll"), name="plain", in_nats=False)


def row(item: int | str, difference: float | None, measure: str = "plain") -> Row:
    if difference is None:
        return Row(measure, "made", str(item), {}, {}, "unscored", "no reason")
    outcome = "more" if difference > 0 else "less" if difference < 0 else "tie"
    return Row(measure, "made", str(item), {}, {"more": difference, "less": 0.0}, outcome)  # type: ignore[arg-type]


def run_checks(
    evidence: Evidence | None = None,
    differences: tuple[float | None, ...] = (1.0, -1.0),
    measure: Measure = PLAIN,
    of: Hand = MASKED,
) -> dict[str, Check]:
    rows = {measure.name: [row(at, one, measure.name) for at, one in enumerate(differences)]}
    found = checks(evidence or Evidence(), [measure], rows, lm(of))
    return {one.name: one for one in found}


def test_every_check_has_its_name() -> None:
    names = ["ties", "unscored", "truncated", "alignment", "length", "near-zero", "unknown-tokens"]
    first = ["lm-head", "finite-outputs"]
    evidence = Evidence(near=Counter(plain=1), sized=Counter(plain=2))
    assert list(run_checks(evidence)) == [*first, "masked-accuracy", "unmasked-accuracy", *names]
    assert list(run_checks(evidence, of=CAUSAL)) == [*first, "next-token-accuracy", *names]
    assert run_checks()["lm-head"].ok
    assert "HandForMaskedLM" in run_checks()["lm-head"].detail


@pytest.mark.parametrize(
    ("how", "name", "hits", "of"),
    [
        ("masked", "masked-accuracy", 10, MASKED),
        ("unmasked", "unmasked-accuracy", 25, MASKED),
        ("causal", "next-token-accuracy", 5, CAUSAL),
    ],
)
def test_a_model_that_guesses_too_little_is_warned_of(how: Any, name: str, hits: int, of: Hand) -> None:
    enough = run_checks(Evidence(hits={how: hits}, reads={how: 100}), of=of)[name]
    fewer = run_checks(Evidence(hits={how: hits - 1}, reads={how: 100}), of=of)[name]
    none = run_checks(Evidence(), of=of)[name]
    assert (enough.ok, fewer.ok, none.ok) == (True, False, False)
    assert enough.detail.startswith(f"{hits}.0% of 100 tokens are the model's first guess")
    assert f"; below {hits}% " in fewer.detail
    assert f"; below {hits}% " not in enough.detail
    assert "of 0 tokens" in none.detail


def test_what_the_accuracy_on_visible_words_can_say_stands_beside_it() -> None:
    """Training that destroys how a model reads visible words would show nowhere: the share alone stays high."""
    evidence = Evidence()
    add(evidence, {unmasked_probe(ONE): reading(-1.0, -2.0, -3.0, ranks=(0, 1, 0))}, MASKED)
    add(evidence, {unmasked_probe(MASKED.encode("she")): reading(-0.5, ranks=(0,))}, MASKED)
    assert evidence.mean_logprob("unmasked") == pytest.approx(-6.5 / 4)
    found = run_checks(evidence)
    assert (
        "guess, mean log-probability −1.62; copying the input is enough for that" in found["unmasked-accuracy"].detail
    )
    assert "log-probability" not in found["masked-accuracy"].detail


@pytest.mark.parametrize(("name", "value"), [("ties", 0.0), ("unscored", None)])
def test_one_in_twenty_may_be_tied_or_unscored(name: str, value: float | None) -> None:
    good, bad = run_checks(None, (value, *[1.0] * 19))[name], run_checks(None, (value, value, *[1.0] * 18))[name]
    assert (good.ok, bad.ok) == (True, False)
    assert good.detail.endswith(": plain 1")
    assert run_checks(None, (1.0,) * 20)[name].detail.endswith(": none")
    assert run_checks(None, ())[name].ok


def test_the_worst_measure_counts() -> None:
    rows = {"plain": [row(at, 1.0) for at in range(4)], "other": [row(at, 0.0, "other") for at in range(4)]}
    other = replace(PLAIN, name="other")
    found = {one.name: one for one in checks(Evidence(), [PLAIN, other], rows, lm(MASKED))}
    assert not found["ties"].ok
    assert found["ties"].detail == "pairs that are ties: other 4"


def test_one_in_twenty_may_be_too_long() -> None:
    good, bad = (run_checks(Evidence(pairs=20, too_long=count))["truncated"] for count in (1, 2))
    assert (good.ok, bad.ok) == (True, False)
    assert good.detail.startswith("1 items are too long")


def test_one_in_a_hundred_may_be_ambiguous() -> None:
    ok = [
        run_checks(Evidence(pairs=pairs, ambiguous=[f"i{at}" for at in range(count)]))["alignment"].ok
        for pairs, count in ((100, 1), (100, 2), (99, 1), (0, 0))
    ]
    assert ok == [True, False, False, True]
    details = [
        run_checks(Evidence(pairs=100, ambiguous=[f"i{at}" for at in range(count)]))["alignment"].detail
        for count in (0, 3, 4)
    ]
    assert details[0].startswith("0 pairs")
    assert details[0].endswith("exchanged")
    assert details[1].endswith(" (i0, i1, i2)")
    assert details[2].endswith(" (i0, i1, i2 …)")


def test_the_score_without_pairs_of_unequal_length() -> None:
    """Eleven of 20 won, 55%; without one lost and one won pair 10 of 18, without a lost one 11 of 19."""
    differences = (1.0,) * 11 + (-1.0,) * 9
    both = run_checks(Evidence(pairs=20, unequal={"0", "19"}), differences)["length"]
    assert both.ok
    assert both.detail == (
        f"10% of pairs differ in length; without them the scores move by plain {100 * 10 / 18 - 55:+.1f}"
    )


@pytest.mark.parametrize(("won", "ok"), [(9, True), (8, False)])
def test_the_score_may_move_by_five_points(won: int, ok: bool) -> None:
    """Of the ten pairs of equal length five are won; of all twenty `won`."""
    differences = (1.0,) * 5 + (-1.0,) * 5 + (1.0,) * (won - 5) + (-1.0,) * (15 - won)
    evidence = Evidence(pairs=20, unequal={str(at) for at in range(10, 20)})
    assert run_checks(evidence, differences)["length"].ok == ok


def test_length_is_left_out_where_nothing_can_be_compared() -> None:
    all_unequal = Evidence(pairs=2, unequal={"0", "1"})
    assert "length" not in run_checks(all_unequal)
    assert "length" not in run_checks(Evidence(pairs=2), (None, None))
    assert "length" not in run_checks(Evidence(pairs=2), measure=find("sld"))
    assert "length" in run_checks(Evidence(pairs=2), (1.0, None))


def test_differences_near_zero_are_described_and_fail_nothing() -> None:
    """Most differences of every published model are near zero: a check that fails says nothing of a model."""

    def near(*differences: float, measure: str = "pll") -> Check | None:
        evidence = Evidence()
        for value in differences:
            evidence.add_difference(find(measure), 100.0, value)
        return run_checks(evidence).get("near-zero")

    few, most = near(0.25, -0.25, 0.26, -1.0), near(0.25, -0.25, 0.1, -1.0, math.nan)
    assert few is not None
    assert most is not None
    assert (few.ok, most.ok, most.measures) == (True, True, ())
    assert few.detail == "differences per token inside ±0.25: pll 50%"
    assert most.detail.endswith("pll 75%")
    assert near() is None
    assert near(math.nan) is None


def test_differences_of_means_are_described_too() -> None:
    """The measures with the smallest differences, which are means, would be left out."""
    evidence = Evidence()
    for name in ("aul", "aula", "all-masked", "sss"):
        for difference in (0.02, -0.3, math.nan):
            evidence.add_difference(find(name), difference, math.nan)
    evidence.add_difference(find("ppd"), 0.01, math.nan)
    assert run_checks(evidence)["near-zero"].detail.endswith(": aul 50%, aula 50%, all-masked 50%, sss 50%")


def test_one_pair_in_a_hundred_may_be_there_again() -> None:
    """A file that holds few pairs many times would pass every check."""
    different = items(99)
    again = replace(different[0], id="again")
    swapped = replace(different[0], id="swapped", more=different[0].less, less=different[0].more)
    one, two = check_repeats([*different, again]), check_repeats([*different, again, swapped])
    assert (one.ok, one.detail) == (True, "1 of 100 pairs (1.0%) have the sentences of an earlier one")
    assert not two.ok
    assert two.detail == "2 of 101 pairs (2.0%) have the sentences of an earlier one, 1 of them exchanged"
    assert check_repeats([]).ok


def test_one_token_in_a_hundred_may_be_unknown() -> None:
    good, bad = (run_checks(Evidence(tokens=1000, unknown=count))["unknown-tokens"] for count in (10, 11))
    assert (good.ok, bad.ok) == (True, False)
    assert good.detail == "1.00% of 1,000 tokens are unknown to the tokenizer"
    assert run_checks(Evidence())["unknown-tokens"].ok
    assert run_checks(Evidence(tokens=1, unknown=1))["unknown-tokens"].detail.startswith("100.00% of 1 ")


def test_the_facade_of_a_model_is_all_that_is_needed() -> None:
    """The architecture's name comes from the model's facts."""
    other = Hand()
    other.facts = SimpleNamespace(architecture="OtherForMaskedLM", kind="masked")
    assert "OtherForMaskedLM" in run_checks(of=other)["lm-head"].detail
