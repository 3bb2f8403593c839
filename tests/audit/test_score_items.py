"""From items to rows: chunks, outcomes, reasons; the model is made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from measures.hand import Hand, RecordingEngine, pair, reading
from unmask.audit.checks import Evidence
from unmask.audit.scoring import ScoredItem, score_items
from unmask.core.errors import Unscorable
from unmask.core.estimate import Estimate
from unmask.core.types import Measure, Pair, Probe, Probes, Reader, Row
from unmask.measures import find
from unmask.measures.probes import sum_score, unmasked_probe


def probes(item: Pair, lm: Reader) -> Probes:
    return {"more": (unmasked_probe(lm.encode(item.more)),), "less": (unmasked_probe(lm.encode(item.less)),)}


PLAIN = replace(find("pll"), name="plain", probes=probes, score=sum_score, decimals=None)


def items(count: int) -> list[Pair]:
    return [Pair(f"made/{at:04}", f"m{at}", f"f{at}") for at in range(count)]


def rule(values: dict[str, float], lm: Hand) -> Any:
    """Answers every probe by the first token of its content."""
    return lambda probe: reading(*([values.get(lm.tokens(probe.ids)[1], -1.0)] * len(probe.reads)))


def run(
    some: list[Pair], measures: list[Measure], engine: RecordingEngine
) -> tuple[list[list[ScoredItem]], list[float], Evidence]:
    evidence, told = Evidence(), []
    found = list(score_items("made", some, measures, engine, evidence=evidence, progress=told.append))  # type: ignore[arg-type]
    return found, told, evidence


def rows(some: list[Pair], measure: Measure, values: dict[str, float], lm: Hand | None = None) -> list[Row]:
    lm = lm or Hand()
    found, _, _ = run(some, [measure], RecordingEngine(lm, rule(values, lm)))
    return [one.row for chunk in found for one in chunk]


# ------------------------------------------------------------------------------------------ chunks


def test_few_items_first_then_four_times_as_many_up_to_the_limit_and_fewer_at_the_end() -> None:
    for limit, sizes in (
        (1000, [64, 256, 510, 170]),
        (200, [64, 200, 200, 200, 200, 136]),
        (128, [64, *[128] * 7, 40]),
    ):
        lm = Hand()
        found, _, _ = run(items(1000), [PLAIN], RecordingEngine(lm, rule({}, lm), items=limit))
        assert [len(texts) // 2 for texts in lm.primed] == sizes
        assert [len(chunk) for chunk in found] == sizes
    assert [one.item.id for chunk in found for one in chunk] == [one.id for one in items(1000)]


def test_a_third_chunk_is_larger_again() -> None:
    lm = Hand()
    run(items(2000), [PLAIN], RecordingEngine(lm, rule({}, lm), items=5000))
    assert [len(texts) // 2 for texts in lm.primed] == [64, 256, 1024, 492, 164]


def test_progress_is_that_of_the_whole() -> None:
    lm = Hand()
    _, told, _ = run(items(256), [PLAIN], RecordingEngine(lm, rule({}, lm), items=96))
    assert told == pytest.approx([0.125, 0.25, 0.4375, 0.625, 0.8125, 1.0])


def test_the_next_items_are_asked_before_the_last_are_scored() -> None:
    lm = Hand()
    engine = RecordingEngine(lm, rule({}, lm), items=64)
    steps = score_items("made", items(128), [PLAIN], engine, evidence=Evidence(), progress=lambda _: None)  # type: ignore[arg-type]
    assert len(next(steps)) == 64
    assert len(engine.asked) == 2
    assert len(next(steps)) == 64
    assert next(steps, None) is None


def test_items_of_one_length_are_asked_together_the_longest_first_and_come_back_in_order() -> None:
    lm = Hand()
    some = [Pair(f"made/{at:04}", f"m{at}" + " x" * (at * 7 % 10), f"f{at}") for at in range(300)]
    engine = RecordingEngine(lm, rule({}, lm), items=100, by_length=300)
    found, _, evidence = run(some, [PLAIN], engine)
    assert [each.item.id for chunk in found for each in chunk] == [item.id for item in some]
    lengths = [max(len(probe.ids) for probe in probes) for probes in engine.asked]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]
    plain, _, other = run(some, [PLAIN], RecordingEngine(lm, rule({}, lm)))
    assert [each.row for chunk in plain for each in chunk] == [each.row for chunk in found for each in chunk]
    assert (evidence.reads, evidence.hits, evidence.tokens) == (other.reads, other.hits, other.tokens)


def test_an_item_without_a_measure_keeps_no_other_back() -> None:
    lm, some = Hand(), items(5)
    only = {item.id: {"plain"} if at != 1 else set() for at, item in enumerate(some)}
    engine = RecordingEngine(lm, rule({}, lm), by_length=5)
    found = score_items("made", some, [PLAIN], engine, evidence=Evidence(), progress=lambda _: None, only=only)  # type: ignore[arg-type]
    assert [each.item.id for chunk in found for each in chunk] == [some[at].id for at in (0, 2, 3, 4)]


def test_no_items_give_nothing() -> None:
    assert run([], [PLAIN], RecordingEngine(Hand(), rule({}, Hand())))[0] == []


def test_all_measures_are_asked_together_item_by_item() -> None:
    lm = Hand()
    other = replace(PLAIN, name="other")
    found, _, evidence = run(items(2), [PLAIN, other], RecordingEngine(lm, rule({}, lm)))
    assert [(one.row.item, one.row.measure) for one in found[0]] == [
        ("made/0000", "plain"),
        ("made/0000", "other"),
        ("made/0001", "plain"),
        ("made/0001", "other"),
    ]
    assert evidence.pairs == 2  # an item is counted once, whatever measures it is scored by
    assert (evidence.reads["unmasked"], evidence.reads["masked"]) == (4, 4)


# ---------------------------------------------------------------------------------------- outcomes


@pytest.mark.parametrize(("more", "less", "outcome"), [(-1.0, -2.0, "more"), (-2.0, -1.0, "less"), (-1.0, -1.0, "tie")])
def test_the_higher_score_wins(more: float, less: float, outcome: str) -> None:
    (row,) = rows([pair("he", "she", category="x")], PLAIN, {"he": more, "she": less})
    assert row == Row(
        "plain",
        "made",
        "made/0",
        {"category": "x"},
        {"more": more, "less": less},
        outcome,  # type: ignore[arg-type]
        precision="fp32",
    )
    assert row.difference == more - less


@pytest.mark.parametrize(("decimals", "outcome"), [(None, "more"), (4, "more"), (3, "tie")])
def test_scores_are_compared_after_rounding_but_kept_as_they_are(decimals: int | None, outcome: str) -> None:
    measure = replace(PLAIN, decimals=decimals)
    (row,) = rows([pair("he", "she")], measure, {"he": -1.0001, "she": -1.0004})
    assert row.outcome == outcome
    assert row.scores == {"more": -1.0001, "less": -1.0004}
    (back,) = rows([pair("he", "she")], measure, {"he": -1.0004, "she": -1.0001})
    assert back.outcome == {"more": "less"}.get(outcome, "tie")


def test_what_an_item_lacks_is_named() -> None:
    needy = replace(PLAIN, needs=("unrelated", "context", "target", "slot"))
    some = [
        pair("he", "she", slot="subject"),
        pair("he", "she", "it", "he BLANK", target="t", slot="subject"),
        pair("he", "she", "it", target="t"),
    ]
    found = rows(some, needy, {})
    assert [row.reason for row in found] == [
        "the item has no unrelated, context, target",
        "",
        "the item has no context, slot",
    ]
    assert [row.outcome for row in found] == ["unscored", "tie", "unscored"]
    assert found[0].scores == {}
    assert found[0].groups == {"slot": "subject"}


def test_a_reason_of_the_measure_is_kept_and_ends_nothing() -> None:
    def refusing(item: Pair, lm: Reader) -> Probes:
        if item.more == "he":
            raise Unscorable("nothing shared: really")
        return probes(item, lm)

    found = rows([pair("he", "she"), pair("a", "b")], replace(PLAIN, probes=refusing), {"a": -0.5})
    assert [(row.outcome, row.reason) for row in found] == [("unscored", "nothing shared: really"), ("more", "")]


def test_a_score_is_made_of_its_own_sides_readings() -> None:
    lm = Hand()
    found, _, _ = run([pair("he", "she")], [PLAIN], RecordingEngine(lm, rule({"he": -3.0, "she": -5.0}, lm)))
    (one,) = found[0]
    assert {side: sentence.value for side, sentence in one.sentences.items()} == {"more": -3.0, "less": -5.0}
    assert one.item.more == "he"


# ----------------------------------------------------------------------------------------- records


def test_sides_of_a_pair_and_of_a_triple() -> None:
    assert pair("he", "she").sides() == {"more": "he", "less": "she"}
    assert pair("he", "she", "it").sides() == {"more": "he", "less": "she", "unrelated": "it"}


def test_a_probe_asks_nothing_beyond_what_it_says() -> None:
    plain = Probe((1, 2), ((0, 1),))
    assert (plain.masked, plain.one_at_a_time, plain.attention, plain.split, plain.head) == ((), False, False, 0, "lm")


def test_a_row_without_scores_has_no_difference() -> None:
    assert Row("m", "d", "i", {}, {}, "unscored").difference != 0
    assert Row("m", "d", "i", {}, {}, "unscored").reason == ""
    assert str(Row("m", "d", "i", {}, {}, "unscored").difference) == "nan"


def test_an_estimate_is_signed_by_its_null() -> None:
    one = Estimate(58.0, 50.0, 66.0, "wilson", "m", "d", "all", "bias-score", 50.0, 10)
    assert one.signed == 8.0
    assert replace(one, null=None).signed is None
    assert (one.p, one.p_holm) == (None, None)
