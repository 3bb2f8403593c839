"""`debiasing`: Debiasing isn't enough! (Kaneko, Bollegala & Okazaki 2022), Figures 1, 2 and Tables 1, 2."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError, quote
from unmask.data import names as dataset_names
from unmask.data.formats import SUFFIXES
from unmask.studies.catalog import NEWS, WORD_LISTS
from unmask.studies.papers import debiasing_versions as versions
from unmask.studies.papers.debiasing_versions import INTRINSIC, JOINED, ORIGINAL, ZERO_SHOT
from unmask.studies.spec import PACKAGE, Role, Step, StudyOptions
from unmask.studies.steps import audits, finetuning, mitigations, words
from unmask.tasks import find as find_task

METHODS = {
    **{"AT": "at", "at-code": "at-code", "CDA": "cda", "cda-kaneko": "cda-kaneko", "DO": "dropout"},
    "CDS": "cds",  # not in the paper
}
TASKS = {
    **{"BiasBios": "biasbios", "STS-bias": "stsbias", "NLI-bias": "nlibias"},
    **{"sentiment": "sentiment", "toxicity": "toxicity", "WinoBias": "winobias", "Winogender": "winogender"},
}
NEED_TRAIN = ("sentiment", "toxicity")  # tasks without training data of their own
OF_ONE_TRAINING = ("grid", "steps", "every")  # settings of the tracked training, not of a search
STAND_INS = {PACKAGE: ("nine-axes", "paraphrases"), "triple-gender": ("triple-gender",)}  # texts, and whose they are


def plan(options: StudyOptions) -> dict[Role, Step]:
    """Word counts per task; then every version of every model audited, fine-tuned, and audited again."""
    _check_settings(options.settings)
    steps: dict[Role, Step] = {}
    for task in options.settings["tasks"]:
        steps |= {} if task in ZERO_SHOT else _count_steps(task, options)
    for model in options.models:
        for version in (ORIGINAL, *options.settings["methods"]):
            for seed in options.training_seeds:
                steps |= _version_steps(model, version, seed, options)
    return steps


def _count_steps(task: str, options: StudyOptions) -> dict[Role, Step]:
    """Words of the task's training data by the package's list and, where they are there, by the published ones."""
    lists = {versions.PACKAGE_WORDS: (), versions.PUBLISHED_WORDS: WORD_LISTS if _has_lists(options) else ()}
    settings = {key: value for key, value in _settings(task, options).items() if key == "train"}
    steps: dict[Role, Step] = {}
    for kind, names in lists.items():
        if names or kind == versions.PACKAGE_WORDS:
            title = f"count words of {task}" + (f" by {kind}" if names else "")
            counted = finetuning.step("TALLIED", title, TASKS[task], settings, options.seed, lists=names)
            steps[finetuning.COUNTS, task, kind] = counted
    return steps


def _version_steps(model: str, version: str, seed: int, options: StudyOptions) -> dict[Role, Step]:
    """The audits and fine-tunings of the original model or of a mitigated version; the first seed is not named."""
    name = versions.version_name(model, version)
    title = name if seed == options.seed else f"{name}, seed {seed},"
    source = model if version == ORIGINAL else _mitigation(model, version, seed, options)
    steps: dict[Role, Step] = {}
    if version != ORIGINAL or seed == options.seed:
        for data, step in _audits(title, source, options).items():
            steps[versions.BEFORE, model, version, str(seed), data] = step
        for task in _tasks(options, zero_shot=True):
            what, settings = f"measure {title} on {task}", _settings(task, options)
            step = finetuning.step("MEASURED", what, TASKS[task], settings, options.seed, source)
            steps[versions.MEASURED, model, version, str(seed), task] = step
    for task in _tasks(options, zero_shot=False):
        settings = _settings(task, options)
        tuned = finetuning.step("FOLLOWED", f"fine-tune {title} on {task}", TASKS[task], settings, seed, source)
        steps[versions.TUNED, model, version, str(seed), task] = tuned
        if options.settings["search"]:
            searched = {key: value for key, value in settings.items() if key not in OF_ONE_TRAINING}
            what = f"search hyper-parameters of {title} on {task}"
            search = finetuning.step("SEARCHED", what, TASKS[task], searched, seed, source)
            steps[versions.SEARCH, model, version, str(seed), task] = search
        for data, step in _audits(f"{title} after {task}", tuned, options).items():
            steps[versions.AFTER, model, version, str(seed), task, data] = step
    return steps


def _mitigation(model: str, version: str, seed: int, options: StudyOptions) -> Step:
    """The last step of a mitigation; of a combination every method starts from the checkpoint of the one before."""
    settings = options.settings
    first, _, last = version.rpartition(JOINED)
    name = f"mitigate {model} by {version}"
    step = mitigations.step(
        name if seed == options.seed else f"{name}, seed {seed}",
        METHODS[last],
        training_text(options),
        model=_mitigation(model, first, seed, options) if first else model,
        corpus={"limit": settings["documents"]},
        train=dict(settings["train"]),
        seed=seed,
    )
    if last != "cda-kaneko" or not _has_lists(options):
        return step
    return replace(step, inputs={**step.inputs, "pairs": words.word_pairs_step("pair the published lists", WORD_LISTS)})


def training_text(options: StudyOptions) -> str:
    """The text that mitigations train on: never the sentences that are evaluated."""
    if options.settings["corpus"]:
        return str(options.settings["corpus"])
    if NEWS in options.data:
        return NEWS
    evaluated = _evaluated(options)
    for text, datasets in STAND_INS.items():
        if not set(datasets) & set(evaluated):
            return text
    raise DataError(
        f"the built-in texts hold sentences of {' and '.join(evaluated)}, which are evaluated: give another text to "
        "train on with --set corpus=FILE"
    )


def _evaluated(options: StudyOptions) -> list[str]:
    """The datasets of pairs and of triples."""
    names = [name for name in options.data if name in dataset_names() or Path(name).suffix.lower() in SUFFIXES]
    return names[:2]


def _has_lists(options: StudyOptions) -> bool:
    return set(WORD_LISTS) <= set(options.data)


def _audits(name: str, model: str | Step, options: StudyOptions) -> dict[str, Step]:
    """By dataset: CPS and AULA on pairs, SSS on triples; without triples, all three on pairs."""
    pairs, *triples = _evaluated(options)
    measures_by_data = {pairs: ("cps", "aula"), triples[0]: ("sss",)} if triples else {pairs: INTRINSIC}
    return {
        data: audits.step(name, data, measures, model=model, shard=options.shard, **options.scoring)
        for data, measures in measures_by_data.items()
    }


def _tasks(options: StudyOptions, *, zero_shot: bool) -> list[str]:
    """The chosen tasks that need no fine-tuning, or those that do."""
    return [task for task in options.settings["tasks"] if (task in ZERO_SHOT) == zero_shot]


def _settings(task: str, options: StudyOptions) -> dict[str, Any]:
    """The settings of a task: those of all tasks, which are about fine-tuning, and its own."""
    shared = {} if task in ZERO_SHOT else options.settings["use"]
    return {**shared, **options.settings["each"].get(task, {})}


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse unknown methods, tasks and settings of tasks, and a task without its training data."""
    for name, known_names in (("methods", METHODS), ("tasks", TASKS)):
        chosen = [part for each in settings[name] for part in (each.split(JOINED) if name == "methods" else [each])]
        if unknown := [each for each in chosen if each not in known_names]:
            raise DataError(f"{name} has {quote(unknown[0])}, expected some of {', '.join(known_names)}")
        if twice := [each for each in settings[name] if settings[name].count(each) > 1]:
            raise DataError(f"{name} has {quote(twice[0])} twice: name each once")
    known = {field.name for task in TASKS.values() for field in fields(find_task(task).options)}
    _check_names("each", settings["each"], TASKS)
    for where, given in {"use": settings["use"], **settings["each"]}.items():
        _check_names(where, given, known)
        _check_files(where, given)
        if given.get("added") is not None:
            raise DataError(f"{where} has 'added', which studies do not run: use `unmask task toxicity --added FILE`")
    for task in NEED_TRAIN:
        if task in settings["tasks"] and not settings["each"].get(task, {}).get("train"):
            raise DataError(f"{task} needs texts with labels: give them with --set each.{task}.train=FILE")


def _check_files(where: str, given: Mapping[str, Any]) -> None:
    """Refuse anything but the name of a file, or of two lists of words."""
    for name in finetuning.FILES:
        if given.get(name) is not None and not isinstance(given[name], str):
            raise DataError(f"{where}.{name} is {quote(given[name])}, expected the name of a file")
    lists = given.get(finetuning.LISTS)
    if lists is not None and not (isinstance(lists, list) and [type(each) for each in lists] == [str, str]):
        raise DataError(f"{where}.{finetuning.LISTS} is {quote(lists)}, expected two files of words: female, male")


def _check_names(where: str, given: Any, known: Collection[str]) -> None:
    if not isinstance(given, Mapping):
        raise DataError(f"{where} is {quote(given)}, expected settings of its own")
    if unknown := [name for name in given if name not in known]:
        raise DataError(f"{where} has {quote(unknown[0])}, expected some of {', '.join(sorted(known))}")
