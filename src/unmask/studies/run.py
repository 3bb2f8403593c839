"""Plan and run a study: run missing steps, then build and write its tables and figures."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask import data as datasets
from unmask.audit.session import unique_name
from unmask.core.boundary import has_surrogates
from unmask.core.errors import DataError, quote
from unmask.core.files import write_json
from unmask.core.options import fill_groups
from unmask.core.progress import Progress, silent
from unmask.core.signals import keep
from unmask.data.formats import user_path
from unmask.findings import Finding, Section
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.models.builtin import builtin_models
from unmask.studies import STUDIES
from unmask.studies.backends import Backend, StepBatch, run_locally
from unmask.studies.cache import SCHEMA, STUDY, is_done, own_files, step_folder
from unmask.studies.graph import MISSING, cache_keys, data_identity, is_cached, load_kind, topological_order
from unmask.studies.output import write_tables
from unmask.studies.parts import choose_parts, join_parts, steps_of
from unmask.studies.spec import PACKAGE, Role, Runtime, Step, Study, StudyOptions
from unmask.studies.texts import find_text_file

FILES = (
    "corpus",
    "counts",
    "rewordings",
    "thesis_sentences",
    "thesis_templates",
    "toxic",
    "train",
    "dev",
    "data",
    "lists",
    "names",
)  # settings that name a file, or several
OF_USER = {  # looked for before any step runs
    "corpus": "documents to train on",
    "counts": "words and their counts",
    "rewordings": "items, phrases and paraphrases",
    "thesis_sentences": "pairs of sentences",
    "thesis_templates": "templates",
    "toxic": "comments and their labels",
    "names": "pairs of first names, or names with gender and count",
    **{"train": "training examples", "dev": "validation examples", "data": "test sentences"},  # of a task
}
MOST = {"draws": 1000, "reminders": 1000}  # of settings that steps are planned for one by one


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A study with its models, settings, steps and cache keys resolved."""

    study: Study
    options: StudyOptions
    runtime: Runtime
    roles: Mapping[Role, Step]
    steps: tuple[Step, ...]  # those of the roles and their inputs, inputs first
    keys: Mapping[str, str]  # by step name
    notes: tuple[str, ...]

    def missing_steps(self, root: Path) -> list[Step]:
        """The steps whose output is not in the cache."""
        return [step for step in self.steps if not is_done(root, self.keys[step.name])]


def study(name: str | Study, *, out: str | Path, progress: Progress | None = None, **options: Any) -> Result:
    """Replicate a paper: every table and figure next to the published numbers.

    Finished steps are not run again; if a step fails, the others still run, and `details["failed"]` of the
    result names those that are missing.

    Args:
        name: the name of a study, or a `Study`.
        out: the folder of the study; an incomplete study in it is resumed.
        progress: called after every step, with its state as the note.
        options: fields of `StudyOptions` (models, data, limit, reduced, settings, …) and `Runtime` (device,
            threads, engine, …), or these groups themselves as `options` and `runtime`.
    """
    return run_plan(make_plan(name, **options), out, progress=progress)


def make_plan(name: str | Study, **options: Any) -> StudyPlan:
    """The plan of a study; the arguments are those of `study`."""
    chosen, runtime = fill_groups(options, options=StudyOptions, runtime=Runtime)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return plan_study(STUDIES.find(name), chosen, replace(runtime, threads=runtime.threads or cores or 1))


def plan_study(study: Study, options: StudyOptions, runtime: Runtime) -> StudyPlan:
    """Choose models and data, apply the settings, and plan the steps."""
    places: dict[str, str] = {}
    runtime = replace(runtime, places=places)
    models, notes = _models(study, options, runtime)
    models = tuple(_name(model, places) for model in models)
    settings = {**study.settings, **(study.reduced if options.reduced else {})}
    unknown = [name for name in options.settings if name not in study.settings]
    if unknown:
        raise DataError(f"{study.name} has no setting {quote(unknown[0])}: give one of {', '.join(study.settings)}")
    if has_surrogates(dict(options.settings)):
        raise DataError(f"settings have {quote(options.settings)}, which is not UTF-8: give names and values in UTF-8")
    settings = _merge_settings(settings, options.settings)
    settings = _name_files(settings, places)
    _check_files(settings, runtime)
    if options.seeds > 1 and not study.repeats:
        raise DataError(f"{study.name} trains every cell once: leave out --seeds, and give another --seed instead")
    if options.judgements is not None and not study.judged:
        raise DataError(f"{study.name} takes no judgements: leave out --judgements")
    limit = options.limit or settings.get("limit")
    data, data_notes = _data(study, options, runtime, corpus=settings.get("corpus"))
    data = tuple(_name(name, places) for name in data)
    resolved = replace(options, models=models, data=data, limit=limit, settings=settings)
    notes += (f"Only a sample of {limit:,} items of every dataset.",) if limit else ()
    if options.settings:
        changed = "; ".join(f"{name} {json.dumps(value)}" for name, value in options.settings.items())
        changed = runtime.without_paths(changed)
        notes += (f"Settings that differ from the study's defaults: {changed}.",)
    chosen = choose_parts(study, options.part)
    if options.part:
        notes += (f"Only {join_parts(chosen)}: the others have what was run in this folder before.",)
    roles = study.plan(resolved)
    every = topological_order(roles.values())
    steps = every
    if options.part:
        used = {step.name for patterns in chosen.values() for step in steps_of(patterns, roles)}
        steps = tuple(step for step in every if step.name in used)
        if not steps:
            raise DataError(f"{join_parts(chosen)} of {study.name} cannot be made: its data are not on this machine")
        study = replace(study, parts=chosen)
    return StudyPlan(study, resolved, runtime, roles, steps, cache_keys(every, runtime), (*notes, *data_notes))


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
    conclusion = study.conclude(done, options)
    notes = (*plan.notes, *(f"Not done: {name}: {why}" for name, why in failed.items()))
    about = [Section("about", "About this run", study.question, Finding(notes, ()))] if notes else []
    sections = [each for each in conclusion.sections if not options.part or _has_content(each.finding)]
    numbers = [each.estimate for each in conclusion.comparisons]
    first = {(each.model, each.key): index for index, each in reversed([*enumerate(numbers)])}
    names = ("model", "measure", "data", "group", "statistic", "value")
    return build(
        "study",
        title=study.title,
        lead=f"{study.question} Models: {', '.join(options.models)}.",
        models=[{"id": model} for model in options.models],
        data=[{"name": name} for name in options.data],
        options=_choices(options),
        estimates=[numbers[index] for index in sorted(first.values())],  # each once
        findings=[*about, *sections],
        details={
            "study": study.name,
            "citation": study.citation,
            "notes": notes,
            "failed": failed,
            "published": [
                {"item": each.item, **{name: getattr(each.estimate, name) for name in names}}
                | {"published": each.published, "difference": each.difference}
                | {"in_interval": each.in_interval}
                for each in conclusion.comparisons
                if each.published is not None
            ],
        },
    )


