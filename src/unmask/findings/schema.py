"""The content of `result.json` as types by which it is checked when it is read.

`result.schema.json` is the same for other programs, and stricter: it describes what is written, these types what is
needed to read it.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from unmask.core.boundary import validate
from unmask.core.errors import ResultError, quote
from unmask.core.statistic import statistic
from unmask.findings.envelope import SCHEMA, ResultKind

T = TypeVar("T")
ROUNDING = 1e-9  # relative
UNCOUNTED = ("study", "plan")  # kinds with numbers that are not of items, such as worked examples
strict = with_config(ConfigDict(strict=True, extra="allow"))
Number = Annotated[float, Field(allow_inf_nan=False)] | None
Share = Annotated[float, Field(ge=0, le=1)] | None
Count = Annotated[int, Field(ge=0, le=2**63)]
PlotId = Annotated[str, Field(pattern=r"^\w[\w .+-]{0,150}$")]  # also a file name


@strict
class StoredModel(TypedDict):
    """Facts about a model."""

    id: str
    kind: NotRequired[str]
    architecture: NotRequired[str]
    parameters: NotRequired[Count | None]  # not known of an endpoint
    fingerprint: NotRequired[str]
    dtype: NotRequired[str]
    device: NotRequired[str]
    begin_rule: NotRequired[str]
    origin: NotRequired[dict[str, str]]
    warnings: NotRequired[list[str]]


@strict
class StoredData(TypedDict):
    """Facts about a dataset or a file."""

    name: str
    title: NotRequired[str | None]
    sha256: NotRequired[str | None]
    n: NotRequired[Count | None]
    subset_of: NotRequired[Count]
    sides: NotRequired[Annotated[list[str], Field(min_length=2, max_length=2)]]
    size: NotRequired[Count | None]
    verified: NotRequired[bool | None]
    citation: NotRequired[str | None]
    hub: NotRequired[str]
    revision: NotRequired[str]
    warnings: NotRequired[list[str]]


@strict
class StoredEstimate(TypedDict):
    """One number with its interval."""

    model: NotRequired[str]
    measure: str
    data: str
    group: str
    statistic: str
    value: Number
    low: Number
    high: Number
    null: Number
    signed: NotRequired[Number]
    n: Count
    ties: Count
    unscored: Count
    method: str
    p: NotRequired[Share]
    p_holm: NotRequired[Share]
    unit: NotRequired[str]
    design_effect: NotRequired[Annotated[float, Field(ge=0, allow_inf_nan=False)] | None]
    df: NotRequired[Annotated[float, Field(gt=0, allow_inf_nan=False)] | None]


@strict
class StoredCheck(TypedDict):
    """One check."""

    name: str
    ok: bool
    detail: str
    measures: NotRequired[list[str]]


@strict
class StoredValue(TypedDict):
    """A number with its interval in a cell of a table."""

    value: Number
    low: Number
    high: Number
    method: str


StoredCell = str | Annotated[int, Field(ge=-(2**63), le=2**63)] | Number | StoredValue


@strict
class StoredTable(TypedDict):
    """A table; its rows are objects by column."""

    title: str
    note: str
    digits: Annotated[int, Field(ge=0, le=20)]
    columns: list[str]
    rows: list[dict[str, StoredCell]]


@strict
class StoredPlot(TypedDict):
    """A plot with its Vega-Lite specification."""

    id: PlotId
    title: str
    alt: str
    chart: dict[str, Any]


@strict
class StoredFinding(TypedDict):
    """A section of a result."""

    name: str
    title: str
    lead: str
    answers: list[str]
    tables: list[StoredTable]
    plots: list[StoredPlot]
    notes: list[str]
    foot: str


@strict
class StoredContent(TypedDict):
    """What a table of the folder holds (`contents.py`)."""

    rows: Count
    sha256: str


@strict
class StoredResult(TypedDict):
    """The content of `result.json`."""

    schema: Literal[1]
    kind: ResultKind
    unmask: str
    title: str
    lead: str
    model: StoredModel | None
    models: NotRequired[list[StoredModel]]
    data: list[StoredData]
    options: dict[str, Any]
    request: NotRequired[dict[str, Any] | None]
    versions: dict[str, str]
    estimates: list[StoredEstimate]
    checks: list[StoredCheck]
    findings: list[StoredFinding]
    tables: dict[str, StoredContent]
    details: dict[str, Any]


@strict
class StoredMeasure(TypedDict):
    """What an audit records of each of its measures."""

    name: str
    title: str
    reads: str
    citation: str
    summary: str
    null: Number
    in_nats: bool
    decimals: int | None
    baseline: bool


@strict
class AuditDetails(TypedDict):
    """The details of an audit."""

    measures: list[StoredMeasure]


def check_result(meta: Any, where: str) -> dict[str, Any]:
    """The content of a result file, whose parts are as the code expects them; `ResultError` if they are not."""
    content: dict[str, Any] = meta
    if isinstance(meta, dict) and meta.get("schema") != SCHEMA:
        raise ResultError(f"{where} has schema {quote(meta.get('schema'))}; this unmask reads schema {SCHEMA}")
    validate(StoredResult, content, where, ResultError)
    if content["kind"] == "audit":
        if content["model"] is None:
            raise ResultError(f"{where}: model is None, expected the facts about the model that was audited")
        validate(AuditDetails, content["details"], f"{where}, details", ResultError)
        _check_counts(content, where)
    for estimate in content["estimates"]:
        _check_estimate(estimate, where)
        if content["kind"] not in UNCOUNTED:
            _check_number(estimate, where)
    for section in content["findings"]:
        for table in section["tables"]:
            _check_table(table, where)
    return content


def _check_estimate(estimate: dict[str, Any], where: str) -> None:
    """Refuse a value outside of its interval, or of its scale."""
    named = {name: estimate[name] for name in ("low", "value", "high") if estimate[name] is not None}
    numbers = list(named.values())
    rounding = ROUNDING * max(map(abs, numbers), default=0.0)
    if any(after < before - rounding for before, after in pairwise(numbers)):
        raise _impossible(estimate, where, "low ≤ value ≤ high")
    facts = statistic(estimate["statistic"])
    least, most = facts.scale
    if not facts.bounded:
        numbers = [each for each in (estimate["value"],) if each is not None]
    if not all(least - rounding <= number <= most + rounding for number in numbers):
        raise _impossible(estimate, where, _words_of(least, most))
    if estimate["null"] is not None and not least <= estimate["null"] <= most:
        raise _impossible(estimate, where, _words_of(least, most), "null")


def _words_of(least: float, most: float) -> str:
    """A scale in words."""
    return f"at least {least:g}" if most == inf else f"{least:g} to {most:g}"


def _check_number(estimate: dict[str, Any], where: str) -> None:
    """Refuse a value of no items."""
    if estimate["value"] is not None and not estimate["n"]:
        raise _impossible(estimate, where, "n above 0 where there is a value", "n")


def _check_counts(audit: dict[str, Any], where: str) -> None:
    """Refuse other data than those of the audit, more items than these have, and two estimates of one thing."""
    sizes = {data["name"]: data.get("n") for data in audit["data"]}
    measures = {measure["name"] for measure in audit["details"]["measures"]}
    keys = set()
    for estimate in audit["estimates"]:
        _check_number(estimate, where)
        if estimate["data"] not in sizes:
            known = ", ".join(sizes) or "none"
            raise _impossible(estimate, where, f"data of the audit ({known})", "data")
        if estimate["measure"] not in measures:
            raise _impossible(estimate, where, f"measures of the audit ({', '.join(sorted(measures))})", "measure")
        most = sizes[estimate["data"]]
        for name in ("n", "ties", "unscored"):
            if most is not None and estimate[name] > most:
                raise _impossible(estimate, where, f"at most the {most:,} items of {estimate['data']}", name)
        key = tuple(estimate[name] for name in ("measure", "data", "group", "statistic"))
        if key in keys:
            raise ResultError(f"{where} has two estimates of {', '.join(key)}: it was changed, run the command again")
        keys.add(key)


def _impossible(estimate: dict[str, Any], where: str, expected: str, *names: str) -> ResultError:
    """The error about numbers of an estimate that cannot be."""
    which = ", ".join(estimate[name] for name in ("measure", "data", "group", "statistic") if estimate[name])
    found = ", ".join(f"{name} {estimate[name]}" for name in names or ("value", "low", "high"))
    return ResultError(
        f"{where}: {quote(which)} has {found}; expected {expected}: it was changed, run the command again"
    )


def _check_table(table: dict[str, Any], where: str) -> None:
    """Refuse a table in which a row has no cell for a column."""
    wanted = set(table["columns"])
    if len(wanted) != len(table["columns"]):
        raise ResultError(f"{where}: the table {quote(table['title'])} has a column twice")
    for number, row in enumerate(table["rows"]):
        if missing := wanted - row.keys():
            raise ResultError(
                f"{where}: row {number} of the table {quote(table['title'])} has no {quote(min(missing))}: "
                "run the command again"
            )
