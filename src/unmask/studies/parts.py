"""The tables and figures of a study, and the steps that each is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from unmask.core.errors import DataError, quote
from unmask.findings import Table
from unmask.studies.durations import CPU, GPU, format_durations
from unmask.studies.spec import Role, Runtime, Step, Study

MAX_RANGES = 10  # of steps in a cell; more are shortened


def choose_parts(study: Study, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The tables and figures of these names, or all; `figure-13` is Figure 13."""
    by_name = {part.lower(): part for part in study.parts}
    chosen = [by_name.get(name.lower().replace("-", " ")) or by_name.get(name.lower()) for name in names]
    if None in chosen:
        raise DataError(
            f"{study.name} has no part {quote(names[chosen.index(None)])}: give some of {', '.join(study.parts)}"
        )
    return {part: roles for part, roles in study.parts.items() if part in chosen or not names}


def parts_table(
    study: Study, roles: Mapping[Role, Step], steps: Sequence[Step], *, unfinished: Sequence[Step], runtime: Runtime
) -> Table:
    """The tables and figures of a study: the steps that each is made of, with those before them, and their duration."""
    numbers = {step.name: number for number, step in enumerate(steps, 1)}
    by_steps: dict[tuple[int, ...], list[str]] = {}
    for part, patterns in study.parts.items():
        used = tuple(sorted({numbers[step.name] for step in steps_of(patterns, roles)}))
        by_steps.setdefault(used, []).append(part)
    to_do = {step.name for step in unfinished}
    rows = []
    for used, parts in by_steps.items():
        own = [steps[number - 1] for number in used]
        times = format_durations([step for step in own if step.name in to_do], runtime) if own else (None, None)
        rows.append((join_parts(parts), _made_of(used), len(used), *times))
    note = "A step of several parts is in the time of each." if len(rows) > 1 else ""
    return Table("Tables and figures", ("part", "steps", "number", CPU.name, GPU.name), tuple(rows), note)


def _made_of(used: Sequence[int]) -> str:
    """The numbers of the steps; of many the first ones and the last."""
    if not used:
        return "none: its data are missing"
    ranges = _ranges(used).split(", ")
    return ", ".join(ranges if len(ranges) <= MAX_RANGES else [*ranges[: MAX_RANGES - 2], "…", ranges[-1]])


def is_role_of(role: Role, pattern: str) -> bool:
    """Whether a role is one that a part is made of: `audit` is any audit, `ppd/cds*` a role that begins so."""
    return role[0] == pattern or fnmatchcase("/".join(role), pattern)


def steps_of(patterns: Iterable[str], roles: Mapping[Role, Step]) -> list[Step]:
    """The steps that a part is made of, and all whose output they need."""
    own = [step for role, step in roles.items() if any(is_role_of(role, pattern) for pattern in patterns)]
    return [each for step in own for each in _with_inputs(step)]


def _with_inputs(step: Step) -> Iterator[Step]:
    """A step and all steps whose output it needs."""
    yield step
    for source in step.inputs.values():
        yield from _with_inputs(source)


def join_parts(parts: Iterable[str]) -> str:
    """The names of parts in one text: Table 4, Figures 8–10, 12."""
    numbers: dict[str, list[int]] = {}
    for part in parts:
        kind, _, number = part.rpartition(" ")
        numbers.setdefault(kind if number.isdigit() else part, []).extend([int(number)] if number.isdigit() else [])
    return ", ".join(
        f"{kind}{'s' if len(found) > 1 else ''} {_ranges(sorted(found))}".rstrip() for kind, found in numbers.items()
    )


def _ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers as text: 1–3, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
