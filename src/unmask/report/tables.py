"""Estimates, changes and checks as tables: queries over the records of results, rounded for readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from unmask.audit.findings import Verdict, verdict
from unmask.audit.interpretation import count_tested, doubt_of, interpret, with_companions
from unmask.audit.measure_facts import cautions
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.statistic import statistic
from unmask.findings import Table, numbers
from unmask.findings.envelope import Result, estimate_json
from unmask.findings.sentences import ALIKE, FAILED, WEAK, capital
from unmask.findings.table import table
from unmask.report import selection
from unmask.report.changes import change_row

if TYPE_CHECKING:
    from unmask.stats.paired import Comparison

NULL = "The reference value is the expected value for a model without a preference."
HOLM_STARS = "* p < 0.05, ** p < 0.01, *** p < 0.001 against the reference value, by Holm's correction over {}."
HOLM = HOLM_STARS.format("the categories of each measure")
BOTH_DIRECTIONS = f"balanced-bias-score: {ALIKE}; bias-score: over all pairs, as published."
CHANGED = "Change is after minus before over the items both runs scored; p is corrected by Holm's method."
NUMBERS = ("value", "interval", "null", "n", "ties", "unscored", "unit", "design_effect")
CHANGES = ("before", "after", "change", "interval", "p_holm", "n", "flips", "left_out")
CONSTANTS: dict[str, Callable[[str], str]] = {  # columns with one value for all rows are a sentence of the caption
    "null": "Reference value {}.".format,
    "ties": lambda n: "No ties." if n == "0" else f"{n} ties each.",
    "unscored": lambda n: "All items were scored." if n == "0" else f"{n} items unscored each.",
    "unit": lambda unit: "" if unit == "–" else f"Intervals over {numbers.plural_unit(unit)}.",
    "design_effect": lambda effect: "" if effect == "–" else f"Design effect {effect}.",
}
Records = list[dict[str, Any]]


def estimate_row(estimate: Estimate, result: AuditResult) -> dict[str, Any]:
    """One estimate as a table row."""
    known, group = interpret(result, estimate), selection.group_name(estimate.group)
    effect, plain = estimate.design_effect, known.plain
    return {
        "label": selection.label(estimate, result),
        "data": estimate.data,
        "measure": estimate.measure,
        "group": group,
        "category": group,
        "statistic": estimate.statistic,
        "value": known.value,
        "interval": known.interval,
        "null": numbers.number(estimate.null, 0),
        **{name: f"{getattr(estimate, name):,}" for name in ("n", "ties", "unscored")},
        "unit": estimate.unit or "–",
        "design_effect": numbers.number(effect, 2),
        "method": estimate.method if effect is None else f"{estimate.method}, design effect {effect:.2f}",
        "p": numbers.p_value(estimate.p),
        "p_holm": numbers.p_value(estimate.p_holm),
        "marked": bool(known.stars),
        "all_pairs": "" if plain is None else numbers.number(plain.value, known.facts.digits),
        "mark": "baseline" if known.baseline else known.stars,
        "lean": selection.tone(known),
        "reading": known.text,
        "verdict": known.short.removesuffix(" †"),
        "dagger": known.dagger,
    }


def caution_lines(result: AuditResult) -> tuple[list[str], list[str]]:
    """What the data would show, and what is known of the measures: a sentence for all datasets of which it is true."""
    by_dataset = selection.by_dataset(result)
    shared: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})  # the datasets of every line
    for data, estimates in by_dataset.items():
        *detectable, validity = cautions(result, estimates)
        for lines, by_line in zip((detectable, [validity]), shared, strict=True):
            for line in lines:
                by_line.setdefault(line, []).append(data)

    def sentences(by_line: Mapping[str, Sequence[str]]) -> list[str]:
        several = len(by_dataset) > 1
        return [f"{', '.join(names)}: {line}." if several else f"{capital(line)}." for line, names in by_line.items()]

    return sentences(shared[0]), sentences(shared[1])


def headline_table(results: Sequence[AuditResult], names: Sequence[str]) -> Table:
    """The headline estimate of every measure, dataset and model."""
    columns = _model_first(names, "data", "measure", "statistic", *NUMBERS, "p", "p_holm", "mark")
    records = _records(results, names, lambda run: with_companions(run, run.headlines()))
    note = _note(results, NULL, _directions(records), stars_note(results))
    return _short_table(_of("Headline estimates", names), columns, records, note)


def card_table(result: AuditResult) -> Table:
    """The headline estimates with their verdicts in a few words, for a model card."""
    records = _records([result], [""], lambda run: with_companions(run, run.headlines()))
    columns = ("data", "measure", "statistic", "value", "interval", "null", "n", "p_holm", "mark", "verdict")
    note = _note([result], NULL, _directions(records), stars_note([result]))
    return _short_table("Headline estimates", columns, records, note)


def category_table(results: Sequence[AuditResult], names: Sequence[str]) -> Table:
    """The headline estimates by category, marked if significant after Holm's correction."""
    columns = _model_first(names, "data", "measure", "category", *NUMBERS, "p_holm", "mark")
    records = _records(results, names, lambda run: selection.by_group(run, "category"))
    return _short_table(_of("By category", names), columns, records, _note(results, HOLM))


