"""A paper's claims as questions, each answered by a test with an interval: the first section of a study.

    tests = [ClaimTest("Do paraphrases reverse decisions?", "bert", "reversed, %", share, n=383, null=5.0)]
    claims_section(tests)

Every claim has a table of its tests. A claim is one about a value on one side of its null. It holds if the interval
lies on that side and, where the test has a p-value, if this is below 0.05 after Holm's correction over all tests of
the section.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from unmask.core.estimate import Value
from unmask.core.statistic import LEVEL
from unmask.findings import Cell, Finding, Section, Table
from unmask.findings.numbers import p_value
from unmask.stats.corrections import holm

HOLM = "p (Holm)"
SAID_ONCE = ("statistic", "null", HOLM, "test")  # columns that a table does not need if they are constant
Answer = Literal["yes", "no, the opposite", "not decided"]
Side = Literal["above", "below"]  # of the null


@dataclass(frozen=True, slots=True)
class ClaimTest:
    """One test of a claim, of one model or of two on the same items."""

    claim: str  # as a question: "Do paraphrases reverse decisions?"
    where: str  # which models, data and measure
    statistic: str  # what `value` is, with its unit
    value: Value
    n: int
    null: float = 0.0
    expected: Side = "above"  # where the paper's claim puts the value
    p: float | None = None
    method: str = ""  # the test of the p-value

    def answer(self, p: float | None) -> Answer:
        """Whether the claim holds; `p` is the corrected p-value, None for a decision by the interval alone."""
        if not self.value.excludes(self.null) or (p is not None and p >= LEVEL):
            return "not decided"
        return "yes" if (self.value.value > self.null) == (self.expected == "above") else "no, the opposite"


TestedClaim = tuple[ClaimTest, float | None, Answer]  # with its corrected p


def claims_section(tests: Sequence[ClaimTest], notes: Sequence[str] = ()) -> Section:
    """A table of tests for every claim; `notes` say which claims cannot be tested here, and why."""
    adjusted = holm([test.p for test in tests])
    answers = [test.answer(p) for test, p in zip(tests, adjusted, strict=True)]
    by_claim: dict[str, list[TestedClaim]] = {}
    for test, p, said in zip(tests, adjusted, answers, strict=True):
        by_claim.setdefault(test.claim, []).append((test, p, said))
    tables = tuple(_claim_table(claim, tested) for claim, tested in by_claim.items())
    return Section(
        "claims",
        "The paper's claims",
        "What the paper states, asked of the models and data of this run.",
        Finding(tuple(_sentences(tests, answers)), tables, (), tuple(notes)),
        "Yes: the 95% interval lies on the claimed side of the null, and p is below 0.05 after Holm's correction over "
        "all tests of this section. Not decided: the data allow either answer."
        if tests
        else "",
    )


def _claim_table(claim: str, tested: Sequence[TestedClaim]) -> Table:
    """The tests of one claim; what is the same in all of them is said once."""
    columns: dict[str, list[Cell]] = {
        "where": [test.where for test, *_ in tested],
        "statistic": [test.statistic for test, *_ in tested],
        "value": [test.value for test, *_ in tested],
        "null": [test.null for test, *_ in tested],
        "n": [test.n for test, *_ in tested],
        HOLM: [p for _, p, _ in tested],
        "test": [test.method or test.value.method for test, *_ in tested],
        "answer": [said for *_, said in tested],
    }
    alike = {name: cells[0] for name, cells in columns.items() if name in SAID_ONCE and len(set(cells)) == 1}
    shown = {name: cells for name, cells in columns.items() if name not in alike}
    note = "; ".join(f"{name}: {_plain(name, cell)}" for name, cell in alike.items() if cell not in ("", None))
    return Table(claim, tuple(shown), tuple(zip(*shown.values(), strict=True)), f"{note[:1].upper()}{note[1:]}.")


def _plain(name: str, cell: Cell) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return p_value(cell) if name == HOLM else f"{cell:g}"


def _sentences(tests: Sequence[ClaimTest], answers: Sequence[Answer]) -> list[str]:
    """For every claim the answers, with the number of tests that give them."""
    by_claim: dict[str, list[Answer]] = {}
    for test, answer in zip(tests, answers, strict=True):
        by_claim.setdefault(test.claim, []).append(answer)
    sentences = []
    for claim, given in by_claim.items():
        counts = [f"{answer} in {given.count(answer)}" for answer in get_args(Answer) if answer in given]
        sentences.append(
            f"{claim} {'; '.join(counts)} of {len(given)} tests" if len(given) > 1 else f"{claim} {given[0]}"
        )
    return sentences
