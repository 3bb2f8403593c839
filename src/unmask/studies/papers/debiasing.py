"""`debiasing`: Debiasing isn't enough! (Kaneko, Bollegala & Okazaki 2022), Figures 1, 2 and Tables 1, 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unmask.findings import Section
from unmask.studies.papers.debiasing_tables import sections
from unmask.studies.papers.debiasing_versions import (
    INTRINSIC,
    ORIGINAL,
    ModelVersion,
    TaskRun,
    name_after_task,
    pair_and_triple_data,
    version_name,
)
from unmask.studies.spec import Outputs, Step, Study, StudyOptions
from unmask.studies.steps import audits, mitigations
from unmask.studies.texts import PACKAGE

NEWS = "news-commentary-v15.en"
METHODS = {"AT": "at", "CDA": "cda", "DO": "dropout"}
TASKS = {"BiasBios": "biasbios", "STS-bias": "stsbias", "NLI-bias": "nlibias"}


def plan(options: StudyOptions) -> list[Step]:
    """Word counts per task; then every version of every model audited, fine-tuned, and audited again."""
    word_counts = [word_count_step(name, options) for name in options.settings["tasks"]]
    return [*word_counts, *(step for model in options.models for step in _model_steps(model, options))]


def _model_steps(model: str, options: StudyOptions) -> Iterator[Step]:
    for version, source in model_versions(model, options).items():
        name = version_name(model, version)
        yield from intrinsic_audits(name, source, options).values()
        for task in options.settings["tasks"]:
            fine_tuned = finetune_step(name, source, task, options)
            yield fine_tuned
            if options.settings["search"]:
                yield search_step(name, source, task, options)
            yield from intrinsic_audits(name_after_task(name, task), fine_tuned, options).values()


def model_versions(model: str, options: StudyOptions) -> dict[str, str | Step]:
    """The original model, and a mitigation step per method."""
    versions: dict[str, str | Step] = {ORIGINAL: model}
    text = options.settings["corpus"] or (NEWS if NEWS in options.data else PACKAGE)
    for version in options.settings["methods"]:
        versions[version] = mitigations.step(
            f"mitigate {model} by {version}",
            METHODS[version],
            text,
            model=model,
            corpus={"limit": options.settings["documents"]},
            train=options.settings["train"],
            seed=options.seed,
        )
    return versions


def intrinsic_audits(name: str, model: str | Step, options: StudyOptions) -> dict[str, Step]:
    """SSS on triples, CPS and AULA on pairs; without triples, all three on pairs."""
    pairs, triples = pair_and_triple_data(options)
    measures_by_data = {pairs: ("cps", "aula"), triples: ("sss",)} if triples != pairs else {pairs: INTRINSIC}
    return {
        data: audits.step(
            name,
            data,
            measures,
            model=model,
            limit=options.limit,
            seed=options.seed,
            dtype=options.dtype,
            shard=options.shard,
        )
        for data, measures in measures_by_data.items()
    }


def _task_step(
    kind: str, name: str, model: str | Step | None, settings: Mapping[str, Any], task: str
) -> Step:
    return Step(
        name,
        f"unmask.studies.steps.finetuning:{kind}",
        {"task": TASKS[task], "seed": settings["seed"], "settings": settings["task"]},
        models=(model,) if isinstance(model, str) else (),
        inputs={"model": model} if isinstance(model, Step) else {},
    )


def _task_settings(options: StudyOptions, task: str, *names: str) -> dict[str, Any]:
    """The seed and the task's settings, all of them or those named."""
    settings = {**options.settings["use"], **options.settings["each"].get(task, {})}
    return {"seed": options.seed, "task": {k: v for k, v in settings.items() if k in names or not names}}


def finetune_step(name: str, model: str | Step, task: str, options: StudyOptions) -> Step:
    """Fine-tune a model on a task and track its bias."""
    return _task_step("FOLLOWED", f"teach {name} {task}", model, _task_settings(options, task), task)


def search_step(name: str, model: str | Step, task: str, options: StudyOptions) -> Step:
    """Fine-tune with a greedy hyper-parameter search, as for the paper's extrinsic scores."""
    settings = _task_settings(options, task, "limit", "rows", "triples", "length")
    return _task_step("SEARCHED", f"search how to teach {name} {task}", model, settings, task)


def word_count_step(task: str, options: StudyOptions) -> Step:
    """Count the gendered words in a task's training data."""
    return _task_step("TALLIED", f"count words of {task}", None, _task_settings(options, task, "train"), task)


def conclude(outputs: Outputs, options: StudyOptions) -> list[Section]:
    """Collect the outputs of every version of every model, then build the tables and figures."""
    versions = []
    for model in options.models:
        for version, source in model_versions(model, options).items():
            name = version_name(model, version)
            before = [outputs.get(step.name) for step in intrinsic_audits(name, source, options).values()]
            tasks = {}
            for task in options.settings["tasks"]:
                fine_tuned = finetune_step(name, source, task, options)
                after = intrinsic_audits(name_after_task(name, task), fine_tuned, options).values()
                search = search_step(name, source, task, options).name if options.settings["search"] else ""
                tasks[task] = TaskRun(
                    outputs.get(fine_tuned.name),
                    outputs.get(search),
                    [outputs.get(step.name) for step in after],
                )
            versions.append(ModelVersion(model, version, before, tasks))
    counts = {task: outputs.get(word_count_step(task, options).name) for task in options.settings["tasks"]}
    return sections(versions, counts, options.seed)


FINETUNE: Mapping[str, Any] = {
    "grid": {"batch": [32], "rate": [3e-5], "epochs": [100.0]},
    "every": 500,
    "steps": 5500,
}
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
    conclude=conclude,
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