def verdict_table(results: Sequence[AuditResult], names: Sequence[str]) -> Table:
    """The verdict on every headline estimate in plain words; what the data would show is in the note."""
    note = " ".join({line: None for result in results for lines in caution_lines(result) for line in lines})
    records = _verdicts(results, names, lambda said: said.finding)
    columns = _model_first(names, "data", "measure", "verdict")
    return table(_of("Verdicts", names), records, rows=columns, columns=(), note=note)


def full_verdicts(results: Sequence[AuditResult], names: Sequence[str]) -> Table:
    """The whole verdict on every headline estimate, with the names of its model, data and measure."""
    return as_table("Verdicts", _verdicts(results, names, str))


def _verdicts(results: Sequence[AuditResult], names: Sequence[str], write: Callable[[Verdict], str]) -> Records:
    return [
        {"model": name, "data": head.data, "measure": head.measure, "verdict": write(verdict(result, head))}
        for name, result in zip(names, results, strict=True)
        for head in result.headlines()
    ]


def change_table(compared: Sequence[Comparison], names: Sequence[str]) -> Table:
    """Every paired comparison with the first run."""
    records = [{"model": names[change.run], **change_row(change, several=False)} for change in compared]
    columns = ("model", "data", "measure", "statistic", "group", *CHANGES)
    return table(f"Changes from {names[0]}", records, rows=columns, columns=(), note=CHANGED)


def check_table(results: Sequence[Result], names: Sequence[str]) -> Table:
    """The checks of all runs, and what is recorded beside them without a verdict."""
    records = [
        {
            "model": name,
            "check": check.name,
            "result": outcome or ("passed" if check.ok else "FAILED"),
            "detail": check.detail,
        }
        for name, result in zip(names, results, strict=True)
        for outcome, recorded in (("", result.checks), ("note", result.descriptions))
        for check in recorded
    ]
    return table("Checks", records, rows=_model_first(names, "result", "check", "detail"), columns=())


def full_estimates(results: Sequence[Result], names: Sequence[str], group: str = "") -> Table:
    """Every estimate of every run in full precision, or those of a group such as `category=`."""
    records = [
        estimate_json(each) | {"model": name}
        for name, result in zip(names, results, strict=True)
        for each in result.estimates
        if each.group.startswith(group)
    ]
    return _full("Estimates", records, ("model", *estimate_json(Estimate(0.0))))


def full_changes(compared: Sequence[Comparison], names: Sequence[str]) -> Records:
    """Every comparison in full precision, with the names of the two models."""
    records = [{"a": names[0], "b": names[change.run], **asdict(change)} for change in compared]
    return [{name: value for name, value in record.items() if name != "run"} for record in records]


def full_checks(results: Sequence[Result], names: Sequence[str]) -> Table:
    """Every check of every run."""
    named = zip(names, results, strict=True)
    records = [{"model": name, **asdict(check)} for name, result in named for check in result.checks]
    return _full("Checks", records, ("model", "name", "ok", "detail"))


