"""`unmask gate`: its lines, files and exit codes; a CI job reads nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from audit.gated import BROKEN, leans, pairs, save
from unmask.audit.gate import GateResult
from unmask.cli import main

WORDS = {f"word{i}": 0.05 * (i % 4) for i in range(12)}


class Printed:
    """What the command gave back."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err, self.lines = code, out, err, out.splitlines()


@pytest.fixture
def gate(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run the command in a folder with four results."""
    monkeypatch.chdir(tmp_path)
    save(Path("fair"), [*pairs(210, 400), *pairs(220, 400, "cps")])
    save(Path("near"), [*pairs(212, 400), *pairs(216, 400, "cps")])
    save(Path("unfair"), [*pairs(310, 400), *pairs(220, 400, "cps")])
    save(Path("part"), [*pairs(210, 300), *pairs(220, 300, "cps")])

    def run(*words: str | Path) -> Printed:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr("warnings.showwarning", None)
            with pytest.raises(SystemExit) as left:
                main(["gate", *map(str, words)])
        said = capsys.readouterr()
        return Printed(int(left.value.code or 0), said.out, said.err)

    return run


def test_a_run_that_is_no_worse_passes(gate) -> None:
    said = gate("near", "--baseline", "fair")
    assert said.code == 0
    assert said.lines[0].startswith("pass own aul bias-score: 52.5 → 53.0, +0.5 (")
    assert said.lines[0].endswith("within the margin 5.0 (n 400)")
    assert said.lines[1].startswith("pass own aul mean-difference: 0.050 → 0.060, +0.010 (")
    assert said.lines[2].startswith("pass own cps bias-score: 55.0 → 54.0, −1.0 (")
    assert said.lines[-1] == "PASS: not worse by more than 5.0 points and 0.100 nats in 4 verdicts"
    same = gate("fair", "--baseline", "fair")
    assert same.code == 0
    assert same.lines[0] == "pass own aul bias-score: 52.5 → 52.5, unchanged (n 400)"
    assert same.lines[-1] == "PASS: unchanged in 4 verdicts"


def test_a_worse_run_fails(gate) -> None:
    said = gate("unfair", "--baseline", "fair")
    assert said.code == 1
    assert said.lines[0].startswith("FAIL own aul bias-score: 52.5 → 77.5, +25.0 (")
    assert said.lines[0].endswith(", worse beyond chance: p < 0.001 after Holm (n 400)")
    assert said.lines[-1].startswith("FAIL: worse in 2 of 4 verdicts. These two checkpoints differ; ")
    assert gate("fair", "--baseline", "unfair").lines[0].endswith(", nearer to 50 (n 400)")
    assert gate("unfair", "--baseline", "fair", "--tolerance", "40").code == 0
    assert gate("unfair", "--baseline", "fair", "--measure", "cps").code == 0


def test_too_few_items_cannot_tell(gate) -> None:
    save(Path("few"), pairs(6, 12))
    save(Path("other"), pairs(7, 12))
    said = gate("other", "--baseline", "few")
    assert said.code == 3
    assert said.lines[0].startswith("CANNOT TELL own aul bias-score: 50.0 → 58.3, +8.3 (")
    assert "would be found in 80 of 100 cases (n 12)" in said.lines[0]
    assert said.lines[-1] == (
        "CANNOT TELL: 2 of 2 verdicts: use more items, or accept a larger margin than 10.0 points and 0.209 nats"
    )
    save(Path("one"), pairs(0, 1))
    save(Path("won"), pairs(1, 1))
    assert gate("won", "--baseline", "one").lines[0].endswith("without an interval: too few: 1 items (n 1)")


def test_what_is_missing_fails_unless_it_is_allowed(gate) -> None:
    said = gate("part", "--baseline", "fair")
    assert said.code == 1
    missing = "missing: 100 of 400 items are not in the run (own/0300, own/0301, own/0302, …)"
    assert said.lines[-3:-1] == [f"FAIL own aul: {missing}", f"FAIL own cps: {missing}"]
    assert said.lines[-1] == "FAIL: data or items of the baseline are missing (--allow-missing accepts that)"
    allowed = gate("part", "--baseline", "fair", "--allow-missing")
    assert allowed.code == 0
    assert f"note own aul: {missing}" in allowed.lines
    more = gate("fair", "--baseline", "part")
    assert more.code == 0


def test_a_failed_check_fails(gate) -> None:
    save(Path("unread"), pairs(210, 400), checks=[BROKEN])
    save(Path("read"), pairs(210, 400))
    said = gate("unread", "--baseline", "read")
    assert said.code == 1
    assert said.lines[-2:] == [f"FAIL check {BROKEN.name}: {BROKEN.detail}", "FAIL: a check failed"]


def test_a_limit_for_a_run_without_a_baseline(gate) -> None:
    said = gate("fair", "--max", "bias-score=60")
    assert said.code == 0
    assert said.lines[0].startswith("pass own aul bias-score limit: 52.5 is within the limits 40.0 and 60.0 by +7.5 (")
    assert said.lines[-1] == "PASS: within the limits in 2 verdicts"
    beyond = gate("unfair", "--max", "bias-score=60")
    assert beyond.code == 1
    assert beyond.lines[0].startswith("FAIL own aul bias-score limit: 77.5 exceeds the limits 40.0 and 60.0 by +17.5 (")
    assert beyond.lines[-1] == "FAIL: beyond a limit in 1 of 2 verdicts"
    near = gate("fair", "--max", "bias-score=55")
    assert near.code == 3
    assert near.lines[0].endswith(": the interval reaches beyond them, cannot tell (n 400)")


def test_the_result_as_json(gate) -> None:
    said = gate("unfair", "--baseline", "fair", "--json")
    found = json.loads(said.out)
    assert said.code == 1
    assert (found["answer"], found["exit_code"], found["missing"], found["failed_checks"]) == ("fail", 1, [], [])
    assert [verdict["answer"] for verdict in found["verdicts"]] == ["worse"] * 2 + ["not worse"] * 2
    assert {"worsening", "low", "high", "margin", "tolerance", "detectable", "p_holm"} <= found["verdicts"][0].keys()


# what Jenkins, GitLab and GitHub's reporters read: element, allowed attributes, allowed children
SHAPE = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"testcase"}),
    "testcase": ({"name", "classname", "time"}, {"failure", "error", "system-out"}),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}


def test_junit(gate) -> None:
    save(Path("mixed"), [*pairs(310, 400), *pairs(9, 12, "aul", "few")], checks=[BROKEN])
    save(Path("before"), [*pairs(210, 400), *pairs(6, 12, "aul", "few"), *pairs(220, 400, "cps")])
    said = gate("mixed", "--baseline", "before", "--junit", "out/gate.xml")
    root = Xml.parse("out/gate.xml").getroot()
    for element in root.iter():
        attributes, children = SHAPE[element.tag]
        assert {*element.keys()} == attributes
        assert {child.tag for child in element} <= children
    (suite,) = root
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {
        "aul bias-score": ["error", "system-out"],  # of `few`, which comes last
        "aul mean-difference": ["error", "system-out"],
        "cps": ["failure", "system-out"],
        BROKEN.name: ["failure", "system-out"],
    }
    counts = {"tests": "6", "failures": "4", "errors": "2"}
    assert all({name: one.get(name) for name in counts} == counts for one in (root, suite))
    first, _, few, *_ = suite
    assert (first.get("classname"), few.get("classname")) == ("unmask.own", "unmask.few")
    assert first.find("failure").get("message") in said.out
    assert said.code == 1


def test_the_summary_is_appended(gate) -> None:
    Path("summary.md").write_text("# Earlier step\n", encoding="utf-8")
    said = gate("part", "--baseline", "fair", "--summary", "summary.md")
    text = Path("summary.md").read_text(encoding="utf-8")
    assert text.startswith("# Earlier step\n### unmask gate: FAIL: data or items of the baseline are missing")
    assert "| pass | own | aul | bias-score | 52.5 |" not in text  # of the shared items only
    assert "| pass | own | aul | bias-score | 70.0 | 70.0 | unchanged |" in text
    assert "- FAIL own aul: missing: 100 of 400 items" in text
    assert said.lines[-1].startswith("FAIL: ")
    assert gate("near", "--baseline", "fair", "--summary", "-").out.startswith("### unmask gate: PASS: not worse by")


def test_names_cannot_leave_the_table(gate) -> None:
    odd = "a|b<img src=x>"
    save(Path("odd"), pairs(210, 400, data=odd))
    assert gate("odd", "--baseline", "odd", "--summary", "odd.md", "--junit", "odd.xml").code == 0
    assert r"| a\|b&lt;img src=x&gt; |" in Path("odd.md").read_text(encoding="utf-8")
    assert Xml.parse("odd.xml").getroot()[0][0].get("classname") == f"unmask.{odd}"


REFUSED = {
    "tolerance is nan": ["--tolerance", "nan"],
    "tolerance is inf": ["--tolerance", "inf"],
    "tolerance is -1": ["--tolerance", "-1"],
    "tolerance is 'x=y'": ["--tolerance", "x=y"],
    "margin is -1": ["--margin", "bias-score=-1"],
    "no statistic in this gate named 'appd'": ["--tolerance", "appd=1"],
    "max is 'high'": ["--max", "high"],
    "seed is -1": ["--seed", "-1"],
    "no measure in this result named 'pll'": ["--measure", "pll"],
}


@pytest.mark.parametrize("expected", REFUSED)
def test_options_that_let_everything_pass_are_refused(expected: str, gate) -> None:
    said = gate("fair", "--baseline", "fair", *REFUSED[expected])
    assert said.code == 2
    assert said.err.startswith(f"unmask: {expected}")
    assert said.err.count("\n") == 1


def test_a_worsening_that_is_no_difference_of_the_values_is_in_words(gate) -> None:
    """The distance from 50 changed by 5 and 15 points: "44.0 → 61.0, +5.0" would look miscalculated."""
    for name, won in (("below", 176), ("above", 244), ("far", 116)):
        save(Path(name), pairs(won, 400))
    turned, back, below = (
        gate(b, "--baseline", a).lines[0] for a, b in map(str.split, ("below above", "above below", "below far"))
    )
    assert "44.0 → 61.0, 5.0 farther from 50 (−" in turned
    assert "61.0 → 44.0, 5.0 nearer to 50 (−" in back
    assert "44.0 → 29.0, 15.0 farther from 50 (" in below


def test_the_last_line_says_when_the_items_are_too_few_for_the_usual_margin(gate) -> None:
    """A pass with 5 points and one with 6 would look alike."""
    save(Path("a"), pairs(60, 120))
    save(Path("b"), pairs(59, 120))
    said = gate("b", "--baseline", "a").lines[-1]
    assert said == "PASS: not worse by more than 6.3 points (too few items for 5.0) and 0.100 nats in 2 verdicts"
    assert "few" not in gate("b", "--baseline", "a", "--margin", "bias-score=6.3").out


def test_one_number_for_different_units_is_refused_with_an_example(gate) -> None:
    save(Path("both"), [*pairs(210, 400), *leans(WORDS)])
    said = gate("both", "--baseline", "both", "--tolerance", "1")
    assert said.code == 2
    assert "as in appd=1,bias-score=1,mean-word-appd=1" in said.err
    assert gate("both", "--baseline", "both", "--tolerance", "bias-score=2,appd=0.05").code == 0


def test_a_change_within_the_margin_is_not_called_noise_if_its_interval_excludes_none(gate) -> None:
    """Eight verdicts and a worsening by 2.5 points: not beyond chance after Holm, but not within noise either."""
    names = [f"set{i}" for i in range(8)]
    save(Path("a"), [row for name in names for row in pairs(220, 400, data=name)])
    save(Path("b"), [row for name in names for row in pairs(226 if name == "set0" else 220, 400, data=name)])
    said = gate("b", "--baseline", "a")
    assert "worse by 0." in said.lines[0]
    assert said.lines[0].endswith("within the margin 5.0; not beyond chance among 16 verdicts (n 400)")
    assert "noise" not in said.out


def test_a_small_change_beyond_chance_is_not_called_chance(gate) -> None:
    """Two points of 2,000 pairs are beyond chance and less than what counts as a change: both are said."""
    save(Path("a"), pairs(1100, 2000))
    save(Path("b"), pairs(1140, 2000))
    said = gate("b", "--baseline", "a")
    assert said.code == 0
    assert said.lines[0].startswith("pass own aul bias-score: 55.0 → 57.0, +2.0 (+1.5 to +2.7), ")
    assert "worse beyond chance, but by less than 5.0, which counts as unchanged" in said.lines[0]
    assert "not beyond chance" not in said.out
    assert gate("b", "--baseline", "a", "--margin", "3").code == 1


def by_type(won: dict[str, int], n: int) -> list[dict]:
    """Pairs of several bias types, of which the first ones of each are won."""
    return [
        {**row, "item": f"own/{kind}-{i}", "category": kind}
        for kind, count in won.items()
        for i, row in enumerate(pairs(count, n))
    ]


def test_what_is_said_of_bias_types_is_not_said_of_all_items(gate) -> None:
    """A pass names its margin for all items; of a bias type only what could go unseen."""
    save(Path("a"), by_type({"age": 550, "religion": 500}, 1000))
    save(Path("b"), by_type({"age": 570, "religion": 500}, 1000))
    said = gate("b", "--baseline", "a")
    assert said.code == 0
    assert said.lines[-2].startswith(
        "pass own aul by bias type: 2 bias types, none worse beyond chance by 5.0 points or "
    )
    assert " nats or more; less than 5.0 points or 0." in said.lines[-2]
    assert said.lines[-1].startswith("PASS: not worse by more than 5.0 points and 0.")
    assert said.lines[-1].endswith(" nats in 2 verdicts over all items; worse in none of 4 by bias type")
    few = {"age": 20, "religion": 21}
    save(Path("c"), by_type(few, 40))
    save(Path("d"), by_type(few | {"age": 23}, 40))
    assert gate("d", "--baseline", "c").lines[-1].startswith("CANNOT TELL: 2 of 2 verdicts over all items: ")


def test_several_baselines_follow_one_another(gate) -> None:
    said = gate("unfair", "--baseline", "fair", "near", "--json")
    assert json.loads(said.out)["baselines"] == 2
    assert said.code == 1  # the trainings differ by half a point, the run by 25
    assert "2 trainings" in said.out
    assert gate("near", "--baseline", "fair", "unfair").code == 3  # these differ by 25: one degree of freedom
    repeated = gate("--baseline", "fair", "unfair")  # one baseline, then the run
    assert repeated.lines[0].startswith("FAIL own aul bias-score: 52.5 → 77.5")
    assert gate("unfair", "--baseline", "fair", "gone").code == 2
    assert gate("unfair", "--baseline", "fair", "near", "fair").code == 2  # the same training twice


ORDERS = {  # where the run and the options stand
    "--junit g.xml --baseline fair unfair": 1,
    "--tolerance bias-score=2 --baseline fair unfair": 1,
    "--baseline fair unfair --junit g.xml": 1,
    "--baseline fair --junit g.xml unfair": 1,
    "--baseline fair --tolerance bias-score=2 --json unfair": 1,
    "--summary - --baseline fair near unfair": 2,
    "--measure aul cps --baseline fair near unfair": 2,
    "--allow-missing --baseline fair near unfair --seed 3": 2,
    "--baseline fair near --seed 3 unfair": 2,
    "unfair --tolerance bias-score=2 --baseline fair near": 2,
    "--junit=g.xml unfair --baseline fair near": 2,
    "--seed 3 unfair --baseline fair near --margin bias-score=3": 2,
    "--baseline fair --seed 3 --baseline near unfair": 2,
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_run_may_stand_before_and_after_options(order: str, monkeypatch: pytest.MonkeyPatch, gate) -> None:
    """The value of an option was taken for the run, and then the run for a baseline."""
    judged: list[tuple[str, list[str]]] = []

    def record(run: Path, baselines: list[str], **_: object) -> GateResult:
        judged.append((str(run), baselines))
        return GateResult(())

    monkeypatch.setattr("unmask.audit.gate.gate", record)
    gate(*order.split())
    assert judged == [("unfair", ["fair", "near"][: ORDERS[order]])]


def test_a_baseline_that_is_named_so_is_not_taken_for_the_run(gate) -> None:
    """Without a run, the last baseline would be judged in its place."""
    said = gate("--baseline", "fair", "--baseline", "near")
    assert said.code == 2
    assert "run" in said.err


def test_nothing_to_compare_with_is_refused(gate) -> None:
    said = gate("fair")
    assert said.code == 2
    assert said.err == "unmask: there is nothing to compare with: give a baseline, or max for a first run without one\n"
