"""Example pairs: wrong ones, a wrong order or wrong shading would show a reader another model."""

from __future__ import annotations

import pyarrow as pa

from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.report.pairs import PairView, decided_pairs

from . import fake


def largest(run: AuditResult, estimate: Estimate) -> list[PairView]:
    return decided_pairs(run, [estimate])[0][0]


def smallest(run: AuditResult, estimate: Estimate) -> list[PairView]:
    return decided_pairs(run, [estimate])[0][1]


def decided(measure: str) -> list[PairView]:
    made = fake.whole()
    return largest(made, next(e for e in made.headlines() if e.measure == measure))


def test_eight_pairs_in_both_directions_largest_first() -> None:
    shown = decided("cps")
    assert len(shown) == 8
    sizes = {
        lean: [abs(float(p.difference.replace("−", "-"))) for p in shown if p.lean == lean] for lean in ("more", "less")
    }
    assert all(len(some) >= 3 and some == sorted(some, reverse=True) for some in sizes.values())


def test_pairs_of_one_direction_fill_all_slots() -> None:
    items = [fake.row("cps", f"our-pairs/{i:04}", -1.0 - i, -50.0) for i in range(12)]
    made = fake.run({}, (fake.estimate("cps", 100.0),), (), pa.Table.from_pylist(items))
    shown = largest(made, made.estimates[0])
    assert [pair.item for pair in shown] == [f"our-pairs/{i:04}" for i in range(8)]
    assert "not stored" in shown[0].note
    assert shown[0].sentences[0].text == "our-pairs/0000 (text not stored)"


def test_smallest_differences_are_those_not_shown_among_the_largest() -> None:
    made = fake.whole()
    head = next(e for e in made.headlines() if e.measure == "cps")
    rows = [r for r in made.items.to_pylist() if r["measure"] == "cps" and r["outcome"] != "unscored"]
    shown = [pair.item for pair in largest(made, head)]
    wanted = [r["item"] for r in sorted(rows, key=lambda r: abs(r["difference"]))[:4] if r["item"] not in shown]
    assert len(shown) == 8
    assert [pair.item for pair in smallest(made, head)] == wanted != []


def test_a_tie_is_towards_neither() -> None:
    items = [fake.row("cps", "our-pairs/0000", -1.0, -1.0), fake.row("cps", "our-pairs/0001", -1.0, -3.0)]
    made = fake.run({}, (fake.estimate("cps", 50.0),), (), pa.Table.from_pylist(items))
    (tie,), (won,) = smallest(made, made.estimates[0]), largest(made, made.estimates[0])
    assert (tie.lean, tie.towards, tie.difference) == ("", "towards neither", "0.000")
    assert (won.lean, won.towards, won.difference) == ("more", "towards the stereotyping sentence", "+2.000")
    assert won.item == "our-pairs/0001"


def test_template_sides_are_named() -> None:
    head = fake.estimate("ppd", 0.2, statistic="appd", null=0.0)
    made = fake.run({}, (head,), (), pa.Table.from_pylist([fake.row("ppd", "t/0", 0.4, 0.1)]))
    (pair,) = largest(made, head)
    assert pair.towards == "towards the masculine word"
    assert [sentence.label for sentence in pair.sentences] == ["masculine word", "feminine word"]


def test_scores_that_are_not_sums_have_a_note() -> None:
    made = fake.whole()
    items = [row | {"difference": 9.0} for row in made.items.to_pylist() if row["measure"] == "pll"]
    other = fake.run(made.meta, made.estimates[:1], (), pa.Table.from_pylist(items), made.tokens)
    assert "not sums" in largest(other, other.estimates[0])[0].note


def test_tokens_are_shaded_signed_and_marked() -> None:
    pair = decided("pll")[0]
    assert pair.note == ""
    tokens = [one for sentence in pair.sentences for one in sentence.tokens]
    assert max(one.shade for one in tokens) == 1.0
    assert {one.lean for one in tokens} <= {"more", "less", ""}
    assert [one.text for one in tokens if one.changed] == ["she", "he"]
    assert all("with its counterpart in the other sentence" in one.title for one in tokens)


def test_a_triple_shows_its_unrelated_sentence() -> None:
    (pair,) = decided("lms")
    assert [sentence.side for sentence in pair.sentences] == ["more", "less", "unrelated"]
    assert "not stored" in pair.note
