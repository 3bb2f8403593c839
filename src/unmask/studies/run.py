"""Plan and run a study: run missing steps, then build and write its tables and figures."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args, get_type_hints

from unmask import data as datasets
from unmask.audit.session import unique_name
from unmask.core.boundary import has_surrogates, parse_json
from unmask.core.errors import DataError, UnknownName, quote
from unmask.core.files import write_json
from unmask.core.options import fill_groups
from unmask.core.progress import Progress, silent
from unmask.core.request import with_request
from unmask.core.signals import keep
from unmask.data.formats import user_path
from unmask.findings import Finding, Section
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.models.builtin import builtin_models
from unmask.studies import STUDIES
from unmask.studies.backends import Backend, StepBatch, run_locally
from unmask.studies.cache import SCHEMA, STUDY, is_done, own_files, step_folder
from unmask.studies.forecast import choose_parts, join_parts, steps_of
from unmask.studies.graph import MISSING, cache_keys, data_identity, is_cached, topological_order
from unmask.studies.output import write_tables
from unmask.studies.spec import (
    PACKAGE,
    TASK_FILES,
    Role,
    Runtime,
    Step,
    Study,
    StudyOptions,
    TextFile,
    fill_settings,
    merge,
)
from unmask.studies.texts import find_text_file


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A study with its models, settings, steps and cache keys resolved."""

    study: Study
    options: Any  # of the study's own class
    runtime: Runtime
    roles: Mapping[Role, Step]
    steps: tuple[Step, ...]  # those of the roles and their inputs, inputs first
    keys: Mapping[str, str]  # by step name
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.study.name

    def missing_steps(self, root: Path) -> list[Step]:
        """The steps whose output is not in the cache."""
        return [step for step in self.steps if not is_done(root, self.keys[step.name])]


@with_request("study", target="name")
def study(
    name: str | Study | StudyPlan,
    *,
    out: str | Path,
    progress: Progress | None = None,
    settings: Sequence[str] = (),
    **options: Any,
) -> Result:
    """Replicate a paper: every table and figure next to the published numbers.

    Finished steps are not run again; if a step fails, the others still run, and `details["failed"]` of the
    result names those that are missing.

    Args:
        name: the name of a study, a `Study`, or the plan that `make_plan` made of the same arguments.
        out: the folder of the study; an incomplete study in it is resumed.
        progress: called after every step, with its state as the note.
        settings: settings within a group as text: `train.epochs=1`.
        options: fields of `StudyOptions` (models, data, limit, reduced, …), the paper's own settings (`unmask study
            NAME --help`), and fields of `Runtime` (device, threads, engine, …), or that group itself as `runtime`.
    """
    plan = name if isinstance(name, StudyPlan) else make_plan(name, settings=settings, **options)
    return run_plan(plan, out, progress=progress)


def make_plan(name: str | Study, *, settings: Sequence[str] = (), **options: Any) -> StudyPlan:
    """The plan of a study; the arguments are those of `study`."""
    chosen = STUDIES.find(name)
    known = {field.name for field in fields(chosen.options)}
    given = merge({key: value for key, value in options.items() if key in known}, parse_settings(settings))
    runtime_options = {key: value for key, value in options.items() if key not in known}
    if unknown := [key for key in runtime_options if key not in {"runtime", *_RUNTIME}]:
        raise UnknownName("option", unknown[0], known | _RUNTIME)
    (runtime,) = fill_groups(runtime_options, runtime=Runtime)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return plan_study(chosen, given, replace(runtime, threads=runtime.threads or cores or 1))


def parse_settings(assignments: Sequence[str]) -> dict[str, Any]:
    """Parse `use.steps=500` into nested settings; values are JSON if valid, otherwise text."""
    settings: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not name or not equals:
            raise DataError(f"settings has {quote(assignment)}, expected NAME=VALUE, as in use.steps=500")
        *parts, last = name.split(".")
        inner = settings
        for part in parts:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise DataError(f"settings has {quote(assignment)}: {quote(part)} was set to {quote(inner)} before")
        try:
            inner[last] = parse_json(value, name)
        except DataError:
            inner[last] = value
    return settings


_RUNTIME = {field.name for field in fields(Runtime)}


def study_options(study: Study, given: Mapping[str, Any]) -> Any:
    """The options of a study: the paper's, with `reduced` the small ones, and these instead."""
    if has_surrogates(dict(given)):
        raise DataError(f"settings have {quote(given)}, which is not UTF-8: give names and values in UTF-8")
    reduced = study.reduced if given.get("reduced") else {}
    return fill_settings(fill_settings(study.options(), reduced), given)


def plan_study(study: Study, given: Mapping[str, Any], runtime: Runtime) -> StudyPlan:
    """Choose models and data, apply the settings, and plan the steps."""
    places: dict[str, str] = {}
    runtime = replace(runtime, places=places)
    options = study_options(study, given)
    models, notes = _models(study, options, runtime)
    models = tuple(_name(model, places) for model in models)
    options = _name_files(options, runtime, places)
    data, data_notes = _data(study, options, runtime)
    options = replace(options, models=models, data=tuple(_name(name, places) for name in data))
    notes += (f"Only a sample of {options.limit:,} items of every dataset.",) if options.limit else ()
    common = {field.name for field in fields(StudyOptions)}
    if settings := {name: value for name, value in given.items() if name not in common}:
        changed = "; ".join(f"{name} {json.dumps(value, default=str)}" for name, value in settings.items())
        notes += (f"Settings that differ from the study's defaults: {runtime.without_paths(changed)}.",)
    chosen = choose_parts(study, options.part)
    if options.part:
        notes += (f"Only {join_parts(chosen)}: the others have what was run in this folder before.",)
    roles = study.plan(options)
    every = topological_order(roles.values())
    steps = every
    if options.part:
        used = {step.name for patterns in chosen.values() for step in steps_of(patterns, roles)}
        steps = tuple(step for step in every if step.name in used)
        if not steps:
            raise DataError(f"{join_parts(chosen)} of {study.name} cannot be made: its data are not on this machine")
        study = replace(study, parts=chosen)
    return StudyPlan(study, options, runtime, roles, steps, cache_keys(every, runtime), (*notes, *data_notes))


