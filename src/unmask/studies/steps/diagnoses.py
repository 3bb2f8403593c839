"""Diagnosis steps: several diagnoses of one model on one dataset, resumable through a store of readings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unmask.audit.plan import load_datasets
from unmask.audit.session import Session
from unmask.core.options import Options
from unmask.core.types import Dataset, Kind
from unmask.diagnose import Diagnosis, DiagnosisSettings, find
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Finding
from unmask.findings.storage import save_findings
from unmask.models import Engine, Store
from unmask.studies.sizes import forward_tokens
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import open_cached

READINGS = "readings.sqlite"


def run_diagnoses(context: StepContext) -> None:
    """Run every diagnosis named and save the findings."""
    parameters = context.parameters
    options = Options(
        limit=parameters["limit"],
        seed=parameters["seed"],
        data_dir=context.runtime.data_dir,
        offline=context.runtime.offline,
    )
    (data,) = load_datasets(context.step.data[0], options)
    lm = open_cached(
        context.model, parameters["dtype"], context.runtime.device, offline=context.runtime.offline
    )
    store = Store(context.folder / READINGS)
    try:
        session = Session(Engine(lm, store))
        findings: dict[str, Finding] = {}
        for name, chosen in parameters["diagnoses"].items():
            diagnosis, settings = find(name), _settings(chosen, parameters["seed"])
            if reason := _unfit_reason(diagnosis, data, lm.kind):
                findings[name] = Finding((), (), (), (f"{parameters['shown']}, {name}: {reason}",))
                continue
            observation = DiagnosisObservation(
                session.facts | {"id": parameters["shown"]}, data, diagnosis.observe(session, data, settings)
            )
            findings[name] = diagnosis.conclude([observation], settings)
    finally:
        store.close()
    save_findings(findings, context.folder)
    for path in context.folder.glob(f"{READINGS}*"):
        path.unlink()


def _settings(settings: Mapping[str, Any], seed: int) -> DiagnosisSettings:
    return DiagnosisSettings(seed=seed, **{**settings, "measures": tuple(settings.get("measures", ()))})


def _unfit_reason(diagnosis: Diagnosis, data: Dataset, kind: Kind) -> str:
    """Why the diagnosis does not apply; empty if it does."""
    kinds = diagnosis.kinds
    return diagnosis.unfit_reason(data) if kind in kinds else f"needs a {' or '.join(kinds)} model"


def work_estimate(step: Step) -> WorkEstimate:
    """About one audit by the default measures, and half as much for the diagnoses' own probes."""
    return WorkEstimate(forward_tokens(step.data[0], step.parameters["limit"], ()) * 1.5)


def step(  # noqa: PLR0913 - the parameters of a diagnosis
    name: str,
    data: str,
    diagnoses: Mapping[str, Mapping[str, Any]],
    *,
    model: str | Step,
    limit: int | None,
    seed: int,
    dtype: str = "fp32",
) -> Step:
    """A step of diagnoses of one model on one dataset, each with its own settings."""
    return Step(
        f"diagnose {name} on {data}: {', '.join(diagnoses)}",
        f"{__name__}:LOOK",
        {
            "diagnoses": {diagnosis: dict(settings) for diagnosis, settings in diagnoses.items()},
            "limit": limit,
            "seed": seed,
            "dtype": dtype,
            "shown": name,
        },
        models=(model,) if isinstance(model, str) else (),
        data=(data,),
        inputs={} if isinstance(model, str) else {"model": model},
    )


LOOK = StepKind(run_diagnoses, version=1, estimate_work=work_estimate, resumable=True)
