"""Run diagnoses: each model is opened once, observed by every diagnosis, and closed again."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self, cast

from unmask import data as datasets
from unmask.audit.session import Data, Session, engine_for, load_datasets, unique_name
from unmask.core.errors import DataError, ModelError, UnmaskError
from unmask.core.options import Opening, OptionGroup, Options, fill_groups
from unmask.core.request import with_request
from unmask.core.types import Dataset
from unmask.data.matrices import ScoreMatrix
from unmask.diagnose import DIAGNOSES, EVERYTHING
from unmask.diagnose.psychometrics.matrices import is_run, observe_run
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation
from unmask.findings import Conclusion, Finding, Section
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.models import Engine, Model, TextModel, list_models, open_lm
from unmask.models.builtin import BUILT_IN

LISTED = 12  # models named at the top of the page


@dataclass(frozen=True, slots=True)
class Inputs:
    """Models and datasets, and in the place of both: result folders of audits, and tables of scores."""

    models: tuple[Model, ...]
    data: tuple[Dataset, ...]
    runs: tuple[str | Path, ...]
    matrices: tuple[ScoreMatrix, ...]

    @classmethod
    def of(cls, models: Sequence[Model], data: Sequence[Data | ScoreMatrix], options: Options) -> Self:
        """Sort what was given, and load the data."""
        pairs: list[Data] = []
        matrices = []
        for each in data:
            if isinstance(each, ScoreMatrix):
                matrices.append(each)
            elif not isinstance(each, Dataset) and datasets.is_scores(each):
                matrices.append(datasets.scores(each, data_dir=options.data_dir, offline=options.offline))
            else:
                pairs.append(each)
        runs = tuple(each for each in models if not isinstance(each, TextModel) and is_run(each))
        others = tuple(each for each in models if isinstance(each, TextModel) or not is_run(each))
        return cls(others, tuple(load_datasets(pairs, options)) if pairs else (), runs, tuple(matrices))

    def observations(self) -> list[DiagnosisObservation]:
        """What is known without opening a model; of result folders, the given data only."""
        known = [DiagnosisObservation({"id": each.name}, each.data, each) for each in self.matrices]
        for run in self.runs:
            taken = [each.names[0] for each in known]
            known += observe_run(run, taken, [dataset.card.name for dataset in self.data])
        return known


@dataclass(frozen=True, slots=True)
class DiagnosisCase:
    """One diagnosis with its options, models and data, and what was collected while running it."""

    diagnosis: Diagnosis
    options: OptionGroup
    models: tuple[Model, ...]  # to be opened and observed
    data: tuple[Dataset, ...]  # on which they are observed
    alone: bool  # the only diagnosis: what does not suit it is an error, else a note
    observations: list[DiagnosisObservation] = field(default_factory=list)
    sentences_run: dict[str, int] = field(default_factory=dict)  # by model: inputs not in the store
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def noting(self, where: str = "") -> Iterator[None]:
        """Note an error of this diagnosis if there are others."""
        try:
            yield
        except UnmaskError as error:
            if self.alone:
                raise
            self.notes.append(f"{where}{error}")


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
        options: fields of the options of the diagnoses (measures, draws, …), of `Opening` and of `Options`, or whole
            groups: `opening`, `options`, and under its name that of a diagnosis.
    """
    chosen = list(DIAGNOSES.values()) if names == EVERYTHING else DIAGNOSES.find_all(names)
    kinds = {diagnosis.name: diagnosis.options for diagnosis in chosen}
    opening, run, *groups = fill_groups(options, opening=Opening, options=Options, **kinds)
    with result_folder(out, "diagnosis") as folder:
        return folder.finish(_content(dict(zip(chosen, groups, strict=True)), models, data, opening, run))


