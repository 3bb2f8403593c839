"""Compare, comparison page and gate look at the same statistics; one would deny what another says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit.gated import OK, leans, pairs, save
from unmask import compare, gate
from unmask.audit.result import AuditResult, load_audit
from unmask.cli import main
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.types import Check, Floats
from unmask.findings.envelope import Result, build
from unmask.measures import MEASURES
from unmask.report.changes import summarize_changes
from unmask.report.comparison_page import compare_runs, page
from unmask.stats.paired import Comparison

from . import fake

MEN, WOMEN = ("plumber", "carpenter", "electrician", "mechanic"), ("nurse", "secretary", "librarian", "receptionist")
WORDS = {f"word{i}": 0.05 * (i % 4) for i in range(12)}


def of_types(won: Mapping[str, int], each: int = 40) -> list[dict[str, Any]]:
    """As many pairs of each bias type, of which the first ones are won."""
    return [
        fake.row(
            *("aul", f"own/{kind}{i:02}", 1.0 if i < wins else -1.0, 0.0),
            **{"data": "own", "category": kind, "unrelated": None},
        )
        for kind, wins in won.items()
        for i in range(each)
    ]


def mixed(won: int, scale: float) -> list[dict[str, Any]]:
    """Pairs of mostly one direction, pairs by measures of preference, of sizes and a baseline, and templates."""
    directed = [
        row | {"direction": "stereo" if number % 4 else "antistereo", "category": f"type{number % 2}"}
        for number, row in enumerate(pairs(won, 80, "sss", "directed"))
    ]
    plain = [row for name in ("aul", "sld", "all-masked") for row in pairs(won, 80, name)]
    templates = leans({word: scale * lean for word, lean in WORDS.items()})
    return [*directed, *plain, *templates]


def saved(folder: Path, items: list[dict[str, Any]]) -> AuditResult:
    return load_audit(save(folder, items, checks=[OK, Check("words/masked-accuracy", True, "")]))


def over_all(changes: tuple[Comparison, ...]) -> set[tuple[str, str, str]]:
    return {(each.measure, each.data, each.statistic) for each in changes if each.tested and each.group == "all"}


def test_compare_page_and_gate_look_at_the_same_statistics(tmp_path: Path) -> None:
    first, second = saved(tmp_path / "a", mixed(44, 1.0)), saved(tmp_path / "b", mixed(46, 1.4))
    verdicts = gate(second, first).verdicts
    judged = {(each.measure, each.data, each.statistic) for each in verdicts if each.group == "all"}
    assert judged == over_all(compare(first, second)) == over_all(compare_runs([first, second])[0])
    assert ("ppd", "words", "mean-word-appd") in judged
    assert ("sss", "directed", "balanced-bias-score") in judged
    assert not {("sss", "directed", "bias-score"), ("sld", "own", "mean-difference")} & judged
    assert not any(measure == "all-masked" for measure, *_ in judged)


def test_a_measure_without_a_reference_value_is_compared_without_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate refuses such a measure of a plug-in, and a comparison would end with its message."""
    known = {**MEASURES, "sss": replace(MEASURES["sss"], null=None)}
    monkeypatch.setattr(AuditResult, "measure", lambda _, name: known[name])
    runs = [saved(tmp_path / "a", mixed(44, 1.0)), saved(tmp_path / "b", mixed(60, 1.4))]
    found = [each for each in compare(*runs) if each.measure == "sss"]
    assert found
    assert {each.answer for each in found} == {""}


def test_compare_and_page_correct_the_same_tests_together(tmp_path: Path) -> None:
    """A number would be significant in one output and not in the other."""
    runs = [saved(tmp_path / "a", mixed(44, 1.0)), saved(tmp_path / "b", mixed(60, 1.4))]
    whole, split = compare_runs(runs)
    both = compare(*runs, categories=True)
    assert compare(*runs) == whole == tuple(each for each in both if each.group == "all")
    assert split == tuple(each for each in both if each.group != "all")
    for family in (whole, split):
        ps = [each.p for each in family if each.tested and each.p is not None]
        smallest = min(family, key=lambda each: each.p if each.tested and each.p is not None else 2.0)
        assert smallest.p_holm == pytest.approx(min(1.0, len(ps) * min(ps)))
    assert all(each.p_holm is None for each in (*whole, *split) if not each.tested)


