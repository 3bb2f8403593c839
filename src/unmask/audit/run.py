"""Audit a model: score datasets with measures, compute estimates and checks, write the result folder."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from unmask.audit.certified import Certificate, precision_checks, precisions_for, score_certified, widen
from unmask.audit.checks import Evidence, check_repeats, checks
from unmask.audit.parquet import Tables, group_columns
from unmask.audit.result import AuditResult
from unmask.audit.scoring import special_token_in
from unmask.audit.session import Data, engine_for, load_datasets, measures_for
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.options import Opening, Options, Precision, Serving, fill_groups
from unmask.core.progress import report_preparation, steps_of
from unmask.core.request import with_request
from unmask.core.types import Check, Dataset, Measure, Row
from unmask.data.items import list_warning
from unmask.findings.envelope import ITEMS, TOKENS, build
from unmask.findings.folder import ResultFolder, result_folder
from unmask.measures import MEASURES, select_measures
from unmask.models import Model, TextModel, open_lm
from unmask.stats import estimates
from unmask.stats.corrections import correct_headlines

DEFAULT_DATA = ("nine-axes", "triple-gender", "pronoun-templates")
# of every measure, so that a result can be read where the measure is not installed
RECORDED = ("name", "title", "reads", "citation", "summary", "null", "in_nats", "decimals", "baseline")
Plan = Sequence[tuple[Dataset, Sequence[Measure]]]


@with_request("audit", "model")
def audit(
    model: Model | None = None,
    *,
    data: Data | Sequence[Data] = DEFAULT_DATA,
    measures: str | Measure | Sequence[str | Measure] = (),
    out: str | Path | None = None,
    precision: Precision = "plain",
    independent: bool = False,
    **options: Any,
) -> AuditResult:
    """Audit a model: score datasets with measures; without arguments, the built-in model and data.

    Args:
        model: a hub name (`name@revision`), a folder, the URL of an endpoint, an opened `Lm`, or None for the
            built-in model.
        data: names of datasets, files of pairs, or loaded `Dataset`s.
        measures: names or `Measure` objects; default: those that fit the model and the data.
        out: the result folder; None: a temporary folder, deleted with the result.
        precision: "plain": all scores in the dtype of the model; "certified": in a faster one, and again in fp32 where
            the decision could differ.
        independent: intervals and tests as if pairs were independent, not over the writers, target terms, … they share.
        options: fields of `Opening` (device, dtype, …), `Serving` (served_model, …) and `Options` (limit, seed, …), or
            these groups themselves as `opening`, `serving` and `options`.
    """
    opening, serving, run = fill_groups(options, opening=Opening, serving=Serving, options=Options)
    if out is not None:
        with result_folder(out, "audit") as folder:
            return _audit(folder, model, data, measures, precision, independent, (opening, serving), run)
    temporary = Path(mkdtemp(prefix="unmask-"))
    try:
        with result_folder(temporary, "audit") as folder:
            result = _audit(folder, model, data, measures, precision, independent, (opening, serving), run)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    weakref.finalize(result, shutil.rmtree, temporary, True)
    return result


def _audit(  # noqa: PLR0913, PLR0917 - the parts of an audit
    folder: ResultFolder,
    model: Model | None,
    data: Data | Sequence[Data],
    measures: str | Measure | Sequence[str | Measure],
    precision: Precision,
    independent: bool,
    how: tuple[Opening, Serving],
    run: Options,
) -> AuditResult:
    """Audit a model into a folder that is open for it."""
    report_preparation(run.progress, "read the data")
    datasets = load_datasets(data, run)
    named = MEASURES.find_all(measures)  # an unknown name is an error before the model is loaded
    report_preparation(run.progress, "load the model")
    lm = open_lm(model, *how)
    select_measures(named, lm.kind)
    models = precisions_for(lm, precision)
    report_preparation(run.progress)
    datasets = [_with_special_tokens(dataset, lm) for dataset in datasets]
    plan = [(dataset, measures_for(dataset, named, lm.kind)) for dataset in datasets]
    if data is DEFAULT_DATA:  # of the default data, only what the measures can score
        plan = [(dataset, usable) for dataset, usable in plan if usable] or plan
    _refuse_unused(named, plan)
    facts: dict[str, Any] = {
        "models": [asdict(lm.facts)],
        "data": [dataset.facts() for dataset, _ in plan],
        "options": {
            "measures": [measure.name for measure in named],
            **{name: getattr(run, name) for name in ("limit", "seed", "tokens")},
            "precision": [each.facts.dtype for each in models],
            "independent": independent,
        },
    }
    details: dict[str, Any] = {
        "measures": [{name: getattr(measure, name) for name in RECORDED} for measure in _used_measures(plan)]
    }
    groups = group_columns([item for dataset, _ in plan for item in dataset.items])
    tables = Tables(folder.stage(ITEMS), folder.stage(TOKENS), groups)
    scored = _score(models, plan, tables, run, independent=independent)
    details |= {"precision": [asdict(each) for each in scored.certificates]}
    found = correct_headlines(scored.estimates, [measure.name for measure in _used_measures(plan) if measure.baseline])
    meta = build("audit", title=lm.facts.id, **facts, estimates=found, checks=scored.checks, details=details)
    assert folder.path is not None
    return AuditResult(folder.finish(meta).meta, folder.path)


def _with_special_tokens(data: Dataset, lm: TextModel) -> Dataset:
    """The data with a warning about the items that spell out a special token of the model; they are not scored."""
    found = {item.id: special for item in data.items if (special := special_token_in(item, lm))}
    listed = ", ".join(dict.fromkeys(found.values()))
    warnings = list_warning([*found], f"special tokens of this model written in them, and are not scored: {listed}")
    return replace(data, warnings=(*warnings, *data.warnings))


@dataclass(frozen=True, slots=True)
class _Scores:
    """What an audit computes beside its tables."""

    estimates: list[Estimate] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    certificates: list[Certificate] = field(default_factory=list)


def _score(models: Sequence[TextModel], plan: Plan, tables: Tables, options: Options, *, independent: bool) -> _Scores:
    """Score every dataset with its measures by a model in one precision or several; writes the tables."""
    found, lm = _Scores(), models[-1]
    with ExitStack() as stack:
        engines = [stack.enter_context(engine_for(each, options)) for each in models]
        for data, measures in plan:
            evidence, name = Evidence(), data.card.name
            certificates: list[Certificate] = []
            rows: dict[str, list[Row]] = {measure.name: [] for measure in measures}
            by_name = {measure.name: measure for measure in measures}
            step = steps_of(options.progress, name, len(data.items))
            chunks = score_certified(
                name, data.items, measures, engines, evidence=evidence, progress=step, certificates=certificates
            )
            for chunk in chunks:
                tables.add(chunk, lm)
                for scored in chunk:
                    row = scored.row
                    rows[row.measure].append(row)
                    evidence.add_difference(by_name[row.measure], row.difference, scored.difference_per_token)
            for measure in measures:
                own = rows[measure.name]
                values = estimates(measure, own, data=name, rng_seed=options.seed, independent=independent)
                found.estimates.extend(widen(values, certificates))
            found.certificates.extend(certificates)
            prefix = f"{name}/" if len(plan) > 1 else ""
            found.checks.extend(
                replace(each, name=prefix + each.name)
                for each in (
                    *checks(evidence, measures, rows, lm),
                    check_repeats(data.items),
                    *precision_checks(lm, certificates),
                )
            )
        tables.close()
    return found


def _used_measures(plan: Plan) -> list[Measure]:
    return list({measure.name: measure for _, measures in plan for measure in measures}.values())


def _refuse_unused(named: Sequence[Measure], plan: Plan) -> None:
    used = {measure.name for measure in _used_measures(plan)}
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
