"""A study run: what is missing is done, then everything is concluded and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask import data as datasets
from unmask.audit.plan import refuse_foreign, write_json
from unmask.core.errors import DataError, ResultError
from unmask.models.builtin import builtin_models
from unmask.studies import output
from unmask.studies.backends import Backend, StepBatch, local
from unmask.studies.cache import is_done, step_folder
from unmask.studies.graph import cache_keys, load_kind, topological_order
from unmask.studies.identity import MISSING, IdentityCache, data_identity, is_cached
from unmask.studies.spec import Outputs, Runtime, Step, StepEvent, Study, StudyOptions
from unmask.studies.texts import PACKAGE

SCHEMA, STUDY, LOCK = 1, "study.json", "study.lock"
StepCallback = Callable[[StepEvent, int, int], None]  # what happened, how many steps are through, of how many


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A study with everything decided: models, settings, steps and their keys."""

    study: Study
    options: StudyOptions
    runtime: Runtime
    steps: tuple[Step, ...]
    keys: Mapping[str, str]
    notes: tuple[str, ...]

    def completion(self, root: Path) -> dict[str, bool]:
        """By step: is its output there?"""
        return {name: is_done(root, key) for name, key in self.keys.items()}


@dataclass(frozen=True, slots=True)
class StudyResult:
    """What became of a study."""

    folder: Path
    sections: tuple[Any, ...]
    failed: Mapping[str, str]  # steps that are not done, and why


def plan_study(study: Study, options: StudyOptions, runtime: Runtime) -> StudyPlan:
    """Decide which models are asked and lay out the steps."""
    chosen, notes = _models(study, options, runtime)
    settings = {**study.settings, **(study.reduced if options.reduced else {})}
    unknown = [name for name in options.settings if name not in study.settings]
    if unknown:
        known = ", ".join(study.settings)
        raise DataError(f"{study.name} has no setting {unknown[0]!r}: give one of {known}")
    settings = _overlaid(settings, options.settings)
    limit = options.limit or settings.get("limit")
    named, told = _data(study, options, runtime, corpus=settings.get("corpus"))
    whole = replace(options, models=chosen, data=named, limit=limit, settings=settings)
    notes += (f"Only the first {limit:,} items of every dataset.",) if limit else ()
    if options.settings:
        other = "; ".join(f"{name} {json.dumps(value)}" for name, value in options.settings.items())
        notes += (f"Settings other than the study's own: {other}.",)
    steps = topological_order(study.plan(whole))
    made = cache_keys(steps, IdentityCache(data_dir=runtime.data_dir, offline=runtime.offline))
    return StudyPlan(study, whole, runtime, steps, made, (*notes, *told))


def run(
    plan: StudyPlan, out: Path, *, backend: Backend = local.run, on_event: StepCallback | None = None
) -> StudyResult:
    """Do what is missing in `out`, conclude, and write pages and tables."""
    refuse_foreign(out, (STUDY,))
    out.mkdir(parents=True, exist_ok=True)
    with _alone(out):
        write_json(out / STUDY, plan_as_json(plan))
        failed: dict[str, str] = {}
        for number, event in enumerate(
            backend(StepBatch(plan.steps, plan.keys, out.resolve(), plan.runtime)), 1
        ):
            if event.state in ("failed", "blocked"):
                failed[event.step] = event.message
            if on_event is not None:
                on_event(event, number, len(plan.steps))
        return conclude_study(plan, out, failed)


def conclude_study(plan: StudyPlan, out: Path, failed: Mapping[str, str]) -> StudyResult:
    """Tables and figures of whatever is done, on a page and in files."""
    done = {name: step_folder(out, key) for name, key in plan.keys.items() if is_done(out, key)}
    sections = tuple(plan.study.conclude(Outputs(done, failed), plan.options))
    output.write(plan.study, sections, plan.options, (*plan.notes, *_lost(failed)), out)
    return StudyResult(out, sections, failed)


def plan_as_json(plan: StudyPlan) -> dict[str, Any]:
    """What was asked, for `study status` and for whoever reads the folder."""
    return {
        "schema": SCHEMA,
        "unmask": version("unmask"),
        "study": plan.study.name,
        "choices": json.loads(json.dumps(asdict(plan.options), default=str)),
        "notes": list(plan.notes),
        "steps": [
            {
                "name": step.name,
                "key": plan.keys[step.name],
                "task": step.kind,
                "version": load_kind(step).version,
                "inputs": [one.name for one in step.inputs.values()],
            }
            for step in plan.steps
        ],
    }


def _overlaid(settings: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with those the user chose in their place, within nested ones too."""
    whole = dict(settings)
    for name, value in chosen.items():
        held = settings.get(name)
        both = isinstance(held, Mapping) and isinstance(value, Mapping)
        whole[name] = _overlaid(held or {}, value) if both else value
    return whole


def _models(study: Study, options: StudyOptions, runtime: Runtime) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those named; else the paper's; else, where those cannot be had, the package's own, and it is said."""
    if options.models:
        return options.models, ()
    ours = study.reduced_models or tuple(name for name in builtin_models() if not name.endswith("-causal"))
    if options.reduced:
        return ours, (f"Reduced: the models of the package ({', '.join(ours)}), not the paper's.",)
    if not runtime.offline:
        return study.models, ()
    here = tuple(one for one in study.models if is_cached(one))
    if here:
        gone = [one for one in study.models if one not in here]
        return here, (f"Not on this machine and left out: {', '.join(gone)}.",) if gone else ()
    return ours, (
        f"None of the paper's models ({', '.join(study.models)}) is on this machine: those of the package "
        f"({', '.join(ours)}) stand in their place, so published numbers are not expected.",
    )


def _data(
    study: Study, options: StudyOptions, runtime: Runtime, corpus: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """That named; else the paper's, each with what stands in for it where it is not here."""
    if options.data:
        return options.data, ()
    chosen, notes = [], []
    for name in study.data:
        known = name in datasets.names()
        if corpus and not known:
            notes.append(f"{Path(corpus).name} in the place of {name}.")
            continue
        if data_identity(name, runtime.data_dir) != MISSING:
            chosen.append(name)
            continue
        other = study.fallback_data.get(name)
        chosen += [other] if other else []
        ours = "the sentences of the package stand" if other == PACKAGE else f"{other} of the package stands"
        instead = f"{ours} in its place" if other else "it is left out"
        advice = f"unmask data get {name}" if known else "it belongs into the data folder, see --data-dir"
        notes.append(f"{name} is not on this machine ({advice}): {instead}.")
    return tuple(dict.fromkeys(chosen)), tuple(notes)


def _lost(failed: Mapping[str, str]) -> Sequence[str]:
    return [f"Not done: {name}: {why}" for name, why in failed.items()]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One run of a study in a folder at a time; a killed one lets go by itself."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / LOCK, timeout=0):
            yield
    except Timeout as error:
        raise ResultError(f"{folder} is in use by another run of this study: wait for it to end") from error
