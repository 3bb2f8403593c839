"""Audit a model: score datasets with measures, compute estimates and checks, write the result folder."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from unmask.audit.checks import Evidence, check_precision, check_repeats, checks
from unmask.audit.parquet import Tables, group_columns
from unmask.audit.result import AuditResult
from unmask.audit.scoring import score_items, special_token_in
from unmask.audit.session import Data, engine_for, load_datasets, measures_for
from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate
from unmask.core.options import Opening, Options, Precision, Serving, fill_groups
from unmask.core.progress import report_preparation, steps_of
from unmask.core.request import with_request
from unmask.core.types import Check, Dataset, Measure, Row
from unmask.data.items import list_warning
from unmask.findings.envelope import ITEMS, TOKENS, build
from unmask.findings.folder import ResultFolder, result_folder
from unmask.measures import MEASURES, select_measures
from unmask.models import Answerer, Model, TextModel, open_lm
from unmask.models.lm import FP32
from unmask.stats import estimates
from unmask.stats.corrections import correct_headlines

if TYPE_CHECKING:
    from unmask.audit.certified import Certificate

DEFAULT_DATA = ("nine-axes", "triple-gender", "pronoun-templates")
# of every measure, so that a result can be read where the measure is not installed
RECORDED = ("name", "title", "reads", "citation", "summary", "null", "in_nats", "decimals", "baseline")


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
    path = Path(mkdtemp(prefix="unmask-")) if out is None else Path(out)
    try:
        with result_folder(path, "audit") as folder:
            report_preparation(run.progress, "read the data")
            datasets = load_datasets(data, run)
            named = MEASURES.find_all(measures)  # an unknown name is an error before the model is loaded
            report_preparation(run.progress, "load the model")
            lm = open_lm(model, opening, serving)
            plan = AuditPlan.of(datasets, named, lm, usable_only=data is DEFAULT_DATA)
            models = precisions_of(lm, precision)
            report_preparation(run.progress)
            scores = plan.score(models, folder, run, independent=independent)
            facts = {
                "measures": [measure.name for measure in named],
                **{name: getattr(run, name) for name in ("limit", "seed", "tokens")},
                "precision": [each.facts.dtype for each in models],
                "independent": independent,
            }
            meta = build(
                "audit",
                title=lm.facts.id,
                models=[asdict(lm.facts)],
                data=[dataset.facts() for dataset, _ in plan.parts],
                options=facts,
                estimates=correct_headlines(scores.estimates, [each.name for each in plan.measures if each.baseline]),
                checks=scores.checks,
                details={
                    "measures": [{name: getattr(each, name) for name in RECORDED} for each in plan.measures],
                    "precision": [asdict(each) for each in scores.certificates],
                },
            )
            result = AuditResult(folder.finish(meta).meta, path)
    except BaseException:
        if out is None:
            shutil.rmtree(path, ignore_errors=True)
        raise
    if out is None:
        weakref.finalize(result, shutil.rmtree, path, True)
    return result


def precisions_of(lm: TextModel, precision: Precision) -> tuple[TextModel, ...]:
    """The precisions in which an audit scores, the fastest first; ModelError if there can be only one."""
    if precision == "plain":
        return (lm,)
    if lm.facts.dtype not in FP32:
        raise ModelError(f"dtype is {lm.facts.dtype}, but certified decisions are those of fp32: leave out the dtype")
    return lm.precisions


@dataclass(slots=True)
class AuditScores:
    """What an audit computes beside its tables."""

    estimates: list[Estimate] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    certificates: list[Certificate] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What an audit scores: datasets, each with its measures."""

    parts: Sequence[tuple[Dataset, Sequence[Measure]]]

    @classmethod
    def of(
        cls, datasets: Sequence[Dataset], named: Sequence[Measure], lm: TextModel, *, usable_only: bool = False
    ) -> AuditPlan:
        """The datasets with the measures named, or with their defaults; refuses measures that fit none of them.

        `usable_only`: leave out datasets that the measures named cannot score, unless they can score none.
        """
        select_measures(named, lm.kind)
        parts = [(_with_special_tokens(data, lm), measures_for(data, named, lm.kind)) for data in datasets]
        if usable_only:
            parts = [(data, usable) for data, usable in parts if usable] or parts
        plan = cls(parts)
        listed = ", ".join(data.card.name for data, _ in parts)
        if unused := [measure for measure in named if measure not in plan.measures]:
            needs = f"must have {', '.join(unused[0].needs)}" if unused[0].needs else "must be pairs"
            names = ", ".join(measure.name for measure in unused)
            raise DataError(f"{names} cannot be computed on {listed}: items {needs}")
        if bare := [data.card.name for data, usable in parts if not usable]:
            raise DataError(
                f"none of the given measures can be computed on {', '.join(bare)}: leave it out or name another measure"
            )
        return plan

    @property
    def measures(self) -> list[Measure]:
        """The measures that are used."""
        return list({measure.name: measure for _, measures in self.parts for measure in measures}.values())

    def score(
        self, models: Sequence[TextModel], folder: ResultFolder, options: Options, *, independent: bool
    ) -> AuditScores:
        """Score every dataset with its measures by a model in one precision or several; writes the tables."""
        scores = AuditScores()
        groups = group_columns([item for data, _ in self.parts for item in data.items])
        tables = Tables(folder.stage(ITEMS), folder.stage(TOKENS), groups)
        with ExitStack() as stack:
            engines = [stack.enter_context(engine_for(each, options)) for each in models]
            for data, measures in self.parts:
                part = _score_dataset(data, measures, engines, tables, options, independent=independent)
                prefix = f"{data.card.name}/" if len(self.parts) > 1 else ""
                scores.estimates += part.estimates
                scores.checks += [replace(check, name=prefix + check.name) for check in part.checks]
                scores.certificates += part.certificates
            tables.close()
        return scores


