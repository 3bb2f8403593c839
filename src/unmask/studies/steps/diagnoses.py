"""Diagnosis steps: several diagnoses of one model on one dataset, resumable through a store of readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.audit.result import load
from unmask.audit.session import load_datasets
from unmask.diagnose import find
from unmask.diagnose.run import diagnose
from unmask.findings import Finding, Section
from unmask.findings.envelope import RESULT, Result, build
from unmask.findings.folder import create
from unmask.studies.forecast import forward_tokens
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import open_cached
from unmask.studies.texts import find_text_file

READINGS = "readings.sqlite"


def run_diagnoses(context: StepContext) -> None:
    """Run every diagnosis named into a folder of its own; one that does not apply leaves a note."""
    parameters, options = context.parameters, context.options(store_file=context.folder / READINGS)
    (data,) = load_datasets(context.data, options)
    lm = open_cached(context.model, context.opening)
    lm = replace(lm, facts=replace(lm.facts, id=parameters["shown"]))
    for name, chosen in parameters["diagnoses"].items():
        out, diagnosis = context.folder / name, find(name)
        if (out / RESULT).is_file():  # of an interrupted attempt
            continue
        reason = diagnosis.unfit_reason(data)
        if lm.kind not in diagnosis.kinds:
            reason = f"needs a {' or '.join(diagnosis.kinds)} model"
        if reason:
            note = Finding((), (), (), (f"{parameters['shown']}, {name}: {reason}",))
            create(build("diagnosis", findings=[Section(name, diagnosis.title, "", note)]), out)
            continue
        named = {"seed": parameters["seed"], **chosen, **_counts(context, chosen)}
        diagnose(name, lm, data=data, out=out, options=options, **{name: diagnosis.options(**named)})
    for path in context.folder.glob(f"{READINGS}*"):
        path.unlink()


def _counts(context: StepContext, chosen: Mapping[str, Any]) -> dict[str, Path]:
    """The file of word counts that a diagnosis was given by name, if any."""
    if not chosen.get("counts"):
        return {}
    place = context.runtime.place(chosen["counts"])
    return {"counts": find_text_file(place, context.runtime.data_dir) or Path(place)}


def load_diagnosis(folder: Path, name: str) -> Result | None:
    """The result of one diagnosis of a step; None if the step does not have it."""
    return load(folder / name) if (folder / name / RESULT).is_file() else None


def work_estimate(step: Step) -> WorkEstimate:
    """About one audit by the default measures, and half as much for the diagnoses' own probes."""
    return WorkEstimate(forward_tokens(step.data[0], step.parameters["limit"], ()) * 1.5)


def step(
    name: str, data: str, diagnoses: Mapping[str, Mapping[str, Any]], *, model: str | Step, **scoring: Any
) -> Step:
    """A step of diagnoses of one model on one dataset, each with its own settings; `scoring` as in audits.

    A file of word counts (`counts`) is part of the data of the step: another content of it is another step.
    """
    settings = {
        diagnosis: {key: list(value) if isinstance(value, tuple) else value for key, value in chosen.items()}
        for diagnosis, chosen in diagnoses.items()
    }
    planned = Step.of(
        f"diagnose {name} on {data}: {', '.join(diagnoses)}",
        f"{__name__}:LOOK",
        {"diagnoses": settings, "dtype": "fp32", **scoring, "shown": name},
        model=model,
        data=data,
    )
    counts = (chosen["counts"] for chosen in diagnoses.values() if chosen.get("counts"))
    return replace(planned, data=(*planned.data, *counts))


LOOK = StepKind(run_diagnoses, version=5, estimate_work=work_estimate, resumable=True)
