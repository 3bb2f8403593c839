"""The public functions: `audit` a model, `compare` results, `gate` a result against a baseline."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from unmask.audit.checks import Evidence, checks
from unmask.audit.parquet import Tables, group_columns
from unmask.audit.plan import (
    Data,
    Options,
    data_facts,
    engine_for,
    load_datasets,
    measures_for,
    opening_for,
    refuse_foreign,
    versions,
    write_json,
)
from unmask.audit.result import ITEMS, RESULT, SCHEMA, TOKENS, Result, as_json, load
from unmask.audit.scoring import score_items
from unmask.core.errors import DataError, ResultError, StatsError
from unmask.core.estimate import Estimate
from unmask.core.types import Check, Dataset, Measure, Row, Side
from unmask.measures import find, select_measures
from unmask.models import Lm, open_lm
from unmask.models.loading import Opening
from unmask.stats import Comparison, GateResult, apply_holm, comparisons, estimates
from unmask.stats import gate as gate_measure

DEFAULT_DATA = ("nine-axes", "triple-gender", "pronoun-templates")


def audit(
    model: str | Path | Lm | None = None,
    *,
    data: Data | Sequence[Data] = DEFAULT_DATA,
    measures: str | Sequence[str] = (),
    out: str | Path | None = None,
    opening: Opening | None = None,
    options: Options | None = None,
) -> Result:
    """Audit a model: score datasets with measures; without arguments, the built-in model and data.

    Args:
        model: a hub name (`name@revision`), a folder, an opened `Lm`, or None for the built-in model.
        data: names of datasets, files of pairs, or loaded `Dataset`s.
        measures: names; default: those that fit the model and the data.
        out: the result folder; None: a temporary folder, deleted with the result.
        opening: device, dtype and safety options for loading the model.
        options: limit, seed, batch size, store, data folder, progress.
    """
    options = options or Options()
    if options.seed < 0:
        raise StatsError(f"seed is {options.seed}, expected a number of at least 0")
    if out is not None:
        refuse_foreign(Path(out), (RESULT, ITEMS, TOKENS))
    datasets = load_datasets(data, options)
    names = [measures] if isinstance(measures, str) else list(measures)
    for name in names:
        find(name)
    lm = model if isinstance(model, Lm) else open_lm(model, opening_for(opening, options))
    plan = [
        (dataset, measures_for(dataset, select_measures(names, lm.kind), lm.kind)) for dataset in datasets
    ]
    if data is DEFAULT_DATA:  # of the default data, only what the measures can score
        plan = [(dataset, usable) for dataset, usable in plan if usable] or plan
    _refuse_unused(names, plan)
    folder = Path(mkdtemp(prefix="unmask-")) if out is None else Path(out)
    output = _run(lm, plan, folder, options)
    meta = write_json(folder / RESULT, _meta(lm, [dataset for dataset, _ in plan], output, names, options))
    result = Result(meta, folder)
    if out is None:
        weakref.finalize(result, shutil.rmtree, folder, True)
    return result


def compare(
    first: Result | str | Path, *others: Result | str | Path, categories: bool = False, seed: int = 0
) -> tuple[Comparison, ...]:
    """Compare every statistic that a result shares with the first, item by item; optionally by category.

    P-values are corrected for the number of comparisons; `run` is the index of the other result.
    """
    a, *rest = (result if isinstance(result, Result) else load(result) for result in (first, *others))
    return apply_holm(
        [
            replace(comparison, run=number)
            for number, b in enumerate(rest, start=1)
            for measure, data, rows_a, rows_b in _shared_rows(a, b)
            for comparison in comparisons(measure, rows_a, rows_b, data=data, rng_seed=seed)
            if categories or comparison.group == "all"
        ]
    )


def gate(
    candidate: Result,
    baseline: Result,
    *,
    measures: Sequence[str] = (),
    tolerance: float = 0.0,
    seed: int = 0,
) -> tuple[GateResult, ...]:
    """Test for each shared measure whether the candidate is significantly worse than the baseline."""
    return tuple(
        gate_measure(measure, rows_a, rows_b, data=data, rng_seed=seed, tolerance=tolerance)
        for measure, data, rows_a, rows_b in _shared_rows(baseline, candidate)
        if not measures or measure.name in measures
    )


@dataclass(frozen=True, slots=True)
class _AuditOutput:
    estimates: list[Estimate]
    checks: list[Check]


def _run(
    lm: Lm, plan: Sequence[tuple[Dataset, Sequence[Measure]]], folder: Path, options: Options
) -> _AuditOutput:
    output = _AuditOutput([], [])
    with engine_for(lm, options) as engine:
        (folder / RESULT).unlink(missing_ok=True)
        tables = Tables(folder, group_columns(item for data, _ in plan for item in data.items))
        for data, measures in plan:
            evidence, rows = Evidence(), {measure.name: list[Row]() for measure in measures}
            for chunk in score_items(
                data.card.name,
                data.items,
                measures,
                engine,
                evidence=evidence,
                progress=_step(options, data),
            ):
                tables.add(chunk, lm)
                for scored in chunk:
                    rows[scored.row.measure].append(scored.row)
            for measure in measures:
                of_measure = rows[measure.name]
                output.estimates.extend(
                    estimates(measure, of_measure, data=data.card.name, rng_seed=options.seed)
                )
            output.checks.extend(
                _label_checks(checks(evidence, measures, rows, lm), data, several=len(plan) > 1)
            )
        tables.close()
    return output


def _label_checks(unlabelled: Sequence[Check], data: Dataset, *, several: bool) -> list[Check]:
    """With several datasets, prefix the name of a check with that of its dataset."""
    return [
        Check(f"{data.card.name}/{check.name}" if several else check.name, check.ok, check.detail)
        for check in unlabelled
    ]


def _refuse_unused(names: Sequence[str], plan: Sequence[tuple[Dataset, Sequence[Measure]]]) -> None:
    used = {measure.name for _, measures in plan for measure in measures}
    unused = [name for name in names if name not in used]
    if unused:
        needs = f"must have {', '.join(find(unused[0]).needs)}" if find(unused[0]).needs else "must be pairs"
        listed = ", ".join(data.card.name for data, _ in plan)
        raise DataError(f"{', '.join(unused)} cannot be computed on {listed}: items {needs}")
    bare = [data.card.name for data, measures in plan if not measures]
    if bare:
        raise DataError(
            f"none of the given measures can be computed on {', '.join(bare)}: "
            "leave it out or name another measure"
        )


def _step(options: Options, data: Dataset) -> Callable[[float], None]:
    report = options.progress
    if report is None:
        return lambda _: None
    return lambda share: report(data.card.name, share, len(data.items))


def _meta(
    lm: Lm, datasets: Sequence[Dataset], output: _AuditOutput, names: Sequence[str], options: Options
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "unmask": version("unmask"),
        "model": asdict(lm.facts),
        "data": [data_facts(dataset) for dataset in datasets],
        "options": {
            "measures": list(names),
            "limit": options.limit,
            "seed": options.seed,
            "tokens": options.tokens,
        },
        "versions": versions(),
        "estimates": [as_json(estimate) for estimate in output.estimates],
        "checks": [as_json(check) for check in output.checks],
    }


def _shared_rows(a: Result, b: Result) -> Iterator[tuple[Measure, str, list[Row], list[Row]]]:
    """The rows of every measure and dataset that both results share."""
    ours, theirs = _rows(a), _rows(b)
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise ResultError(
            "the results share no measure on the same data: audit both models with the same options"
        )
    for measure, data in shared:
        yield find(measure), data, ours[measure, data], theirs[measure, data]


def _rows(result: Result) -> dict[tuple[str, str], list[Row]]:
    rows: dict[tuple[str, str], list[Row]] = {}
    sides: tuple[Side, ...] = ("more", "less", "unrelated")
    fixed = {"measure", "data", "item", "more", "less", "unrelated", "difference", "outcome", "reason"}
    for record in result.items.to_pylist():
        groups = {key: value for key, value in record.items() if key not in fixed and isinstance(value, str)}
        scores = {side: record[side] for side in sides if record[side] is not None}
        row = Row(
            record["measure"],
            record["data"],
            record["item"],
            groups,
            scores,
            record["outcome"],
            record["reason"],
        )
        rows.setdefault((row.measure, row.data), []).append(row)
    return rows
