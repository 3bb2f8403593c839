"""`gbef`: Towards a robust gender bias evaluation (2023), Tables 3 to 5, Figures 6 and 8 to 19."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unmask.findings import Section
from unmask.studies.papers.gbef_tables import conclude as build_sections
from unmask.studies.spec import Outputs, Step, Study, StudyOptions
from unmask.studies.steps import audits, diagnoses, mitigations
from unmask.studies.texts import PACKAGE

SENTENCES, TEMPLATES = "triple-gender", "pronoun-templates"
GAP, PROFESSIONS = "gap/gap-development.tsv", "mt_gender/en.txt"
TOXIC = "jigsaw_sample/toxic_comments.csv"
COLUMNS: Mapping[str, Mapping[str, Any]] = {
    GAP: {"column": "Text"},
    PROFESSIONS: {"field": 2},
    PACKAGE: {},
}
LABELS = {"toxic": ("toxic", "1"), "severe toxic": ("severe_toxic", "1")}
BASE, CDS, BALANCED = "base", "cds on gap", "fine-tuned on professions"


def plan(options: StudyOptions) -> list[Step]:
    """Audits of every model; then mitigations of the first model and their audits."""
    return [
        *_model_steps(options),
        *(step for steps in mitigation_audits(options).values() for step in steps.values()),
    ]


def _model_steps(options: StudyOptions) -> Iterator[Step]:
    for model in options.models:
        yield _audit(model, model, SENTENCES, "sld", options)
    yield diagnoses.step(
        options.models[0],
        SENTENCES,
        {"stability": {"measures": ["sld"], "draws": options.settings["draws"]}},
        model=options.models[0],
        limit=options.limit,
        seed=options.seed,
        dtype=options.dtype,
    )


def mitigation_audits(options: StudyOptions) -> dict[str, dict[str, Step]]:
    """Audits by measure (`sld`, `ppd`), then by version of the first model."""
    first, models = options.models[0], mitigated_models(options)
    sld = {
        name: _audit(name, model, SENTENCES, "sld", options)
        for name, model in models.items()
        if _uses_sld(name)
    }
    ppd = {
        name: _audit(name, model, TEMPLATES, "ppd", options)
        for name, model in models.items()
        if _uses_ppd(name)
    }
    return {
        "sld": {BASE: _audit(first, first, SENTENCES, "sld", options), **sld},
        "ppd": {BASE: _audit(first, first, TEMPLATES, "ppd", options), **ppd},
    }


def _uses_sld(name: str) -> bool:
    return name == CDS or name in LABELS or " sentences, draw " in name


def _uses_ppd(name: str) -> bool:
    return name in (CDS, BALANCED) or "reminders" in name


def mitigated_models(options: StudyOptions) -> dict[str, Step]:
    """The training steps of the first model, by version name."""
    first, text = options.models[0], _available(GAP, options)
    models = {CDS: _train_step(CDS, "cds", text, first, options)}
    models[BALANCED] = _train_step(
        BALANCED, mitigations.PLAIN, _available(PROFESSIONS, options), first, options
    )
    for label, only in LABELS.items():
        if TOXIC in options.data:
            selection = {"column": "comment_text", "only": list(only)}
            models[label] = _train_step(
                label, mitigations.PLAIN, TOXIC, models[CDS], options, corpus=selection
            )
    for times in options.settings["reminders"]:
        name = f"{CDS}, reminders ×{times}"
        models[name] = _train_step(name, "cds", text, first, options, mitigation_options={"remind": times})
    for size in options.settings["sizes"]:
        for draw in range(options.settings["draws"]):
            name = f"cds on {size} sentences, draw {draw + 1}"
            models[name] = _train_step(
                name, "cds", text, first, options, corpus={"limit": size, "draw": draw}
            )
    return models


def _train_step(  # noqa: PLR0913 - the parameters of a mitigation
    name: str,
    method: str,
    text: str,
    model: str | Step,
    options: StudyOptions,
    *,
    corpus: Mapping[str, Any] | None = None,
    mitigation_options: Mapping[str, Any] | None = None,
) -> Step:
    selection = {**COLUMNS.get(text, {}), "limit": options.settings["documents"], **(corpus or {})}
    return mitigations.step(
        f"{name}: train {options.models[0]}",
        method,
        text,
        model=model,
        corpus=selection,
        train=options.settings["train"],
        seed=options.seed,
        options=mitigation_options,
    )


def _audit(name: str, model: str | Step, data: str, measure: str, options: StudyOptions) -> Step:
    return audits.step(
        name,
        data,
        (measure,),
        model=model,
        limit=options.settings["templates"] if data == TEMPLATES else options.limit,
        seed=options.seed,
        dtype=options.dtype,
        shard=options.shard,
    )


def _available(name: str, options: StudyOptions) -> str:
    return name if name in options.data else PACKAGE


def conclude(outputs: Outputs, options: StudyOptions) -> list[Section]:
    """The thesis's tables and figures."""
    names = [step.name for step in _model_steps(options)]
    return build_sections(outputs, options, names, mitigation_audits(options))


GBEF = Study(
    name="gbef",
    title="Towards a robust gender bias evaluation in natural language processing",
    question="How much gender bias do models show, and what does counterfactual data do to it?",
    citation="gbef-2023",
    models=(
        *("bert-base-uncased", "bert-large-uncased", "roberta-base"),
        *("roberta-large", "albert-base-v2", "albert-large-v2"),
    ),
    data=(GAP, PROFESSIONS, TOXIC),
    plan=plan,
    conclude=conclude,
    settings={
        "draws": 5,
        "sizes": (500, 1000, 2000, 4000, 6000, 8000, 10000, 12000),
        "reminders": (1, 2, 3),
        "documents": None,
        "templates": None,
        "train": {"epochs": 3.0, "rate": 2e-5, "batch": 1},
    },
    reduced={
        "draws": 2,
        "sizes": (40, 80),
        "documents": 80,
        "train": {"epochs": 1.0, "rate": 5e-4, "batch": 16},
    },
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={GAP: PACKAGE, PROFESSIONS: PACKAGE},
)