def as_table(title: str, records: Records, last: Sequence[str] = ()) -> Table:
    """Records with different columns as one table: p-values after all values, then the columns in `last`."""
    names = dict.fromkeys(name for record in records for name in record)
    order = sorted(names, key=lambda name: (name in last, name.startswith("p (Holm)")))
    return _full(title, [dict.fromkeys(names) | record for record in records], order)


def _full(title: str, records: Records, columns: Sequence[str]) -> Table:
    """Records as a table whose columns have their names."""
    return table(title, records, rows={name: name for name in columns}, columns=())


def failure_note(results: Iterable[Result], data: str | None = None) -> str:
    """The note of a table whose rows are marked with a dagger, naming what failed; empty if no check failed.

    `data`: only the checks of this dataset.
    """
    doubts: set[str] = set()
    failed: dict[str, None] = {}
    for result in results:
        wanted = [card["name"] for card in result.meta["data"] if data in (None, card["name"])]
        doubts |= {doubt_of(result, name) for name in wanted}
        concerned = (check for check in result.checks if check.name.rpartition("/")[0] in ("", *wanted))
        failed |= {f"{check.name}: {check.detail}": None for check in concerned if not check.ok}
    rule = FAILED if "invalid" in doubts else WEAK if "doubtful" in doubts else ""
    return f"† {rule} ({'; '.join(failed)})." if rule else ""


def stars_note(results: Iterable[Result], data: str | None = None) -> str:
    """What the stars of headlines mean, with the number of tests of each family; empty if nothing was tested.

    `data`: only those of this dataset.
    """
    counts: dict[str, int] = {}
    for result in results:
        for name in dict.fromkeys(head.data for head in result.headlines()):
            counts[name] = max(counts.get(name, 0), count_tested(result, name))
    known = [(name, n) for name, n in counts.items() if n and data in (None, name)]
    listed = ", ".join(f"{n} measure{'' if n == 1 else 's'} on {name}" for name, n in known)
    return HOLM_STARS.format(f"the headlines of a dataset ({listed})") if known else ""


def subset_note(cards: Iterable[Mapping[str, Any]]) -> str:
    """Which data are subsets, in one sentence; empty if none is."""
    parts = [f"{card['name']} ({card['n']:,} of {card['subset_of']:,} items)" for card in cards if "subset_of" in card]
    return f"Measured on a subset of {'; '.join(dict.fromkeys(parts))}." if parts else ""


def _note(results: Sequence[Result], *notes: str) -> str:
    """The notes of a table after what it says of subsets and failed checks."""
    cards = [card for result in results for card in result.meta["data"]]
    return " ".join(filter(None, (failure_note(results), subset_note(cards), *notes)))


def _directions(records: Records) -> str:
    """What the score that counts both directions alike is, if a table has it."""
    balanced = (statistic(record["statistic"]) for record in records)
    return BOTH_DIRECTIONS if any(facts.is_balanced and facts.question == "pairs" for facts in balanced) else ""


def _records(
    results: Sequence[AuditResult], names: Sequence[str], select: Callable[[AuditResult], Sequence[Estimate]]
) -> Records:
    """The rows of the selected estimates, with the name of their model; a dagger marks a failed check."""
    rows = [
        {"model": name, **estimate_row(estimate, result)}
        for name, result in zip(names, results, strict=True)
        for estimate in select(result)
    ]
    return [row | {"measure": f"{row['measure']}{row['dagger'].strip()}"} for row in rows]


def _model_first(names: Sequence[str], *columns: str) -> tuple[str, ...]:
    """The columns, after that of the model if there are several."""
    return ("model", *columns) if len(names) > 1 else columns


def _of(title: str, names: Sequence[str]) -> str:
    """The title, with the model if there is one."""
    return f"{title} of {names[0]}" if len(names) == 1 else title


def _short_table(title: str, columns: Sequence[str], records: Records, note: str) -> Table:
    """A table whose constant columns are sentences of its note."""
    values = {name: {record[name] for record in records} for name in CONSTANTS if name in columns}
    constant = {name: next(iter(known)) for name, known in values.items() if len(known) == 1}
    notes = (*(CONSTANTS[name](value) for name, value in constant.items()), note)
    shown = tuple(name for name in columns if name not in constant)
    return table(title, records, rows=shown, columns=(), note=" ".join(filter(None, notes)))