def _content(
    chosen: Mapping[Diagnosis, OptionGroup],
    models: Model | Sequence[Model],
    data: Data | Sequence[Data],
    opening: Opening,
    run: Options,
) -> dict[str, Any]:
    """The content of `result.json`."""
    inputs = Inputs.of(
        list_models(models), [data] if isinstance(data, str | Path | Dataset | ScoreMatrix) else list(data), run
    )
    cases = [_case(diagnosis, group, inputs, run, alone=len(chosen) == 1) for diagnosis, group in chosen.items()]
    for model in dict.fromkeys(model for case in cases for model in case.models):
        _observe(model, cases, opening, run)
    observations = [each for case in cases for each in case.observations]
    facts = {model["id"]: model for each in observations for model in each.models}
    data_facts = {each.card.name: each.facts() for case in cases for each in case.data}
    data_facts |= {each.names[1]: each.data_facts() for each in observations}
    conclusions = {case.diagnosis.name: _conclude(case) for case in cases}
    estimates = [each for made in conclusions.values() for each in made.estimates if math.isfinite(each.value)]
    return build(
        "diagnosis",
        title="Diagnosis of bias measures",
        lead="This page tests the measures, not the models: what do their scores depend on besides bias? "
        f"Models: {_listed(facts)}.",
        models=list(facts.values()),
        data=data_facts.values(),
        options={
            **{name: value for case in cases for name, value in asdict(case.options).items()},
            "limit": run.limit,
            "tokens": run.tokens,
        },
        estimates=estimates if len(facts) > 1 else [replace(each, model="") for each in estimates],
        findings=[_section(case, conclusions[case.diagnosis.name].finding) for case in cases],
        details={
            case.diagnosis.name: {"sentences_run": case.sentences_run, **conclusions[case.diagnosis.name].details}
            for case in cases
        },
    )


def _case(diagnosis: Diagnosis, options: OptionGroup, inputs: Inputs, run: Options, *, alone: bool) -> DiagnosisCase:
    """The models and data of one diagnosis; what does not suit it is an error if it is the only one, else a note."""
    if inputs.runs or inputs.matrices:
        if not diagnosis.takes_scores:
            able = " and ".join(each.name for each in DIAGNOSES.values() if each.takes_scores)
            raise DataError(f"{diagnosis.name} opens models; result folders and scores are read by {able}")
        if inputs.models:
            raise DataError(f"{inputs.models[0]} is no result folder: give models, or result folders of all of them")
        return DiagnosisCase(diagnosis, options, (), (), alone, inputs.observations())
    reasons = {dataset.card.name: diagnosis.unfit_reason(dataset) for dataset in inputs.data}
    fit = [dataset for dataset in inputs.data if not reasons[dataset.card.name]]
    lacking = [f"{diagnosis.name} cannot read {name}: {why}" for name, why in reasons.items() if why]
    if lacking and alone:
        raise DataError(f"{lacking[0]}; without `data` it uses {', '.join(diagnosis.data)}")
    models = inputs.models
    if diagnosis.models and not (models and alone):
        models = tuple(diagnosis.named_models(options)) or diagnosis.models
    case = DiagnosisCase(diagnosis, options, models or (BUILT_IN,), (), alone, notes=[] if fit else lacking)
    known = tuple(fit)
    with case.noting():
        known = known or tuple(load_datasets(diagnosis.data, run))
    return replace(case, data=known)


def _listed(names: Collection[str]) -> str:
    """The names of models, or how many there are."""
    return ", ".join(names) if len(names) <= LISTED else str(len(names))


def _observe(model: Model, cases: Sequence[DiagnosisCase], opening: Opening, options: Options) -> None:
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
            if model in case.models:
                with case.noting():
                    _observe_case(session, name, case)


def _observe_case(session: Session, name: str, case: DiagnosisCase) -> None:
    """Observe one model on the data of one diagnosis."""
    diagnosis, kind = case.diagnosis, session.lm.kind
    if kind not in diagnosis.kinds:
        why = f"{diagnosis.name} needs {' or '.join(diagnosis.kinds)} models; {name} is {kind}"
        raise ModelError(f"{why}: use another model" if case.alone else why)
    before = session.engine.rows_run
    for data in case.data:
        with case.noting(f"{data.card.name}: "):
            result = diagnosis.observe(session, data, case.options)
            case.observations.append(DiagnosisObservation(session.facts | {"id": name}, data, result))
    case.sentences_run[name] = session.engine.rows_run - before


def _conclude(case: DiagnosisCase) -> Conclusion:
    """The conclusion of one diagnosis: empty if nothing was observed, or nothing can be concluded."""
    conclusion = Conclusion(Finding((), ()))
    if case.observations:
        with case.noting():
            conclusion = case.diagnosis.conclude(case.observations, case.options)
    return conclusion


def _section(case: DiagnosisCase, finding: Finding) -> Section:
    """The finding of one diagnosis without empty tables, with what was left out in its notes."""
    tables = tuple(table for table in finding.tables if table.rows)
    counts = " ".join(f"{name}: {rows:,} new sentences run." for name, rows in case.sentences_run.items())
    titles = dict.fromkeys(data.card.title for data in (*case.data, *(each.data for each in case.observations)))
    return Section(
        case.diagnosis.name,
        case.diagnosis.title,
        case.diagnosis.question,
        replace(finding, tables=tables, notes=(*finding.notes, *case.notes)),
        f"Data: {', '.join(titles)}. {counts}".strip(),
    )
