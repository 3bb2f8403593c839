"""Compare, comparison page and gate look at the same statistics; one would deny what another says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from audit.gated import OK, leans, pairs, save
from unmask import compare, gate
from unmask.audit.result import AuditResult, load_audit
from unmask.cli import main
from unmask.core.types import Check
from unmask.report.change_summary import summarize_changes
from unmask.report.comparison_page import compare_runs
from unmask.stats import Comparison

from . import fake

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
    assert "No number changed measurably" not in said
    assert "b: By category, worse: age (" in said
    assert "b: Over all items the share of stereotyping sentences (aul); the mean difference (aul) did not" in said
    assert "age" not in table  # the table has categories with --categories only


def test_a_category_of_all_items_is_tested_once(tmp_path: Path) -> None:
    """The same change would be said twice."""
    first, second = (saved(tmp_path / name, pairs(won, 80)) for name, won in (("a", 40), ("b", 70)))
    assert {each.group for each in compare(first, second, categories=True) if each.tested} == {"all"}


def test_the_number_of_tests_is_that_of_the_correction(tmp_path: Path) -> None:
    """Runs that are compared with the first one are tested together; the sentence would name those of one alone."""
    runs = [saved(tmp_path / str(won), pairs(won, 80) + pairs(won, 80, "all-masked")) for won in (40, 41, 42)]
    changes = compare(*runs, categories=True)
    (said,) = summarize_changes(runs[0], runs[2], changes, number=2)
    assert said == "No number changed measurably (4 tests over all items, corrected by Holm)"
