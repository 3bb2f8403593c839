"""`debiasing`: Debiasing isn't enough! (Kaneko, Bollegala & Okazaki 2022), Figures 1, 2 and Tables 1, 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unmask.findings.html import Section
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
    """Counts of the tasks' texts; then every version of every model, asked, taught, and asked again."""
    counted = [word_count_step(name, options) for name in options.settings["tasks"]]
    return [*counted, *(one for model in options.models for one in _of_model(model, options))]


def _of_model(model: str, options: StudyOptions) -> Iterator[Step]:
    for version, made in model_versions(model, options).items():
        name = version_name(model, version)
        yield from intrinsic_audits(name, made, options).values()
        for task in options.settings["tasks"]:
            taught = finetune_step(name, made, task, options)
            yield taught
            if options.settings["search"]:
                yield search_step(name, made, task, options)
            yield from intrinsic_audits(name_after_task(name, task), taught, options).values()


def model_versions(model: str, options: StudyOptions) -> dict[str, str | Step]:
    """The model as it is, and mitigated in every way."""
    made: dict[str, str | Step] = {ORIGINAL: model}
    text = options.settings["corpus"] or (NEWS if NEWS in options.data else PACKAGE)
    for version in options.settings["methods"]:
        made[version] = mitigations.step(
            f"mitigate {model} by {version}",
            METHODS[version],
            text,
            model=model,
            corpus={"limit": options.settings["documents"]},
            train=options.settings["train"],
            seed=options.seed,
        )
    return made


def intrinsic_audits(name: str, model: str | Step, options: StudyOptions) -> dict[str, Step]:
    """SSS on triples, CPS and AULA on pairs; where there are no triples, SSS on pairs too."""
    pairs, triples = pair_and_triple_data(options)
    asked = {pairs: ("cps", "aula"), triples: ("sss",)} if triples != pairs else {pairs: INTRINSIC}
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
        for data, measures in asked.items()
    }


def _use(kind: str, name: str, model: str | Step | None, settings: Mapping[str, Any], task: str) -> Step:
    return Step(
        name,
        f"unmask.studies.steps.finetuning:{kind}",
        {"task": TASKS[task], "seed": settings["seed"], "settings": settings["chosen"]},
        models=(model,) if isinstance(model, str) else (),
        inputs={"model": model} if isinstance(model, Step) else {},
    )


def _told(options: StudyOptions, task: str, *names: str) -> dict[str, Any]:
    every = {**options.settings["use"], **options.settings["each"].get(task, {})}
    return {"seed": options.seed, "chosen": {k: v for k, v in every.items() if k in names or not names}}


def finetune_step(name: str, model: str | Step, task: str, options: StudyOptions) -> Step:
    """One model taught one task, its bias followed."""
    return _use("FOLLOWED", f"teach {name} {task}", model, _told(options, task), task)


def search_step(name: str, model: str | Step, task: str, options: StudyOptions) -> Step:
    """The same by greedy search, as the paper's extrinsic scores are made."""
    told = _told(options, task, "limit", "rows", "triples", "length")
    return _use("SEARCHED", f"search how to teach {name} {task}", model, told, task)


def word_count_step(task: str, options: StudyOptions) -> Step:
    """Words of either gender in what the task teaches with."""
    return _use("TALLIED", f"count words of {task}", None, _told(options, task, "train"), task)


def conclude(outputs: Outputs, options: StudyOptions) -> list[Section]:
    """Every version of every model with its scores, then the paper's tables and figures."""
    rows = []
    for model in options.models:
        for version, made in model_versions(model, options).items():
            name = version_name(model, version)
            before = [outputs.get(one.name) for one in intrinsic_audits(name, made, options).values()]
            uses = {}
            for task in options.settings["tasks"]:
                taught = finetune_step(name, made, task, options)
                again = intrinsic_audits(name_after_task(name, task), taught, options).values()
                best = search_step(name, made, task, options).name if options.settings["search"] else ""
                uses[task] = TaskRun(
                    outputs.get(taught.name), outputs.get(best), [outputs.get(one.name) for one in again]
                )
            rows.append(ModelVersion(model, version, before, uses))
    tallies = {task: outputs.get(word_count_step(task, options).name) for task in options.settings["tasks"]}
    return sections(rows, tallies, options.seed)


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
        "each": {},  # settings of single tasks
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
