"""Diagnoses as steps: one model, one dataset, several questions, with a store of its own to go on from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unmask.audit.plan import Options, load_datasets
from unmask.audit.session import Session
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
    """Look by every diagnosis named; their findings go into the folder."""
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
        subject = Session(Engine(lm, store))
        found: dict[str, Finding] = {}
        for name, chosen in parameters["diagnoses"].items():
            one, settings = find(name), _settings(chosen, parameters["seed"])
            if why := _unfit_reason(one, data, lm.kind):
                found[name] = Finding((), (), (), (f"{parameters['shown']}, {name}: {why}",))
                continue
            seen = DiagnosisObservation(
                subject.facts | {"id": parameters["shown"]}, data, one.observe(subject, data, settings)
            )
            found[name] = one.conclude([seen], settings)
    finally:
        store.close()
    save_findings(found, context.folder)
    for path in context.folder.glob(f"{READINGS}*"):
        path.unlink()


def _settings(chosen: Mapping[str, Any], seed: int) -> DiagnosisSettings:
    return DiagnosisSettings(seed=seed, **{**chosen, "measures": tuple(chosen.get("measures", ()))})


def _unfit_reason(one: Diagnosis, data: Dataset, kind: Kind) -> str:
    """Why this diagnosis cannot look; empty where it can."""
    return one.unfit_reason(data) if kind in one.kinds else f"it asks {' or '.join(one.kinds)} models only"


def work_estimate(step: Step) -> WorkEstimate:
    """About one pass of all usual measures, and a pass for each diagnosis that asks its own questions."""
    return WorkEstimate(forward_tokens(step.data[0], step.parameters["limit"], ()) * 1.5)


def step(  # noqa: PLR0913 - what a diagnosis is made of
    name: str,
    data: str,
    diagnoses: Mapping[str, Mapping[str, Any]],
    *,
    model: str | Step,
    limit: int | None,
    seed: int,
    dtype: str = "fp32",
) -> Step:
    """Diagnoses of one model on one dataset as a step, each with its own settings."""
    return Step(
        f"diagnose {name} on {data}: {', '.join(diagnoses)}",
        f"{__name__}:LOOK",
        {
            "diagnoses": {one: dict(chosen) for one, chosen in diagnoses.items()},
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
