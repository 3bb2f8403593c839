"""Counts by module, the list of equivalent mutants, and the page of the docs."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutants.edits import Mutant
from tools.mutants.execution import MutantResult

LEAST = 90.0  # percent of the mutants that are not equivalent


@dataclass(frozen=True)
class Equivalent:
    """A mutant that does what the original does, and why."""

    module: str
    function: str
    original: str
    mutated: str
    why: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """As of the mutant."""
        return self.module, self.function, self.original, self.mutated

    def text(self) -> str:
        """On one line."""
        return f"{self.module} {self.function}: {self.original} → {self.mutated}"


class Equivalents:
    """The mutants listed as equivalent."""

    def __init__(self, entries: Iterable[Equivalent]) -> None:
        self.entries = {one.key: one for one in entries}

    @classmethod
    def read(cls, path: Path) -> Equivalents:
        """From a file of `[[equivalent]]` tables; none where there is no file."""
        if not path.exists():
            return cls(())
        whole: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        return cls(Equivalent(**one) for one in whole.get("equivalent", ()))

    def __contains__(self, mutant: Mutant) -> bool:
        return mutant.key in self.entries

    def stale(self, mutants: Iterable[Mutant], modules: Collection[str]) -> list[Equivalent]:
        """Entries of no mutant; those of modules that exist but were not looked at are left out."""
        there = {one.key for one in mutants}
        tops = {name.partition(".")[0] for name in modules}
        return [
            one
            for one in self.entries.values()
            if one.key not in there and (one.module in modules or one.module.partition(".")[0] not in tops)
        ]


@dataclass(frozen=True)
class Tally:
    """Counts of one module, or of all."""

    module: str
    killed: int = 0
    timed_out: int = 0
    survived: int = 0
    equivalent: int = 0

    @property
    def share(self) -> float:
        """Percent killed (or stopped for taking too long) of those not equivalent."""
        done = self.killed + self.timed_out
        return 100 * done / (done + self.survived) if done + self.survived else 100.0

    @classmethod
    def sum(cls, some: Sequence[Tally]) -> Tally:
        """All together."""
        return cls("all", *(sum(getattr(one, name) for one in some) for name in list(cls.__dataclass_fields__)[1:]))

    def line(self) -> str:
        """For the terminal."""
        return (
            f"{self.module:34} {self.killed:5} killed {self.timed_out:3} timed out {self.survived:4} survived"
            f"{self.equivalent:5} equivalent {self.share:6.1f}%"
        )

    def row(self) -> str:
        """For the page."""
        counts = (self.killed, self.timed_out, self.survived, self.equivalent, f"{self.share:.1f}%")
        return f"| {self.module} | {' | '.join(map(str, counts))} |"


def tally_by_module(results: Sequence[MutantResult], known: Equivalents) -> list[Tally]:
    """Counts by module."""
    counts: dict[str, dict[str, int]] = {}
    for one in results:
        fate = "equivalent" if one.mutant in known else one.outcome.replace(" ", "_")
        mine = counts.setdefault(one.mutant.module, {})
        mine[fate] = mine.get(fate, 0) + 1
    return [Tally(module, **mine) for module, mine in sorted(counts.items())]


HEAD = """# Mutation testing

Would the tests notice if the core did something else? `make mutants` changes the source in one place at a
time (an operator, a comparison, a condition, a number, a word, a default, a return value) and runs the tests
that execute that place. A mutant is *killed* when one of them fails, *timed out* when they take far too long
(an endless loop, which is noticed too), and has *survived* when all pass. Some mutants do what the original
does, or change only what nothing may depend on (how many resamples are drawn at a time, a tolerance for
rounding errors, which stream of random numbers is drawn from): these *equivalent* ones are listed, each with
the reason, in `tools/mutants/equivalent.toml`.

    python -m tools.mutants                          all of it
    python -m tools.mutants stats.agreement measures     some modules
    python -m tools.mutants --markdown docs/mutants.md

The command fails when less than 90% are killed, when a survivor is not listed, and when an entry of the list
belongs to no mutant or is killed after all. Mutated is what makes scores of readings and numbers of scores;
left alone are docstrings, annotations, decorators, assertions, error messages and texts for people. Only
the unit tests are run (`tests/stats`, `tests/measures` and the tests of the other modules), without those that
take longer than 5 seconds. That every measure also agrees with a slow reference on every architecture is
seen by `tests/test_conformance.py`.

"""


def page(tallies: Sequence[Tally], results: Sequence[MutantResult], known: Equivalents) -> str:
    """The page: what it is, the table, what is left."""
    rows = [one.row() for one in (*tallies, Tally.sum(tallies))]
    table = [
        "| module | killed | timed out | survived | equivalent | killed of the others |",
        "|---|---:|---:|---:|---:|---:|",
        *rows,
    ]
    left = [one for one in results if one.outcome == "survived" and one.mutant not in known]
    if left:
        listed = _by_module(left)
        tail = "Left to kill: " + ", ".join(f"{count} in {name}" for name, count in listed.items()) + "."
    else:
        tail = "Nothing is left: every mutant is killed or listed as equivalent."
    return HEAD + "\n".join(table) + f"\n\n{tail}\n"


def _by_module(results: Sequence[MutantResult]) -> Mapping[str, int]:
    names = [one.mutant.module for one in results]
    return {name: names.count(name) for name in sorted(set(names))}