def _score_dataset(
    data: Dataset,
    measures: Sequence[Measure],
    engines: Sequence[Answerer],
    tables: Tables,
    options: Options,
    *,
    independent: bool,
) -> AuditScores:
    """Score one dataset with its measures, in the precision of each engine as far as it decides."""
    scores, evidence, name, lm = AuditScores(), Evidence(), data.card.name, engines[-1].lm
    rows: dict[str, list[Row]] = {measure.name: [] for measure in measures}
    by_name = {measure.name: measure for measure in measures}
    step = steps_of(options.progress, name, len(data.items))
    if len(engines) > 1:
        from unmask.audit.certified import certificate_check, score_certified, widen

        chunks = score_certified(
            name, data.items, measures, engines, evidence=evidence, progress=step, certificates=scores.certificates
        )
    else:
        chunks = score_items(name, data.items, measures, engines[0], evidence=evidence, progress=step)
    for chunk in chunks:
        tables.add(chunk, lm)
        for scored in chunk:
            row = scored.row
            rows[row.measure].append(row)
            evidence.add_difference(by_name[row.measure], row.difference, scored.difference_per_token)
    for measure in measures:
        own = rows[measure.name]
        scores.estimates += estimates(measure, own, data=name, rng_seed=options.seed, independent=independent)
    scores.checks += [*checks(evidence, measures, rows, lm), check_repeats(data.items)]
    if scores.certificates:
        scores.estimates = widen(scores.estimates, scores.certificates)
        scores.checks.append(certificate_check(scores.certificates))
    else:
        scores.checks += check_precision(lm)
    return scores


def _with_special_tokens(data: Dataset, lm: TextModel) -> Dataset:
    """The data with a warning about the items that spell out a special token of the model; they are not scored."""
    specials = {item.id: special for item in data.items if (special := special_token_in(item, lm))}
    listed = ", ".join(dict.fromkeys(specials.values()))
    warnings = list_warning([*specials], f"special tokens of this model written in them, and are not scored: {listed}")
    return replace(data, warnings=(*warnings, *data.warnings))
