"""Run diagnoses: each model is opened once, observed by every diagnosis, and closed again."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from unmask.audit.session import Data, Session, engine_for, load_datasets, unique_name
from unmask.core.errors import DataError, ModelError, UnmaskError
from unmask.core.estimate import Estimate
from unmask.core.options import Opening, Options, fill_groups
from unmask.core.request import with_request
from unmask.core.types import Dataset
from unmask.data.matrices import ScoreMatrix
from unmask.diagnose import DIAGNOSES, EVERYTHING
from unmask.diagnose.doses import dosed_models
from unmask.diagnose.inputs import Inputs
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Finding, Section
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.models import Engine, Model, TextModel, list_models, open_lm
from unmask.models.builtin import BUILT_IN

LISTED = 12  # models named at the top of the page


@dataclass(frozen=True, slots=True)
class DiagnosisCase:
    """One diagnosis with its models and data, and what was collected while running it."""

    diagnosis: Diagnosis
    models: tuple[Model, ...]  # to be opened and observed
    data: tuple[Dataset, ...]  # on which they are observed
    observations: list[DiagnosisObservation] = field(default_factory=list)
    sentences_run: dict[str, int] = field(default_factory=dict)  # by model: inputs not in the store
    notes: list[str] = field(default_factory=list)


@with_request("diagnose", "models", target="names")
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
        models: hub names, folders or opened `Lm`s; default: those of the diagnosis, or the built-in model. For
            `reliability` and `invariance` also result folders of audits.
        data: names of datasets, files of pairs, or loaded `Dataset`s; default: those of the diagnosis. For
            `reliability` and `invariance` also published scores by name, tables of scores, or `ScoreMatrix`es.
        out: the result folder; None: nothing is written.
        options: fields of `DiagnosisSettings` (measures, draws, …), `Opening` and `Options`, or these groups
            themselves as `settings`, `opening` and `options`.
    """
    settings, opening, run = fill_groups(options, settings=DiagnosisSettings, opening=Opening, options=Options)
    with result_folder(out, "diagnosis") as folder:
        return folder.finish(_content(names, models, data, settings, opening, run))


def _content(
    names: str | Diagnosis | Sequence[str | Diagnosis],
    models: Model | Sequence[Model],
    data: Data | Sequence[Data],
    settings: DiagnosisSettings,
    opening: Opening,
    run: Options,
) -> dict[str, Any]:
    """The content of `result.json`."""
    chosen = list(DIAGNOSES.values()) if names == EVERYTHING else DIAGNOSES.find_all(names)
    listed = list_models(models)
    if settings.doses is not None and not listed:
        listed = [*dosed_models(settings.doses).references.values()]
    inputs = Inputs.of(listed, [data] if isinstance(data, str | Path | Dataset | ScoreMatrix) else list(data), run)
    cases = [_case(diagnosis, inputs, run, alone=len(chosen) == 1) for diagnosis in chosen]
    for model in dict.fromkeys(model for case in cases for model in case.models):
        _observe(model, cases, settings, opening, run)
    facts = {each["id"]: each for case in cases for seen in case.observations for each in seen.models}
    data_facts = {each.card.name: each.facts() for case in cases for each in case.data}
    data_facts |= {seen.names[1]: seen.data_facts() for case in cases for seen in case.observations}
    concluded = [_conclude(case, settings, alone=len(cases) == 1) for case in cases]
    estimates = [each for _, own in concluded for each in own if math.isfinite(each.value)]
    return build(
        "diagnosis",
        title="Diagnosis of bias measures",
        lead="This page tests the measures, not the models: what do their scores depend on besides bias? "
        f"Models: {_listed(facts)}.",
        models=list(facts.values()),
        data=data_facts.values(),
        options={**asdict(settings), "limit": run.limit, "tokens": run.tokens},
        estimates=estimates if len(facts) > 1 else [replace(each, model="") for each in estimates],
        findings=[section for section, _ in concluded],
        details={
            case.diagnosis.name: {"sentences_run": case.sentences_run, **_details(case, settings)} for case in cases
        },
    )


def _case(diagnosis: Diagnosis, given: Inputs, options: Options, *, alone: bool) -> DiagnosisCase:
    """The models and data of one diagnosis; what does not suit it is an error if it is the only one, else a note."""
    if given.are_scores:
        return _case_of_scores(diagnosis, given)
    reasons = {dataset.card.name: diagnosis.unfit_reason(dataset) for dataset in given.data}
    fit = [dataset for dataset in given.data if not reasons[dataset.card.name]]
    lacking = [f"{diagnosis.name} cannot read {name}: {why}" for name, why in reasons.items() if why]
    if lacking and alone:
        raise DataError(f"{lacking[0]}; without `data` it uses {', '.join(diagnosis.data)}")
    notes = lacking if not fit else []
    own = diagnosis.models if diagnosis.models and (not given.models or not alone) else given.models
    try:
        known = tuple(fit or load_datasets(diagnosis.data, options))
    except DataError as error:
        if alone:
            raise
        known, notes = (), [*notes, str(error)]
    return DiagnosisCase(diagnosis, own or (BUILT_IN,), known, notes=notes)


def _case_of_scores(diagnosis: Diagnosis, given: Inputs) -> DiagnosisCase:
    """A case in which no model is opened."""
    if not diagnosis.takes_scores:
        able = " and ".join(each.name for each in DIAGNOSES.values() if each.takes_scores)
        raise DataError(f"{diagnosis.name} opens models; result folders and scores are read by {able}")
    if given.models:
        raise DataError(f"{given.models[0]} is no result folder: give models, or result folders of all of them")
    return DiagnosisCase(diagnosis, (), (), given.observations())


def _listed(names: Collection[str]) -> str:
    """The names of models, or how many there are."""
    return ", ".join(names) if len(names) <= LISTED else str(len(names))


def _details(case: DiagnosisCase, settings: DiagnosisSettings) -> Mapping[str, Any]:
    """What a diagnosis lists besides numbers; nothing if it could not conclude."""
    try:
        return case.diagnosis.details(case.observations, settings)
    except UnmaskError:  # noted by `_conclude`
        return {}


def _observe(
    model: Model, cases: Sequence[DiagnosisCase], settings: DiagnosisSettings, opening: Opening, options: Options
) -> None:
    """Open one model and run every diagnosis that includes it."""
    lm = open_lm(model, opening)
    name = unique_name(lm.facts.id, {known for case in cases for known in case.sentences_run})

    @contextmanager
    def reopen(dtype: str) -> Iterator[Engine]:
        other = open_lm(cast("str | Path", model), replace(opening, dtype=cast("Any", dtype), tf32=False))
        with engine_for(other, options) as engine:
            yield engine

    with engine_for(lm, options) as engine:
        session = Session(engine, options.progress, None if isinstance(model, TextModel) else reopen)
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
    titles = dict.fromkeys(data.card.title for data in (*case.data, *(each.data for each in case.observations)))
    foot = f"Data: {', '.join(titles)}. {counts}".strip()
    return Section(diagnosis.name, diagnosis.title, diagnosis.question, finding, foot), estimates
