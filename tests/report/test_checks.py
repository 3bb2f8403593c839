"""Checks by kind, each with its reason, what failed first: a reader would overlook a failed check if these failed."""

from __future__ import annotations

import re
from pathlib import Path

from unmask.audit.interpretation import doubt_of
from unmask.core.types import Check
from unmask.findings.envelope import Result
from unmask.report.page import WHY, summarize_checks
from unmask.report.tables import check_table

from . import fake

ROOT = Path(__file__).parents[2]


def _run(*checks: Check) -> Result:
    return fake.run(fake.meta(), (), checks, fake.bare().items)


def test_checks_are_grouped_by_kind() -> None:
    run = _run(Check("a/ties", True, "none"), Check("b/ties", True, "two"), Check("a/length", False, "moved by 9"))
    first, second = summarize_checks([run], ["m"])
    assert (first.name, first.ok) == ("length", False)
    assert [(one.name, one.detail) for one in second.outcomes] == [("a", "none"), ("b", "two")]
    assert second.ok
    assert second.why == WHY["ties"]


def test_models_are_named_where_there_are_several() -> None:
    one, two = _run(Check("ties", True, "none")), _run(Check("d/ties", False, "many"))
    (kind,) = summarize_checks([one, two], ["A x", "B y"])
    assert [part.name for part in kind.outcomes] == ["A x", "B y · d"]
    assert not kind.ok


def test_a_check_without_explanation_is_shown() -> None:
    (kind,) = summarize_checks([_run(Check("new", True, "seen"))], ["m"])
    assert (kind.name, kind.why, kind.outcomes[0].detail) == ("new", "", "seen")


def test_a_description_is_no_check_that_passes_or_fails() -> None:
    """A page would count it among the checks that passed; one that failed would mark numbers."""
    run = _run(Check("our-pairs/ties", True, "none"), Check("our-pairs/near-zero", False, "92%"))
    assert [check.name for check in run.checks] == ["our-pairs/ties"]
    assert [kind.name for kind in summarize_checks([run], ["m"])] == ["ties"]
    assert doubt_of(run, "our-pairs") == ""
    assert "checks: 1 passed" in repr(run)
    rows = [row[:2] for row in check_table([run], ["m"]).rows]
    assert rows == [("passed", "our-pairs/ties"), ("note", "our-pairs/near-zero")]


def test_every_check_an_audit_makes_is_explained() -> None:
    modules = [
        ROOT / "src" / "unmask" / name
        for name in ("audit/checks.py", "audit/certified.py", "models/lm.py", "models/endpoint/lm.py")
    ]
    source = "".join(path.read_text(encoding="utf-8") for path in modules)
    made = set(re.findall(r'(?:Check|_outcome_check|_check_by_measure)\(\s*"([a-z-]+)"', source))
    made |= {"masked-accuracy", "unmasked-accuracy", "next-token-accuracy"}
    assert made - {"near-zero"} == WHY.keys()  # it only describes
