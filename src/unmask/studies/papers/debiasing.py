"""`debiasing`: Debiasing isn't enough! (Kaneko, Bollegala & Okazaki 2022), Figures 1, 2 and Tables 1, 2."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmask.data import names as dataset_names
from unmask.studies.papers import debiasing_tables as tables
from unmask.studies.papers.debiasing_tables import INTRINSIC, ORIGINAL
from unmask.studies.spec import Role, Step, Study, StudyOptions
from unmask.studies.steps import audits, finetuning, mitigations
from unmask.studies.texts import PACKAGE

NEWS = "news-commentary-v15.en"
METHODS = {"AT": "at", "CDA": "cda", "DO": "dropout"}
TASKS = {"BiasBios": "biasbios", "STS-bias": "stsbias", "NLI-bias": "nlibias"}
SEARCHED = ("limit", "rows", "triples", "length")  # settings that a search uses too


def plan(options: StudyOptions) -> dict[Role, Step]:
    """Word counts per task; then every version of every model audited, fine-tuned, and audited again."""
    steps: dict[Role, Step] = {}
    for task in options.settings["tasks"]:
        steps[finetuning.COUNTS, task] = _task_step("TALLIED", f"count words of {task}", task, options, ("train",))
    for model in options.models:
        for version in (ORIGINAL, *options.settings["methods"]):
            steps |= _version_steps(model, version, options)
    return steps


def _version_steps(model: str, version: str, options: StudyOptions) -> dict[Role, Step]:
    """The audits and fine-tunings of the original model or of a mitigated version."""
    source = model if version == ORIGINAL else _mitigation(model, version, options)
    name = tables.version_name(model, version)
    steps: dict[Role, Step] = {}
    for data, step in _audits(name, source, options).items():
        steps[tables.BEFORE, model, version, data] = step
    for task in options.settings["tasks"]:
        tuned = _task_step("FOLLOWED", f"fine-tune {name} on {task}", task, options, (), source)
        steps[tables.TUNED, model, version, task] = tuned
        if options.settings["search"]:
            title = f"search hyper-parameters of {name} on {task}"
            steps[tables.SEARCH, model, version, task] = _task_step("SEARCHED", title, task, options, SEARCHED, source)
        for data, step in _audits(f"{name} after {task}", tuned, options).items():
            steps[tables.AFTER, model, version, task, data] = step
    return steps


def _mitigation(model: str, version: str, options: StudyOptions) -> Step:
    settings = options.settings
    return mitigations.step(
        f"mitigate {model} by {version}",
        METHODS[version],
        settings["corpus"] or (NEWS if NEWS in options.data else PACKAGE),
        model=model,
        corpus={"limit": settings["documents"]},
        train=dict(settings["train"]),
        seed=options.seed,
    )


def _audits(name: str, model: str | Step, options: StudyOptions) -> dict[str, Step]:
    """By dataset: CPS and AULA on pairs, SSS on triples; without triples, all three on pairs."""
    names = [name for name in options.data if name in dataset_names() or Path(name).is_file()]
    pairs, triples = names[0], names[1] if len(names) > 1 else names[0]
    measures_by_data = {pairs: ("cps", "aula"), triples: ("sss",)} if triples != pairs else {pairs: INTRINSIC}
    return {
        data: audits.step(name, data, measures, model=model, shard=options.shard, **options.scoring)
        for data, measures in measures_by_data.items()
    }


def _task_step(
    kind: str, name: str, task: str, options: StudyOptions, names: tuple[str, ...], model: str | Step | None = None
) -> Step:
    """A step of a task with its settings, all of them or those named."""
    chosen = {**options.settings["use"], **options.settings["each"].get(task, {})}
    settings = {key: value for key, value in chosen.items() if key in names or not names}
    return finetuning.step(kind, name, TASKS[task], settings, options.seed, model)


FINETUNE: Mapping[str, Any] = {"grid": {"batch": [32], "rate": [3e-5], "epochs": [100.0]}, "every": 500, "steps": 5500}
DEBIASING = Study(
    name="debiasing",
    title="Debiasing isn't enough! On mitigating social biases in masked language models",
    question="Does a model that intrinsic measures call less biased do less harm in use?",
    citation="kaneko-etal-2022-debiasing",
    models=(
        *("bert-base-uncased", "bert-base-cased", "bert-large-uncased", "bert-large-cased"),
        *("roberta-base", "roberta-large", "albert-base-v2"),
    ),
    data=("crows-pairs", "stereoset", NEWS),
    plan=plan,
    conclude=tables.conclude,
    settings={
        "methods": tuple(METHODS),
        "tasks": tuple(TASKS),
        "search": True,
        "corpus": None,
        "documents": None,
        "train": {},
        "use": FINETUNE,
        "each": {},  # overrides per task
    },
    reduced={
        "limit": 60,
        "search": False,
        "documents": 100,
        "train": {"epochs": 1.0, "rate": 5e-4, "batch": 16},
        "use": {
            "grid": {"batch": [16], "rate": [5e-4], "epochs": [3.0]},
            "every": 10,
            "steps": 20,
            "rows": 240,
            "triples": 120,
            "length": 64,
        },
        "each": {"STS-bias": {"limit": 4}},
    },
    reduced_models=("builtin", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes", NEWS: PACKAGE},
)
