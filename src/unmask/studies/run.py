"""Plan and run a study: run missing steps, then build and write its tables and figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask import data as datasets
from unmask.core.errors import DataError, ResultError
from unmask.core.files import write_json
from unmask.findings.envelope import refuse_foreign
from unmask.models.builtin import builtin_models
from unmask.studies import output
from unmask.studies.backends import Backend, StepBatch, local
from unmask.studies.cache import is_done, step_folder
from unmask.studies.graph import cache_keys, load_kind, topological_order
from unmask.studies.identity import MISSING, IdentityCache, data_identity, is_cached
from unmask.studies.spec import Outputs, Runtime, Step, StepEvent, Study, StudyOptions
from unmask.studies.texts import PACKAGE

SCHEMA, STUDY, LOCK = 1, "study.json", "study.lock"
StepCallback = Callable[[StepEvent, int, int], None]  # event, steps finished, steps in total


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A study with its models, settings, steps and cache keys resolved."""

    study: Study
    options: StudyOptions
    runtime: Runtime
    steps: tuple[Step, ...]
    keys: Mapping[str, str]
    notes: tuple[str, ...]

    def completion(self, root: Path) -> dict[str, bool]:
        """By step name, whether the step is finished."""
        return {name: is_done(root, key) for name, key in self.keys.items()}


@dataclass(frozen=True, slots=True)
class StudyResult:
    """The outcome of a run."""

    folder: Path
    sections: tuple[Any, ...]
    failed: Mapping[str, str]  # unfinished steps, and why


def plan_study(study: Study, options: StudyOptions, runtime: Runtime) -> StudyPlan:
    """Choose models and data, apply the settings, and plan the steps."""
    models, notes = _models(study, options, runtime)
    settings = {**study.settings, **(study.reduced if options.reduced else {})}
    unknown = [name for name in options.settings if name not in study.settings]
    if unknown:
        known = ", ".join(study.settings)
        raise DataError(f"{study.name} has no setting {unknown[0]!r}: give one of {known}")
    settings = _merge_settings(settings, options.settings)
    limit = options.limit or settings.get("limit")
    data, data_notes = _data(study, options, runtime, corpus=settings.get("corpus"))
    resolved = replace(options, models=models, data=data, limit=limit, settings=settings)
    notes += (f"Only the first {limit:,} items of every dataset.",) if limit else ()
    if options.settings:
        changed = "; ".join(f"{name} {json.dumps(value)}" for name, value in options.settings.items())
        notes += (f"Settings that differ from the study's defaults: {changed}.",)
    steps = topological_order(study.plan(resolved))
    keys = cache_keys(steps, IdentityCache(data_dir=runtime.data_dir, offline=runtime.offline))
    return StudyPlan(study, resolved, runtime, steps, keys, (*notes, *data_notes))


def run(
    plan: StudyPlan, out: Path, *, backend: Backend = local.run, on_event: StepCallback | None = None
) -> StudyResult:
    """Run the missing steps in `out`, then write the report and the tables."""
    refuse_foreign(out, (STUDY,))
    out.mkdir(parents=True, exist_ok=True)
    with _exclusive(out):
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
    """Build and write tables and figures from the finished steps."""
    done = {name: step_folder(out, key) for name, key in plan.keys.items() if is_done(out, key)}
    sections = tuple(plan.study.conclude(Outputs(done, failed), plan.options))
    output.write(plan.study, sections, plan.options, (*plan.notes, *_failure_notes(failed)), out)
    return StudyResult(out, sections, failed)


def plan_as_json(plan: StudyPlan) -> dict[str, Any]:
    """The content of `study.json`, which `unmask study status` reads."""
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
                "inputs": [source.name for source in step.inputs.values()],
            }
            for step in plan.steps
        ],
    }


def _merge_settings(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the user's overrides, merged recursively."""
    merged = dict(settings)
    for name, value in overrides.items():
        default = settings.get(name)
        nested = isinstance(default, Mapping) and isinstance(value, Mapping)
        merged[name] = _merge_settings(default or {}, value) if nested else value
    return merged


def _models(study: Study, options: StudyOptions, runtime: Runtime) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The models named, else the paper's, else (offline without them) built-in ones; and notes on it."""
    if options.models:
        return options.models, ()
    builtin = study.reduced_models or tuple(name for name in builtin_models() if not name.endswith("-causal"))
    if options.reduced:
        return builtin, (f"Reduced: built-in models ({', '.join(builtin)}) instead of the paper's.",)
    if not runtime.offline:
        return study.models, ()
    cached = tuple(model for model in study.models if is_cached(model))
    if cached:
        missing = [model for model in study.models if model not in cached]
        return cached, (f"Skipped, not on this machine: {', '.join(missing)}.",) if missing else ()
    return builtin, (
        f"None of the paper's models ({', '.join(study.models)}) is on this machine: built-in models "
        f"({', '.join(builtin)}) are used instead, so the published numbers are not expected.",
    )


def _data(
    study: Study, options: StudyOptions, runtime: Runtime, corpus: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The data named, else the paper's, with built-in data for what is missing; and notes on it."""
    if options.data:
        return options.data, ()
    names, notes = [], []
    for name in study.data:
        known = name in datasets.names()
        if corpus and not known:
            notes.append(f"{Path(corpus).name} is used instead of {name}.")
            continue
        if data_identity(name, runtime.data_dir) != MISSING:
            names.append(name)
            continue
        fallback = study.fallback_data.get(name)
        names += [fallback] if fallback else []
        builtin = "the built-in sentences are" if fallback == PACKAGE else f"the built-in {fallback} is"
        instead = f"{builtin} used instead" if fallback else "it is skipped"
        advice = f"unmask data get {name}" if known else "put it into the data folder"
        notes.append(f"{name} is not on this machine ({advice}): {instead}.")
    return tuple(dict.fromkeys(names)), tuple(notes)


def _failure_notes(failed: Mapping[str, str]) -> Sequence[str]:
    return [f"Not done: {name}: {why}" for name, why in failed.items()]


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Lock the folder against a second run; the lock is released even if the process is killed."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / LOCK, timeout=0):
            yield
    except Timeout as error:
        raise ResultError(f"{folder} is in use by another run of this study: wait for it to end") from error
