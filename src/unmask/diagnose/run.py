"""Run diagnoses: each model is opened once, observed by every diagnosis, and closed again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from unmask.audit.plan import Data, engine_for, load_datasets
from unmask.audit.session import Session, unique_name
from unmask.core.errors import DataError, ModelError, UnmaskError
from unmask.core.estimate import Estimate
from unmask.core.options import Opening, Options, fill_groups
from unmask.core.types import Dataset
from unmask.diagnose import DIAGNOSES
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Finding, Section
from unmask.findings.envelope import Result, build, create, refuse_foreign
from unmask.models import Lm, open_lm
from unmask.models.builtin import BUILT_IN

EVERYTHING = "all"
Model = str | Path | Lm


@dataclass(frozen=True, slots=True)
class DiagnosisCase:
    """One diagnosis with its models and data, and what was collected while running it."""

    diagnosis: Diagnosis
    models: tuple[Model, ...]
    data: tuple[Dataset, ...]
    observations: list[DiagnosisObservation] = field(default_factory=list)
    sentences_run: dict[str, int] = field(default_factory=dict)  # by model: inputs not in the store
    notes: list[str] = field(default_factory=list)


def diagnose(
    names: str | Diagnosis | Sequence[str | Diagnosis],
    models: Model | Sequence[Model] = (),
    *,
    data: Data | Sequence[Data] = (),
    out: str | Path | None = None,
    **options: Any,
) -> Result:
    """Run every diagnosis on every model.

    With several diagnoses, each uses the datasets that suit it, or its default data if none does; with a
    single one, unsuitable data raise DataError.

    Args:
        names: names of diagnoses, `Diagnosis` objects, or "all".
        models: hub names, folders or opened `Lm`s; default: those of the diagnosis, or the built-in model.
        data: names of datasets, files of pairs, or loaded `Dataset`s; default: those of the diagnosis.
        out: the result folder; None: nothing is written.
        options: fields of `DiagnosisSettings` (measures, draws, …), `Opening` and `Options`, or these groups
            themselves as `settings`, `opening` and `options`.
    """
    settings, opening, run = fill_groups(options, settings=DiagnosisSettings, opening=Opening, options=Options)
    if out is not None:
        refuse_foreign(Path(out))
    chosen = list(DIAGNOSES.values()) if names == EVERYTHING else DIAGNOSES.find_all(names)
    listed = [models] if isinstance(models, str | Path | Lm) else list(models)
    cases = _cases(chosen, listed, data, run)
    for model in dict.fromkeys(model for case in cases for model in case.models):
        _observe(model, cases, settings, opening, run)
    facts = {each.names[0]: dict(each.model) for case in cases for each in case.observations}
    concluded = [_conclude(case, settings, alone=len(cases) == 1) for case in cases]
    estimates = [each for _, own in concluded for each in own if math.isfinite(each.value)]
    meta = build(
        "diagnosis",
        title="Diagnosis of bias measures",
        lead="This page tests the measures, not the models: what do their scores depend on besides bias? "
        f"Models: {', '.join(facts)}.",
        models=list(facts.values()),
        data={each.card.name: each.facts() for case in cases for each in case.data}.values(),
        options={**asdict(settings), "limit": run.limit, "tokens": run.tokens},
        estimates=estimates if len(facts) > 1 else [replace(each, model="") for each in estimates],
        findings=[section for section, _ in concluded],
        details={
            case.diagnosis.name: {"sentences_run": case.sentences_run, **case.diagnosis.details(case.observations)}
            for case in cases
        },
    )
    return create(meta, out)


def _cases(
    diagnoses: Sequence[Diagnosis], models: Sequence[Model], data: Data | Sequence[Data], options: Options
) -> list[DiagnosisCase]:
    requested = [data] if isinstance(data, str | Path | Dataset) else list(data)
    loaded_data = load_datasets(requested, options) if requested else []
    cases = []
    for diagnosis in diagnoses:
        reasons = {dataset.card.name: diagnosis.unfit_reason(dataset) for dataset in loaded_data}
        fit = [dataset for dataset in loaded_data if not reasons[dataset.card.name]]
        lacking = [f"{diagnosis.name} cannot read {name}: {why}" for name, why in reasons.items() if why]
        if lacking and len(diagnoses) == 1:
            raise DataError(f"{lacking[0]}; without `data` it uses {', '.join(diagnosis.data)}")
        notes = lacking if not fit else []
        own = diagnosis.models if diagnosis.models and (not models or len(diagnoses) > 1) else tuple(models)
        try:
            datasets = tuple(fit or load_datasets(diagnosis.data, options))
        except DataError as error:
            if len(diagnoses) == 1:
                raise
            datasets, notes = (), [*notes, str(error)]
        cases.append(DiagnosisCase(diagnosis, own or (BUILT_IN,), datasets, notes=notes))
    return cases


def _observe(
    model: Model, cases: Sequence[DiagnosisCase], settings: DiagnosisSettings, opening: Opening, options: Options
) -> None:
    """Open one model and run every diagnosis that includes it."""
    lm = model if isinstance(model, Lm) else open_lm(model, opening)
    name = unique_name(lm.facts.id, {known for case in cases for known in case.sentences_run})
    with engine_for(lm, options) as engine:
        session = Session(engine, options.progress)
        for case in cases:
            if model not in case.models:
                continue
            if lm.kind not in case.diagnosis.kinds:
                kinds = " or ".join(case.diagnosis.kinds)
                why = f"{case.diagnosis.name} needs {kinds} models; {name} is {lm.kind}"
                if len(cases) == 1:
                    raise ModelError(f"{why}: use another model")
                case.notes.append(why)
                continue
            before = engine.rows_run
            for data in case.data:
                try:
                    result = case.diagnosis.observe(session, data, settings)
                except UnmaskError as error:
                    if len(cases) == 1:
                        raise
                    case.notes.append(f"{data.card.name}: {error}")
                else:
                    facts = session.facts | {"id": name}
                    case.observations.append(DiagnosisObservation(facts, data, result))
            case.sentences_run[name] = engine.rows_run - before


def _conclude(case: DiagnosisCase, settings: DiagnosisSettings, *, alone: bool) -> tuple[Section, list[Estimate]]:
    """The finding, with what was left out in its notes, and the estimates of one diagnosis."""
    diagnosis, finding, estimates = case.diagnosis, Finding((), ()), list[Estimate]()
    try:
        if case.observations:
            finding = diagnosis.conclude(case.observations, settings)
            estimates = list(diagnosis.estimates(case.observations, settings))
    except UnmaskError as error:
        if alone:
            raise
        case.notes.append(str(error))
    finding = replace(finding, notes=(*finding.notes, *case.notes))
    counts = " ".join(f"{name}: {rows:,} new sentences run." for name, rows in case.sentences_run.items())
    foot = f"Data: {', '.join(data.card.title for data in case.data)}. {counts}"
    return Section(diagnosis.name, diagnosis.title, diagnosis.question, finding, foot), estimates
