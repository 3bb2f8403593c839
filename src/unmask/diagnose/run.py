"""Run diagnoses: each model is opened once, observed by every diagnosis, and closed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask import findings
from unmask.audit.plan import Data, engine_for, load_datasets
from unmask.audit.session import Session
from unmask.core.errors import DataError, ModelError, UnmaskError
from unmask.core.files import write_json
from unmask.core.options import Opening, Options
from unmask.core.types import Dataset
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Finding
from unmask.findings.envelope import refuse_foreign, versions
from unmask.models import open_lm
from unmask.models.builtin import BUILT_IN

SCHEMA = 1
DIAGNOSIS = "diagnosis.json"


@dataclass(frozen=True, slots=True)
class DiagnosisCase:
    """One diagnosis with its models and data, and what was collected while running it."""

    diagnosis: Diagnosis
    models: tuple[str, ...]
    data: tuple[Dataset, ...]
    observations: list[DiagnosisObservation] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)  # by model: rows run that were not in the store
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DiagnosisResult:
    """The finding of one diagnosis, and what it ran on."""

    diagnosis: Diagnosis
    finding: Finding
    models: tuple[Mapping[str, Any], ...]
    data: tuple[Dataset, ...]
    asked: Mapping[str, int]


def run(  # noqa: PLR0913 - what a run is made of
    diagnoses: Sequence[Diagnosis],
    models: Sequence[str | Path] = (),
    *,
    data: Data | Sequence[Data] = (),
    settings: DiagnosisSettings | None = None,
    out: str | Path | None = None,
    opening: Opening | None = None,
    options: Options | None = None,
) -> tuple[DiagnosisResult, ...]:
    """Run every diagnosis on every model; writes `diagnosis.json` to the folder `out`, if given.

    With several diagnoses, each uses the datasets that suit it, or its default data if none does; with a
    single one, unsuitable data raise DataError.
    """
    options, settings = options or Options(), settings or DiagnosisSettings()
    if out is not None:
        refuse_foreign(Path(out), (DIAGNOSIS,))
    cases = _cases(diagnoses, [str(model) for model in models], data, options)
    for name in dict.fromkeys(name for case in cases for name in case.models):
        _observe(name, cases, settings, opening or Opening(offline=options.offline), options)
    results = tuple(_conclude(case, settings) for case in cases)
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
        write_json(Path(out) / DIAGNOSIS, as_json(results, settings, options))
    return results


def as_json(
    results: Sequence[DiagnosisResult], settings: DiagnosisSettings, options: Options
) -> dict[str, Any]:
    """All results in full precision, as written to `diagnosis.json`."""
    models = {facts["id"]: dict(facts) for result in results for facts in result.models}
    data = {dataset.card.name: dataset.facts() for result in results for dataset in result.data}
    return {
        "schema": SCHEMA,
        "unmask": version("unmask"),
        "models": list(models.values()),
        "data": list(data.values()),
        "settings": {**asdict(settings), "counts": str(settings.counts) if settings.counts else None},
        "options": {"limit": options.limit, "tokens": options.tokens},
        "versions": versions(),
        "findings": [_finding(result) for result in results],
    }


def _cases(
    diagnoses: Sequence[Diagnosis], models: Sequence[str], data: Data | Sequence[Data], options: Options
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
    name: str, cases: Sequence[DiagnosisCase], settings: DiagnosisSettings, opening: Opening, options: Options
) -> None:
    """Open one model and run every diagnosis that includes it."""
    lm = open_lm(name, opening)
    with engine_for(lm, options) as engine:
        session = Session(engine, options.progress)
        taken = any(
            observation.model["id"] == lm.facts.id for case in cases for observation in case.observations
        )
        facts = session.facts | ({"id": name} if taken else {})  # two folders may have the same name
        for case in cases:
            if name not in case.models:
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
                    case.observations.append(
                        DiagnosisObservation(facts, data, case.diagnosis.observe(session, data, settings))
                    )
                except UnmaskError as error:
                    if len(cases) == 1:
                        raise
                    case.notes.append(f"{data.card.name}: {error}")
            case.asked[name] = engine.rows_run - before


def _conclude(case: DiagnosisCase, settings: DiagnosisSettings) -> DiagnosisResult:
    empty = Finding((), ())
    finding = case.diagnosis.conclude(case.observations, settings) if case.observations else empty
    whole = Finding(finding.answers, finding.tables, finding.plots, (*finding.notes, *case.notes))
    models = {observation.model["id"]: observation.model for observation in case.observations}
    return DiagnosisResult(case.diagnosis, whole, tuple(models.values()), case.data, case.asked)


def _finding(result: DiagnosisResult) -> dict[str, Any]:
    return {
        "name": result.diagnosis.name,
        "question": result.diagnosis.question,
        "models": [model["id"] for model in result.models],
        "data": [data.card.name for data in result.data],
        "asked": dict(result.asked),
        **findings.as_json(result.finding),
    }