def test_compare_does_not_deny_what_the_gate_finds_by_bias_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two types that change in opposite ways leave the whole as it was."""
    before, after = {"age": 20, "race": 22, "work": 20, "faith": 21}, {"age": 38, "race": 8, "work": 20, "faith": 18}
    runs = [save(tmp_path / name, of_types(won)) for name, won in (("a", before), ("b", after))]
    assert gate(runs[1], runs[0]).answer == "fail"
    with pytest.raises(SystemExit):
        main(["compare", *map(str, runs)])
    said, _, table = capsys.readouterr().out.partition("Changes from a")
    assert "No change is beyond chance" not in said
    assert "b: By category, worse: age (" in said
    assert "b: Over all items the share of stereotyping sentences (aul); the mean difference (aul): no change" in said
    assert "age" not in table  # the table has categories with --categories only


def by_differences(folder: Path, differences: Floats) -> AuditResult:
    """Pairs with these differences of scores."""
    rows = [
        fake.row("aul", f"own/{i:03}", float(value), 0.0, data="own", category="gender", unrelated=None)
        for i, value in enumerate(differences)
    ]
    return saved(folder, rows)


def test_compare_and_page_call_worse_what_the_gate_fails(tmp_path: Path) -> None:
    """A worsening that the gate calls no change was "worse", and one to the other side that it fails was not."""
    rng = np.random.default_rng(0)
    noise, small = rng.normal(0.0, 1.0, 300), rng.normal(0.04, 0.02, 300)
    means = {"below": noise - 0.9, "near": noise + 0.2, "little": noise + small + 0.2, "above": noise + 1.2}
    runs = {name: by_differences(tmp_path / name, values) for name, values in means.items()}
    said = {}
    for a, b in (("near", "little"), ("near", "above"), ("below", "above"), ("above", "below")):
        whole, split = compare_runs([runs[a], runs[b]])
        answers = {(each.statistic, each.group): each.answer for each in gate(runs[b], runs[a]).verdicts}
        assert {(each.statistic, each.group): each.answer for each in whole} == answers
        said[a, b] = "; ".join(summarize_changes(runs[a], runs[b], (*whole, *split)))
        assert ("(worse)" in said[a, b] or "(worse, on" in said[a, b]) == (gate(runs[b], runs[a]).answer == "fail")
    assert "0.20 instead of 0.16 by aul (worse, by less than the gate counts as a change)" in said["near", "little"]
    assert "by aul (worse, on the other side of no preference now)" in said["below", "above"]
    assert "by aul (worse)" in said["near", "above"]


def test_compare_and_card_say_how_visible_words_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Training can harm how words are read without a check that fails; the page said it in a folded table alone."""
    for name, share in (("a", "98.0%"), ("b", "61.0%")):
        save(tmp_path / name, pairs(40, 80), checks=[OK, Check("own/unmasked-accuracy", True, f"{share}; more")])
    with pytest.raises(SystemExit):
        main(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    printed, runs = capsys.readouterr().out, [load_audit(tmp_path / name) for name in "ab"]
    card, _, _ = page(runs, compare_runs(runs)).partition("</header>")
    for name, share in (("a", "98.0%"), ("b", "61.0%")):
        assert f"{name}, own/unmasked-accuracy: {share}\n" in printed
        assert f", own/unmasked-accuracy: {share}.</p>" in card
    assert "better model" not in card


def test_a_category_of_all_items_is_tested_once(tmp_path: Path) -> None:
    """The same change would be said twice."""
    first, second = (saved(tmp_path / name, pairs(won, 80)) for name, won in (("a", 40), ("b", 70)))
    assert {each.group for each in compare(first, second, categories=True) if each.tested} == {"all"}


def test_the_number_of_tests_is_that_of_the_correction(tmp_path: Path) -> None:
    """Runs that are compared with the first one are tested together; the sentence would name those of one alone."""
    runs = [saved(tmp_path / str(won), pairs(won, 80) + pairs(won, 80, "all-masked")) for won in (40, 41, 42)]
    changes = compare(*runs, categories=True)
    (said,) = summarize_changes(runs[0], runs[2], changes, number=2)
    assert said == "No change is beyond chance (4 tests over all items, corrected by Holm)"


def professions(he: float, usual: float, measure: str = "ppd") -> list[dict[str, Any]]:
    """Professions that lean towards "he", and towards their usual gender; and a word that has none."""
    signed = {**dict.fromkeys(MEN, 1.0), **dict.fromkeys(WOMEN, -1.0), "lawyer": 0.0}
    sizes = {word: he + sign * usual * (0.85 + 0.1 * (i % 4)) for i, (word, sign) in enumerate(signed.items())}
    return [row | {"measure": measure} for row in leans(sizes)]


@pytest.mark.parametrize(
    ("measure", "statistic"), [("ppd", "appd"), ("ppd-normalised", "appd"), ("lpbs", "association")]
)
def test_templates_are_judged_over_all_words_and_towards_the_usual_gender(
    tmp_path: Path, measure: str, statistic: str
) -> None:
    """The plain mean alone does not show that stereotypes grow, the balanced one alone not that "he" is said of all."""
    fair, usual, he = (
        saved(tmp_path / name, professions(*leaning, measure))
        for name, leaning in (("fair", (0.1, 0.1)), ("usual", (0.1, 0.4)), ("he", (0.4, 0.1)))
    )
    answers = {
        name: {each.statistic: each.answer for each in gate(run, fair).verdicts}
        for name, run in (("usual", usual), ("he", he))
    }
    assert answers["usual"][f"balanced-{statistic}"] == answers["he"][statistic] == "worse"
    assert answers["he"][f"balanced-{statistic}"] == "not worse"
    assert answers["usual"][statistic] != "worse"
    (change,) = (each for each in compare(fair, usual) if each.statistic == f"balanced-{statistic}")
    assert (change.a_value, change.b_value) == (pytest.approx(0.1, abs=0.01), pytest.approx(0.4, abs=0.01))
    assert (change.n, change.left_out, change.null) == (48, 0, 0.0)  # 8 words in 6 templates
    whole, _ = compare_runs([fair, usual])
    assert change.p_holm == next(each.p_holm for each in whole if each.statistic == change.statistic)
    said = summarize_changes(fair, usual, whole)
    assert said[0] == (
        "Women's and men's professions, counted alike, lean more towards their usual gender than before: "
        f"0.40 instead of 0.10 by {measure} (worse)"
    )


def test_the_gate_gives_professions_their_unit_and_tolerance(tmp_path: Path) -> None:
    """A margin of probabilities would be refused or printed without its unit."""
    fair, usual = (saved(tmp_path / str(lean), professions(0.1, lean)) for lean in (0.1, 0.12))
    verdict = next(each for each in gate(usual, fair).verdicts if each.statistic == "balanced-appd")
    assert (verdict.answer, verdict.margin, verdict.n) == ("not worse", 0.05, 48)
    assert str(gate(usual, fair)).splitlines()[-1].startswith("PASS: not worse by more than 0.050 ")
    assert {each.tolerance for each in gate(usual, fair, tolerance="appd=0.3,mean-word-appd=0.3").verdicts} == {0.3}
    with pytest.raises(DataError, match="tolerance is 1 for "):
        gate(usual, fair, tolerance="balanced-appd=1")


def test_only_professions_of_both_usual_genders_and_slots_of_gender_have_a_balanced_mean(tmp_path: Path) -> None:
    """Of one gender there is nothing to balance; “Turkish” is no side that a nurse has by the statistics of labour."""
    whole = professions(0.1, 0.2)
    rows = {
        "unknown": leans(WORDS),
        "men": [row for row in whole if row["word"] in MEN],
        "few": [row for row in whole if row["word"] in ("nurse", "plumber", "carpenter", "lawyer")],
        "whole": whole,
    }
    runs = {name: saved(tmp_path / name, items) for name, items in rows.items()}
    own = saved(tmp_path / "own", whole)
    own.meta["data"][0]["sides"] = ["Turkish", "German"]
    found = {name: {each.statistic for each in compare(run, run)} for name, run in {**runs, "own": own}.items()}
    assert {name for name, statistics in found.items() if "balanced-appd" in statistics} == {"whole"}
    assert all({"appd", "mean-word-appd"} <= statistics for statistics in found.values())


def test_a_limit_of_the_plain_mean_holds_beside_the_balanced_one() -> None:
    """The balanced mean of a mitigation's result would replace the plain one: "he" of everybody would pass."""
    named: dict[str, Any] = {"measure": "ppd", "data": "t", "null": 0.0, "n": 90}
    estimates = [
        Estimate(0.5, 0.45, 0.55, statistic="appd", method="t", **named),
        Estimate(0.0, -0.01, 0.01, statistic="balanced-appd", method="t", **named),
    ]
    result = gate(Result(build("mitigate", estimates=estimates)), max="appd=0.1,balanced-appd=0.1")
    assert [(each.statistic, each.answer) for each in result.verdicts] == [
        ("appd", "worse"),
        ("balanced-appd", "not worse"),
    ]
