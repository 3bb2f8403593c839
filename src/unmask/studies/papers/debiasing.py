"""`debiasing`: Debiasing isn't enough! (Kaneko, Bollegala & Okazaki 2022), Figures 1, 2 and Tables 1, 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unmask.findings.html import Section
from unmask.studies.papers.debiasing_tables import sections
from unmask.studies.papers.debiasing_versions import (
    INTRINSIC,
    ORIGINAL,
    Use,
    Version,
    after,
    datasets_of,
    named,
)
from unmask.studies.spec import Choices, Outputs, Step, Study
from unmask.studies.steps import audits, mitigations
from unmask.studies.texts import PACKAGE

NEWS = "news-commentary-v15.en"
METHODS = {"AT": "at", "CDA": "cda", "DO": "dropout"}
TASKS = {"BiasBios": "biasbios", "STS-bias": "stsbias", "NLI-bias": "nlibias"}


def plan(choices: Choices) -> list[Step]:
    """Counts of the tasks' texts; then every version of every model, asked, taught, and asked again."""
    counted = [tallied(name, choices) for name in choices.settings["tasks"]]
    return [*counted, *(one for model in choices.models for one in _of_model(model, choices))]


def _of_model(model: str, choices: Choices) -> Iterator[Step]:
    for version, made in versions(model, choices).items():
        name = named(model, version)
        yield from intrinsic(name, made, choices).values()
        for task in choices.settings["tasks"]:
            taught = followed(name, made, task, choices)
            yield taught
            if choices.settings["search"]:
                yield searched(name, made, task, choices)
            yield from intrinsic(after(name, task), taught, choices).values()


def versions(model: str, choices: Choices) -> dict[str, str | Step]:
    """The model as it is, and mitigated in every way."""
    made: dict[str, str | Step] = {ORIGINAL: model}
    text = choices.settings["corpus"] or (NEWS if NEWS in choices.data else PACKAGE)
    for version in choices.settings["methods"]:
        made[version] = mitigations.step(
            f"mitigate {model} by {version}",
            METHODS[version],
            text,
            model=model,
            corpus={"limit": choices.settings["documents"]},
            train=choices.settings["train"],
            seed=choices.seed,
        )
    return made


def intrinsic(name: str, model: str | Step, choices: Choices) -> dict[str, Step]:
    """SSS on triples, CPS and AULA on pairs; where there are no triples, SSS on pairs too."""
    pairs, triples = datasets_of(choices)
    asked = {pairs: ("cps", "aula"), triples: ("sss",)} if triples != pairs else {pairs: INTRINSIC}
    return {
        data: audits.step(
            name,
            data,
            measures,
            model=model,
            limit=choices.limit,
            seed=choices.seed,
            dtype=choices.dtype,
            shard=choices.shard,
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


def _told(choices: Choices, task: str, *names: str) -> dict[str, Any]:
    every = {**choices.settings["use"], **choices.settings["each"].get(task, {})}
    return {"seed": choices.seed, "chosen": {k: v for k, v in every.items() if k in names or not names}}


def followed(name: str, model: str | Step, task: str, choices: Choices) -> Step:
    """One model taught one task, its bias followed."""
    return _use("FOLLOWED", f"teach {name} {task}", model, _told(choices, task), task)


def searched(name: str, model: str | Step, task: str, choices: Choices) -> Step:
    """The same by greedy search, as the paper's extrinsic scores are made."""
    told = _told(choices, task, "limit", "rows", "triples", "length")
    return _use("SEARCHED", f"search how to teach {name} {task}", model, told, task)


def tallied(task: str, choices: Choices) -> Step:
    """Words of either gender in what the task teaches with."""
    return _use("TALLIED", f"count words of {task}", None, _told(choices, task, "train"), task)


def conclude(outputs: Outputs, choices: Choices) -> list[Section]:
    """Every version of every model with its scores, then the paper's tables and figures."""
    rows = []
    for model in choices.models:
        for version, made in versions(model, choices).items():
            name = named(model, version)
            before = [outputs.get(one.name) for one in intrinsic(name, made, choices).values()]
            uses = {}
            for task in choices.settings["tasks"]:
                taught = followed(name, made, task, choices)
                again = intrinsic(after(name, task), taught, choices).values()
                best = searched(name, made, task, choices).name if choices.settings["search"] else ""
                uses[task] = Use(
                    outputs.get(taught.name), outputs.get(best), [outputs.get(one.name) for one in again]
                )
            rows.append(Version(model, version, before, uses))
    tallies = {task: outputs.get(tallied(task, choices).name) for task in choices.settings["tasks"]}
    return sections(rows, tallies, choices.seed)


USE: Mapping[str, Any] = {
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
        "use": USE,
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
    stand_ins={"crows-pairs": "nine-axes", NEWS: PACKAGE},
)