def _has_content(finding: Finding) -> bool:
    return bool(finding.answers or finding.tables or finding.plots)


def _choices(options: StudyOptions) -> dict[str, Any]:
    """The options as they are recorded: a file by its name, not by its path."""
    judgements = options.judgements and Path(options.judgements).name
    return asdict(replace(options, judgements=judgements))


def _plan_json(plan: StudyPlan) -> dict[str, Any]:
    """The content of `study.json`, which `unmask study status` reads."""
    return {
        "schema": SCHEMA,
        "unmask": version("unmask"),
        "study": plan.study.name,
        "choices": json.loads(json.dumps(_choices(plan.options), default=str)),
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
    """Settings with the user's overrides, merged recursively; DataError for a value of another type."""
    merged = dict(settings)
    for name, value in overrides.items():
        default = settings.get(name, value)
        _check_setting(name, value, default)
        nested = isinstance(default, Mapping) and isinstance(value, Mapping)
        merged[name] = _merge_settings(default, value) if nested and default is not value else value
    return merged


def _check_setting(name: str, value: Any, default: Any) -> None:
    """Refuse a value unlike its default; None stands for a number, or for one of the `FILES`."""
    if isinstance(default, list | tuple):
        if not isinstance(value, list | tuple) or not value:
            raise DataError(f"{name} is {quote(value)}, expected a list like {quote(list(default))}")
        for each in value:
            _check_setting(name, each, default[0] if default else each)
        return
    if isinstance(default, Mapping):
        expected, fits = "settings of its own", isinstance(value, Mapping)
    elif isinstance(default, bool):
        expected, fits = "true or false", isinstance(value, bool)
    elif isinstance(default, str) or name in FILES:
        expected, fits = "text", isinstance(value, str)
    elif isinstance(default, float):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        expected, fits = "a number of at least 0", number and 0 <= value < math.inf
    else:
        whole = isinstance(value, int) and not isinstance(value, bool)
        most = MOST.get(name, 2**31 - 1)
        expected, fits = f"a whole number from 1 to {most:,}", whole and 1 <= value <= most
    if not fits and not (value is None and default is None):
        raise DataError(f"{name} is {quote(value)}, expected {expected}")


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


def _name_files(settings: Mapping[str, Any], places: dict[str, str]) -> dict[str, Any]:
    """The settings, those of tasks too, with names in the place of the paths of files."""
    named = {name: _name_files(value, places) for name, value in settings.items() if isinstance(value, Mapping)}
    files: dict[str, Any] = {
        name: _name(settings[name], places) for name in FILES if isinstance(settings.get(name), str)
    }
    if isinstance(lists := settings.get("lists"), list | tuple):
        files["lists"] = [_name(each, places) if isinstance(each, str) else each for each in lists]
    return {**settings, **named, **files}


def _check_files(settings: Mapping[str, Any], runtime: Runtime, within: str = "") -> None:
    """Refuse files that are not on this machine, also in the settings of a task."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            _check_files(value, runtime, f"{within}{name}.")
        if name not in OF_USER or not isinstance(value, str) or value in (PACKAGE, *datasets.SOURCES):
            continue
        if not find_text_file(runtime.place(value), runtime.data_dir):
            raise DataError(f"{within}{name}: {value} is not on this machine: give a file of {OF_USER[name]}")


def _data(
    study: Study, options: StudyOptions, runtime: Runtime, corpus: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The data named, else the paper's, with built-in data for what is missing; and notes on it."""
    if options.data:
        return options.data, ()
    names, notes = [], []
    for name in study.data:
        known = name in (*datasets.names(), *datasets.score_names())
        if corpus and not known and name in study.fallback_data:
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