def run_plan(
    plan: StudyPlan, out: str | Path, *, backend: Backend | None = None, progress: Progress | None = None
) -> Result:
    """Run the missing steps in `out`, then write the result and its tables."""
    root, report = Path(out), progress or silent
    if backend is None:
        from unmask.studies.backends.ray import RayBackend

        backend = RayBackend(plan.runtime.ray_address) if plan.runtime.engine == "ray" else run_locally
    with result_folder(root, "study", also=own_files(root)) as folder:
        write_json(root / STUDY, _plan_json(plan))
        failed: dict[str, str] = {}
        total = len(plan.steps)
        batch = StepBatch(plan.steps, plan.keys, root.resolve(), plan.runtime)
        for number, event in enumerate(backend(batch), 1):
            if event.state in ("failed", "skipped"):
                failed[event.step] = event.message
            keep(f"{number - len(failed)} of {total} steps")
            report("steps", number / total, total, str(event))
        result = folder.finish(_conclude(plan, root, failed))
        write_tables(result, root)
        return result


def _conclude(plan: StudyPlan, root: Path, failed: Mapping[str, str]) -> dict[str, Any]:
    """The content of `result.json`: tables, figures and numbers from the finished steps."""
    keys = {role: plan.keys[step.name] for role, step in plan.roles.items()}
    done = {role: step_folder(root, key) for role, key in keys.items() if is_done(root, key)}
    study, options = plan.study, plan.options
    replication = study.conclude(done, options)
    notes = (*plan.notes, *(f"Not done: {name}: {why}" for name, why in failed.items()))
    about = [Section("about", "About this run", study.question, Finding(notes, ()))] if notes else []
    sections = [section for section in replication.sections if not options.part or _has_content(section.finding)]
    estimates = [comparison.estimate for comparison in replication.comparisons]
    once = {(estimate.model, estimate.key): estimate for estimate in reversed(estimates)}
    return build(
        "study",
        title=study.title,
        lead=f"{study.question} Models: {', '.join(options.models)}.",
        models=[{"id": model} for model in options.models],
        data=[{"name": name} for name in options.data],
        options=_plain(options),
        estimates=[*reversed(once.values())],
        findings=[*about, *sections],
        details={
            "study": study.name,
            "citation": study.citation,
            "notes": notes,
            "failed": failed,
            "published": [each.to_json() for each in replication.comparisons if each.published is not None],
        },
    )


def _has_content(finding: Finding) -> bool:
    return bool(finding.answers or finding.tables or finding.plots)


def _plain(options: StudyOptions) -> dict[str, Any]:
    """The options as they are recorded: a file by its name, not by its path."""
    values = asdict(options)
    return {name: value.name if isinstance(value, Path) else value for name, value in values.items()}


def _plan_json(plan: StudyPlan) -> dict[str, Any]:
    """The content of `study.json`, which `unmask study status` reads."""
    return {
        "schema": SCHEMA,
        "unmask": version("unmask"),
        "study": plan.study.name,
        "choices": json.loads(json.dumps(_plain(plan.options), default=str)),
        "notes": list(plan.notes),
        "steps": [{"name": step.name, "key": plan.keys[step.name]} for step in plan.steps],
    }


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


def _name(given: str, places: dict[str, str]) -> str:
    """The name of a model, dataset or text; of a path its last part, and the path is kept in `places`."""
    path = user_path(given)
    is_path = path.is_absolute() or given.startswith(".") or path.exists()
    if given in builtin_models() or given in datasets.SOURCES or not is_path:
        return given
    place = str(path.absolute())
    name = unique_name(path.resolve().name, [name for name, other in places.items() if other != place])
    places[name] = place
    return name


def _name_files(options: Any, runtime: Runtime, places: dict[str, str]) -> Any:
    """The options with names in the place of the paths of files; a file that is not on this machine is refused."""
    hints = get_type_hints(type(options), include_extras=True)
    files = {name for name, hint in hints.items() if TextFile in get_args(hint)}

    def name_in(value: Any, where: str) -> Any:
        if isinstance(value, Mapping):
            return {key: name_in(inner, f"{where}.{key}") for key, inner in value.items()}
        _, nested, key = where.rpartition(".")
        if key not in (TASK_FILES if nested else files) or not isinstance(value, str | list | tuple):
            return value
        if not isinstance(value, str):
            return [name_in(file, where) for file in value]
        name = _name(value, places)
        if name not in (PACKAGE, *datasets.SOURCES) and not find_text_file(runtime.place(name), runtime.data_dir):
            raise DataError(f"{where}: {name} is not on this machine: give the path of a file, or its name in data_dir")
        return name

    return replace(options, **{name: name_in(getattr(options, name), name) for name in hints})


def _data(study: Study, options: Any, runtime: Runtime) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The data named, else the paper's, with built-in data for what is missing; and notes on it."""
    if options.data:
        return options.data, ()
    corpus = getattr(options, "corpus", None)
    names, notes = [], []
    for name in study.data:
        known = name in (*datasets.names(), *datasets.score_names())
        if corpus and not known and name in study.fallback_data:
            notes.append(f"{corpus} is used instead of {name}.")
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
