"""Audit a model: score datasets with measures, compute estimates and checks, write the result folder."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from unmask.audit.checks import Evidence, checks
from unmask.audit.parquet import Tables, group_columns
from unmask.audit.plan import Data, engine_for, load_datasets, measures_for
from unmask.audit.result import AuditResult
from unmask.audit.scoring import score_items
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.files import write_json
from unmask.core.options import Opening, Options, fill_groups
from unmask.core.progress import steps_of
from unmask.core.types import Check, Dataset, Measure, Row
from unmask.findings.envelope import RESULT, build, refuse_foreign
from unmask.measures import MEASURES, select_measures
from unmask.models import Lm, open_lm
from unmask.stats import estimates

DEFAULT_DATA = ("nine-axes", "triple-gender", "pronoun-templates")
# of every measure, so that a result can be read where the measure is not installed
RECORDED = ("name", "title", "reads", "citation", "summary", "null", "in_nats", "decimals")
Plan = Sequence[tuple[Dataset, Sequence[Measure]]]


def audit(
    model: str | Path | Lm | None = None,
    *,
    data: Data | Sequence[Data] = DEFAULT_DATA,
    measures: str | Measure | Sequence[str | Measure] = (),
    out: str | Path | None = None,
    **options: Any,
) -> AuditResult:
    """Audit a model: score datasets with measures; without arguments, the built-in model and data.

    Args:
        model: a hub name (`name@revision`), a folder, an opened `Lm`, or None for the built-in model.
        data: names of datasets, files of pairs, or loaded `Dataset`s.
        measures: names or `Measure` objects; default: those that fit the model and the data.
        out: the result folder; None: a temporary folder, deleted with the result.
        options: fields of `Opening` (device, dtype, …) and `Options` (limit, seed, …), or these groups
            themselves as `opening` and `options`.
    """
    opening, run = fill_groups(options, opening=Opening, options=Options)
    if out is not None:
        refuse_foreign(Path(out))
    datasets = load_datasets(data, run)
    named = MEASURES.find_all(measures)  # an unknown name is an error before the model is loaded
    lm = model if isinstance(model, Lm) else open_lm(model, opening)
    select_measures(named, lm.kind)
    plan = [(dataset, measures_for(dataset, named, lm.kind)) for dataset in datasets]
    if data is DEFAULT_DATA:  # of the default data, only what the measures can score
        plan = [(dataset, usable) for dataset, usable in plan if usable] or plan
    _refuse_unused(named, plan)
    names = [measure.name for measure in named]
    folder = Path(mkdtemp(prefix="unmask-")) if out is None else Path(out)
    values, passed = _score(lm, plan, folder, run)
    meta = build(
        "audit",
        title=lm.facts.id,
        models=[asdict(lm.facts)],
        data=[dataset.facts() for dataset, _ in plan],
        options={"measures": names, "limit": run.limit, "seed": run.seed, "tokens": run.tokens},
        estimates=values,
        checks=passed,
        details={"measures": [{name: getattr(measure, name) for name in RECORDED} for measure in _used(plan)]},
    )
    result = AuditResult(write_json(folder / RESULT, meta), folder)
    if out is None:
        weakref.finalize(result, shutil.rmtree, folder, True)
    return result


def _score(lm: Lm, plan: Plan, folder: Path, options: Options) -> tuple[list[Estimate], list[Check]]:
    """Score every dataset with its measures; writes the tables, returns estimates and checks."""
    (folder / RESULT).unlink(missing_ok=True)  # an earlier result must not stand beside new tables
    tables = Tables(folder, group_columns([item for data, _ in plan for item in data.items]))
    values: list[Estimate] = []
    passed: list[Check] = []
    with engine_for(lm, options) as engine:
        for data, measures in plan:
            evidence, name = Evidence(), data.card.name
            rows: dict[str, list[Row]] = {measure.name: [] for measure in measures}
            step = steps_of(options.progress, name, len(data.items))
            for chunk in score_items(name, data.items, measures, engine, evidence=evidence, progress=step):
                tables.add(chunk, lm)
                for scored in chunk:
                    rows[scored.row.measure].append(scored.row)
            for measure in measures:
                values.extend(estimates(measure, rows[measure.name], data=name, rng_seed=options.seed))
            prefix = f"{name}/" if len(plan) > 1 else ""
            passed.extend(
                Check(prefix + each.name, each.ok, each.detail) for each in checks(evidence, measures, rows, lm)
            )
        tables.close()
    return values, passed


def _used(plan: Plan) -> list[Measure]:
    return list({measure.name: measure for _, measures in plan for measure in measures}.values())


def _refuse_unused(named: Sequence[Measure], plan: Plan) -> None:
    used = {measure.name for measure in _used(plan)}
    unused = [measure for measure in named if measure.name not in used]
    if unused:
        needs = f"must have {', '.join(unused[0].needs)}" if unused[0].needs else "must be pairs"
        listed = ", ".join(data.card.name for data, _ in plan)
        names = ", ".join(measure.name for measure in unused)
        raise DataError(f"{names} cannot be computed on {listed}: items {needs}")
    bare = [data.card.name for data, measures in plan if not measures]
    if bare:
        raise DataError(
            f"none of the given measures can be computed on {', '.join(bare)}: leave it out or name another measure"
        )
