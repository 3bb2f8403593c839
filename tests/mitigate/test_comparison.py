"""Before and after a mitigation: a wrong difference or interval would call noise an improvement, or hide harm."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tools.mitigations import read_scores, scores_json

import zoo
from unmask import data
from unmask.core.errors import DataError
from unmask.core.statistic import APPD, Place
from unmask.core.types import Kind, Row
from unmask.data.builtin_tables import MAJORITY, with_usual_gender
from unmask.findings.sentences import verdict
from unmask.measures import find
from unmask.mitigate import evaluation
from unmask.mitigate.comparison import agreement, compare_evaluations, has_moved
from unmask.mitigate.evaluation import (
    BALANCED_APPD,
    MEN,
    PAIR_MEASURES,
    TEMPLATES,
    WOMEN,
    BiasEvaluation,
    bias_estimates,
    compare_headlines,
    evaluated_data,
    score_rows,
    templates,
)
from unmask.models.engine import Engine
from unmask.models.loading import open_lm
from unmask.stats.paired import Comparison, comparisons
from unmask.training.utility import Ability


def row(
    word: str, template: int, masculine: float, feminine: float, name: str = TEMPLATES, category: str = "medical"
) -> Row:
    groups = {"word": word, "category": category, "template": f"t{template}", "slot": "subject"}
    scores = {"more": masculine, "less": feminine}
    outcome = "more" if masculine > feminine else "less"
    return Row("ppd", name, f"{name}/{word}-{template}", groups, scores, outcome)  # type: ignore[arg-type]


def small_evaluation(shift: float, *, scored: bool = True) -> BiasEvaluation:
    rows = {
        ("ppd", TEMPLATES): [
            row(word, t, 0.5 + lean * shift, 0.5 - lean * shift)
            for word, lean in (("nurse", -0.2), ("plumber", 0.3), ("clerk", 0.1))
            for t in range(4)
        ],
        ("ppd", WOMEN): [
            row(word, t, 0.1, 0.1 + 0.4 * shift, WOMEN, "gender-word")
            for word in ("pregnant", "uterus")
            for t in range(4)
        ],
        ("ppd", MEN): [
            row(word, t, 0.1 + 0.4 * shift, 0.1, MEN, "gender-word") for word in ("beard", "prostate") for t in range(4)
        ],
    }
    held = np.array([3.0, 4.0, 5.0, 4.0])
    return BiasEvaluation(
        rows, Ability(np.array([1.0, 2.0, 0.0, 1.0]) * shift, np.array([2.0, 2.0, 2.0, 2.0]), held / shift, held)
    )


def test_the_comparison_matches_hand_computed_values() -> None:
    finding = compare_evaluations(small_evaluation(1.0), small_evaluation(0.5))
    bias, proper, cost = finding.tables
    assert bias.rows[0][:4] == ("ppd", "appd", TEMPLATES, 12)
    assert bias.rows[0][4:6] == pytest.approx((0.4 / 3, 0.2 / 3))
    assert bias.rows[1][1] == "mean-word-appd"
    pregnant = next(one for one in proper.rows if one[1] == "the word pregnant")
    assert pregnant[2:5] == pytest.approx((4, -0.4, -0.2))
    assert cost.rows[0][:3] == ("accuracy, %", 4, 8)
    assert cost.rows[0][3].value == 50.0  # type: ignore[union-attr]
    assert cost.rows[0][5].value == -25.0  # type: ignore[union-attr]
    assert cost.rows[1][3].value == pytest.approx(np.e)  # type: ignore[union-attr]


def test_what_it_cost_has_the_log_probability_of_visible_words() -> None:
    """Training that harms how words are read would move `aul`, and nothing would say so beside it."""
    scores = {
        "nine-axes": [((-0.1, -0.3), (-1.0, -1.4)), ((-0.2, -0.2), None)],
        "triple-gender": [((-0.6, 0), (-2, 0))],
    }
    evaluations = []
    for when in (0, 1):
        rows = {
            ("aul", name): [visible_row(name, item, pair[when]) for item, pair in enumerate(pairs)]
            for name, pairs in scores.items()
        }
        seen = small_evaluation(1.0)
        evaluations.append(BiasEvaluation({**seen.rows, **rows}, seen.ability))
    cost = next(table for table in compare_evaluations(*evaluations, plots=False).tables if "cost" in table.title)
    assert cost.rows[2][:3] == ("visible words: mean log-probability", 4, None)
    assert cost.rows[2][3:] == pytest.approx((-0.25, -1.1, -0.85))  # −1.0 / 4 and −4.4 / 4, without the unscored pair
    assert "not one of bias alone" in cost.note


def visible_row(name: str, item: int, scores: tuple[float, float] | None) -> Row:
    values = {} if scores is None else dict(zip(("more", "less"), scores, strict=True))
    outcome = "unscored" if scores is None else "tie"
    return Row("aul", name, f"{name}/{item}", {"category": "age"}, values, outcome)  # type: ignore[arg-type]


def many_words(professions: float, women: float, *, seed: int = 0, words: int = 40) -> BiasEvaluation:
    """Professions and words said of women with these APPDs, and noise from word to word."""
    seen, noise = small_evaluation(1.0), np.random.default_rng(seed)
    rows = {
        (name, category): [
            row(f"w{word}", t, 0.5 + value, 0.5 - value, name, category)
            for word, value in enumerate(lean / 2 + noise.normal(0.0, 0.05, words))
            for t in range(5)
        ]
        for name, category, lean in ((TEMPLATES, "medical", professions), (WOMEN, "gender-word", women))
    }
    return BiasEvaluation({**seen.rows, **{("ppd", name): each for (name, _), each in rows.items()}}, seen.ability)


@pytest.mark.parametrize(
    ("values", "sides", "moved"),
    [
        (((0.3, -0.3), (-0.3, -0.2)), ("above", "below"), ("below", "below")),
        (((-0.3, -0.3), (0.002, 0.1)), ("below", "within"), ("below", "above")),
        (((-0.3, -0.3), (0.002, 0.01)), ("below", "within"), ("below", "within")),
        (((0.002, 0.002), (0.002, 0.002)), ("within", "within"), ("within", "within")),
        (((0.002, -0.02), (0.002, -0.004)), ("within", "within"), ("within", "within")),
    ],
)
def test_who_is_expected_is_said_only_beyond_chance(
    values: tuple[tuple[float, float], ...], sides: tuple[Place, Place], moved: tuple[Place, Place]
) -> None:
    """`mitigate` would call noise a preference for men, or the loss of a right lean that was never there."""
    runs = [many_words(*each, seed=seed) for seed, each in enumerate(values)]
    changes = {(row.data, row.group): row for row in compare_headlines(*runs) if row.statistic == "appd"}
    answers = compare_evaluations(*runs, plots=False).answers
    shown = [
        next(answer for answer in answers if answer.startswith(name)) for name in ("Professions:", "Words said of")
    ]
    keys = [(TEMPLATES, "all"), (WOMEN, "category=gender-word")]
    for key, expected, answer in zip(keys, (sides, moved), shown, strict=True):
        assert tuple(verdict(run.estimate(changes[key])) for run in runs) == expected
        readings = (APPD.reading(place, short=True).format(first="men", second="women") for place in expected)
        assert "{} before, {} after; ".format(*readings) in answer
        assert ("no change found" in answer) == (not has_moved(changes[key]))


def test_few_items_have_no_verdict() -> None:
    """Twenty-five made-up items would be said to show whom a model expects."""
    before, after = (many_words(0.4, -0.4, seed=seed, words=5) for seed in (0, 1))
    answers = compare_evaluations(before, after, plots=False).answers
    assert answers[0].count("too few items") == 2


def test_evaluations_round_trip_through_json() -> None:
    seen = small_evaluation(1.0)
    again = read_scores(json.loads(json.dumps(scores_json(seen))))
    assert again.rows == {key: list(rows) for key, rows in seen.rows.items()}
    assert again.ability.lost.tolist() == seen.ability.lost.tolist()


def test_templates_are_split_by_expected_gender() -> None:
    zero, women, men = templates()
    assert [len(one.items) for one in (zero, women, men)] == [2312, 320, 320]
    assert all("goal" not in item.groups for one in (zero, women, men) for item in one.items)
    assert {item.groups["word"] for item in women.items} >= {"pregnant", "actress"}


def test_estimates_of_an_evaluation_are_those_that_the_comparison_shows() -> None:
    """Otherwise `unmask compare` of two mitigations would show other numbers than the mitigation itself."""
    after = small_evaluation(0.5)
    by_key = {(one.measure, one.data, one.group, one.statistic): one for one in bias_estimates(after)}
    bias, proper, cost = compare_evaluations(small_evaluation(1.0), after, plots=False).tables
    assert by_key["ppd", TEMPLATES, "all", "appd"].value == pytest.approx(bias.rows[0][5])
    assert by_key["ppd", TEMPLATES, "all", "mean-word-appd"].value == pytest.approx(bias.rows[1][5])
    shown = next(row for row in proper.rows if row[:2] == (WOMEN, "gender-word"))
    assert by_key["ppd", WOMEN, "category=gender-word", "appd"].value == pytest.approx(shown[4])
    for row, statistic in zip(cost.rows, ("accuracy", "perplexity"), strict=True):
        estimate = by_key["language-modelling", "held-out text", "all", statistic]
        assert (estimate.value, estimate.low, estimate.n) == (row[4].value, row[4].low, row[1])  # type: ignore[union-attr]
    assert by_key["ppd", TEMPLATES, "all", "appd"].null == 0.0
    assert by_key["ppd", WOMEN, "all", "appd"].null is None  # a gate must not reward the loss of a right lean


def typed_rows(wins: dict[str, int], n: int = 40, data: str = "nine-axes", measure: str = "aul") -> list[Row]:
    """Pairs of bias types, in the first `wins` of each of which the stereotyping sentence is preferred."""
    return [
        Row(measure, data, f"{data}/{kind}-{i}", {"category": kind}, {"more": 1.0, "less": 1.5 - (i < won)}, outcome)
        for kind, won in wins.items()
        for i in range(n)
        for outcome in (["more" if i < won else "less"])
    ]


def with_types(shift: float, measures: tuple[str, ...] = ("aul",), **wins: int) -> BiasEvaluation:
    seen, rows = small_evaluation(shift), {}
    for measure in measures:
        rows[measure, "triple-gender"] = typed_rows({"occupation": 24}, data="triple-gender", measure=measure)
        rows[measure, "nine-axes"] = typed_rows(wins, measure=measure)
    return BiasEvaluation({**seen.rows, **rows}, seen.ability)


def test_spill_over_shows_every_bias_type_by_both_kinds_of_measures() -> None:
    """A side effect that one kind of measure sees would stay unseen, or a chance find of many tests be called one."""
    before = with_types(1.0, ("sss", "aul"), gender=30, age=20, religion=22)
    after = with_types(0.5, ("sss",), gender=22, age=36, religion=23)
    unchanged = {key: rows for key, rows in before.rows.items() if key[0] == "aul"}
    finding = compare_evaluations(before, BiasEvaluation({**after.rows, **unchanged}, after.ability), plots=False)
    scores, differences = (table for table in finding.tables if table.title.startswith("Spill-over"))
    rows = {(row[0], row[2]): row for row in scores.rows}
    types = ["gender", "occupation", "age", "religion"]  # what was treated comes first
    assert [*rows] == [(kind, measure) for kind in types for measure in ("sss", "aul")]
    assert [row[1] for row in scores.rows] == ["yes"] * 4 + ["no"] * 4
    assert rows["age", "sss"][4:7] == (40, 50.0, 90.0)
    assert rows["age", "sss"][7].value == 40.0  # type: ignore[union-attr]
    tests = sum(row[8] is not None for table in (scores, differences) for row in table.rows)
    assert f"one family, the {tests} tests" in scores.note == differences.note
    # exact McNemar of 16 pairs that all changed one way, 2 / 2**16; two mean differences have smaller p-values
    assert rows["age", "sss"][8] == pytest.approx((tests - 1) * 2 / 2**16)
    assert rows["religion", "sss"][8] == 1.0
    said = next(answer for answer in finding.answers if answer.startswith("Spill-over"))
    assert said.startswith("Spill-over: 1 of the 2 bias types that were not treated")
    assert ("1 of them away from no preference" in said, "age, sss bias-score 50.0 to 90.0" in said) == (True, True)
    assert "religion" not in said


def test_without_a_change_spill_over_says_what_could_go_unseen() -> None:
    """No change beyond chance would be read as no change, however few the pairs are."""
    before = with_types(1.0, ("sss", "aul"), gender=30, age=20, race=22)
    after = with_types(1.0, ("sss", "aul"), gender=31, age=21, race=21)
    finding = compare_evaluations(before, after, plots=False, axis="race")
    assert any("0 of the 4 bias types that were not treated" in answer for answer in finding.answers)
    (unseen,) = [answer for answer in finding.answers if answer.startswith("Smaller changes can go unseen")]
    for part in ("points of sss bias-score", "nats of sss mean-difference", "points of aul bias-score"):
        assert part in unseen


def test_measures_of_pairs_that_disagree_are_said_to() -> None:
    """One measure that follows nothing would decide alone whether a mitigation worked."""
    before = with_types(1.0, ("sss", "aul"), gender=36, age=36, religion=36)
    after = with_types(1.0, ("sss", "aul"), gender=20, age=20, religion=20)
    same, fell = _of_pairs(before, after)
    assert same.startswith("Pairs of triple-gender, sss and aul agree: sss bias-score 60.0 to 60.0: no change found")
    assert fell.startswith("Pairs of nine-axes, sss and aul agree: sss bias-score 90.0 to 50.0: fell by 40.0 points")
    assert "towards stereotypes before, no preference found after" in fell
    half = BiasEvaluation({**after.rows, ("aul", "nine-axes"): before.rows["aul", "nine-axes"]}, after.ability)
    assert _of_pairs(before, half)[1].startswith("Pairs of nine-axes, the measures disagree: sss bias-score 90.0 to")
    one = [with_types(1.0, gender=wins, age=wins) for wins in (36, 4)]
    assert _of_pairs(*one)[1].startswith("Pairs of nine-axes, only aul was used and nothing confirms it: ")
    assert "towards stereotypes before, against stereotypes after" in _of_pairs(*one)[1]


Preferences = dict[str, tuple[int, float, float]]


def judged(before: Preferences, after: Preferences) -> tuple[str, set[tuple[str, str]]]:
    """What is said of 100 pairs, of which each measure prefers so many, by this much, and the others by that much.

    With the statistics that moved.
    """
    runs = []
    for by_measure in (before, after):
        rows, other = {}, small_evaluation(1.0)
        for measure, (won, by, lost_by) in by_measure.items():
            preferred = typed_rows({"age": won}, 100, measure=measure)
            rows[measure, "nine-axes"] = [
                replace(row, scores={"more": by if row.outcome == "more" else -lost_by, "less": 0.0})
                for row in preferred
            ]
        runs.append(BiasEvaluation({**other.rows, **rows}, other.ability))
    changes = [row for row in compare_headlines(*runs) if row.data == "nine-axes"]
    return agreement(changes), {(row.measure, row.statistic) for row in changes if has_moved(row)}


STRONGER, WEAKER = (60, 1.0, 0.5), (60, 0.6, 0.5)  # mean differences 0.4 and 0.16
DIFFERENCES = {("sss", "mean-difference"), ("aul", "mean-difference")}


def test_measures_agree_if_each_has_a_statistic_that_changed_the_same_way() -> None:
    """Where both mean differences rise and no pair changes sides, "the measures disagree" was printed."""
    rise = judged({"sss": WEAKER, "aul": WEAKER}, {"sss": STRONGER, "aul": STRONGER})
    assert rise == ("sss and aul agree", DIFFERENCES)
    before = {"sss": (90, 0.5, 0.5), "aul": (90, 0.5, 0.5)}
    assert judged(before, {"sss": (10, 0.5, 0.5), "aul": (70, 0.5, 0.5)})[0] == "sss and aul agree"
    turned = {"sss": (90, 0.5, 0.5), "aul": (10, 0.5, 0.5)}
    assert judged(turned, {"sss": turned["aul"], "aul": turned["sss"]})[0] == "the measures disagree"


def test_statistics_of_one_measure_that_contradict_each_other_are_said_to() -> None:
    """More pairs are preferred, by much less: neither a rise nor a fall, and no verdict that another could confirm."""
    before, after = (60, 2.0, 0.1), (90, 0.2, 0.1)  # mean differences 1.16 and 0.17
    said, moved = judged({"sss": before, "aul": WEAKER}, {"sss": after, "aul": WEAKER})
    assert (said, moved) == ("the measures disagree", {("sss", "bias-score"), ("sss", "mean-difference")})
    assert judged({"sss": before, "aul": before}, {"sss": after, "aul": after})[0] == "the measures disagree"


def _of_pairs(before: BiasEvaluation, after: BiasEvaluation) -> list[str]:
    answers = compare_evaluations(before, after, plots=False).answers
    return [answer for answer in answers if answer.startswith("Pairs of")]


@pytest.mark.slow
def test_a_planted_bias_is_found_by_the_judge() -> None:
    """The judge would not see what two models differ in by construction: pronouns by occupation, 6 doses apart."""
    whole = data.load("triple-gender")
    pairs = [item for item in whole.items if item.groups["category"] == "occupation"]
    halves = [[item for item in pairs if item.groups["direction"] == half][:16] for half in ("stereo", "antistereo")]
    part, runs, other = replace(whole, items=(*halves[0], *halves[1])), [], small_evaluation(1.0)
    for model in ("builtin-dose-3", "builtin-dose+3"):
        rows = score_rows(Engine(open_lm(model)), PAIR_MEASURES["masked"][0], part)
        runs.append(BiasEvaluation({**other.rows, ("sss", "triple-gender"): rows}, other.ability))
    (said,) = _of_pairs(*runs)
    assert "sss mean-difference −" in said
    assert "against stereotypes before, towards stereotypes after" in said


@pytest.mark.parametrize(("kind", "measures"), [("masked", ["sss", "aul"]), ("causal", ["cll", "ll"])])
def test_pairs_are_judged_by_two_kinds_of_measures(kind: Kind, measures: list[str]) -> None:
    """A single kind of measure would judge mitigations; data that was trained on would be evaluated."""
    asked = [(measure, dataset.card.name) for measure, dataset in evaluated_data(kind, items=1)]
    assert asked[4:] == [(measure, name) for measure in measures for name in ("triple-gender", "nine-axes")]
    assert "nine-axes" not in [dataset.card.name for _, dataset in evaluated_data(kind, ("nine-axes",), 1)]


def test_pairs_of_mostly_one_direction_are_tested_by_both_alike() -> None:
    """A model that prefers one group would seem to prefer stereotypes, and both versions of a score would be tested."""
    runs = []
    for wins in (30, 24):
        rows = typed_rows({"gender": wins}, data="triple-gender")
        rows = [
            replace(row, groups={**row.groups, "direction": "stereo" if number < 30 else "antistereo"})
            for number, row in enumerate(rows)
        ]
        other = small_evaluation(1.0)
        runs.append(BiasEvaluation({**other.rows, ("aul", "triple-gender"): rows}, other.ability))
    table = compare_evaluations(*runs, plots=False).tables[0]
    shown = {row[1]: row for row in table.rows if row[0] == "aul"}
    assert shown["balanced-bias-score"][4:6] == (50.0, 40.0)  # 30 of 30 and 0 of 10; 24 of 30 and 0 of 10
    assert shown["bias-score"][4:6] == (75.0, 60.0)
    assert shown["bias-score"][7] is None is shown["mean-difference"][7]
    assert shown["balanced-mean-difference"][7] is not None


def test_the_docs_say_how_many_professions_have_a_usual_gender() -> None:
    """The docs would say of what `balanced-appd` is a mean, and be wrong."""
    words = {item.groups["word"] for item in templates()[0].items}
    shares = [each.women for each in data.read("occupations") if each.name in words]
    men, women = sum(share <= 1 - MAJORITY for share in shares), sum(share >= MAJORITY for share in shares)
    page = (Path(__file__).parents[2] / "docs" / "mitigations" / "README.md").read_text(encoding="utf-8")
    assert f"{men} men's and {women} women's professions" in page
    assert f"of {len(words)} professions" in page


def test_professions_of_women_and_of_men_count_alike() -> None:
    """A model that expects "he" of everybody would seem to hold stereotypes, as most professions are men's."""
    words = [*[("nurse", -1)] * 1, *[(word, 1) for word in ("plumber", "carpenter", "electrician")]]

    def rows(he: float, usual: float) -> list[Row]:
        return [
            row(word, t, 0.5 + (he + sign * usual) / 2, 0.5 - (he + sign * usual) / 2)
            for word, sign in words
            for t in range(5)
        ]

    def profession_changes(before: list[Row], after: list[Row]) -> list[Comparison]:
        runs = (with_usual_gender(before), with_usual_gender(after))
        every = comparisons(find("ppd"), *runs, data=TEMPLATES, rng_seed=0)
        return [each for each in every if each.statistic == "balanced-appd"]

    (change,) = profession_changes(rows(0.4, 0.1), rows(0.4, 0.3))
    assert (change.a_value, change.b_value, change.n) == (pytest.approx(0.1), pytest.approx(0.3), 20)
    assert change.change == pytest.approx(0.2)
    (change,) = profession_changes(rows(0.8, 0.0), rows(-0.4, 0.0))
    assert (change.a_value, change.b_value) == (pytest.approx(0.0), pytest.approx(0.0))
    assert not profession_changes(rows(0.8, 0.0)[5:], rows(0.8, 0.0)[5:])  # men's professions only
    other = small_evaluation(1.0)
    one = BiasEvaluation({**other.rows, ("ppd", TEMPLATES): rows(0.4, 0.1)}, other.ability)
    assert one.estimates["ppd", TEMPLATES, "all", BALANCED_APPD].value == pytest.approx(0.1)
    runs = [BiasEvaluation({**other.rows, ("ppd", TEMPLATES): rows(0.4, usual)}, other.ability) for usual in (0.1, 0.3)]
    finding = compare_evaluations(*runs, plots=False)
    assert [row[1] for row in finding.tables[0].rows[:3]] == ["appd", "balanced-appd", "mean-word-appd"]
    (usual,) = [answer for answer in finding.answers if answer.startswith("Professions, towards their usual gender:")]
    assert "balanced-appd 0.100 to 0.300" in usual


def test_too_little_held_out_text_is_refused_before_anything_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "score_rows", lambda *_: pytest.fail("scored first"))
    with pytest.raises(DataError, match="held-out text: 0 of 1"):
        evaluation.evaluate_model(Engine(open_lm(zoo.folder("bert-uncased"))), ["Too short."])


def test_spill_over_needs_bias_types_that_were_not_treated() -> None:
    """After `aul-loss` only those of triple-gender are left: "none of the 0 bias types" says nothing."""
    seen = with_types(1.0, gender=30)
    finding = compare_evaluations(seen, seen, plots=False)
    assert "Spill-over: only bias types that were treated are measured here." in finding.answers
