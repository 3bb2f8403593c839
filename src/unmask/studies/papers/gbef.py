"""`gbef`: Towards a robust gender bias evaluation (2023), Tables 3 to 5, Figures 6 and 8 to 19."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unmask.studies.papers.gbef_tables import BALANCED, BASE, CDS, conclude
from unmask.studies.spec import Role, Step, Study, StudyOptions
from unmask.studies.steps import audits, diagnoses, mitigations
from unmask.studies.texts import PACKAGE

SENTENCES, TEMPLATES = "triple-gender", "pronoun-templates"
GAP, PROFESSIONS = "gap/gap-development.tsv", "mt_gender/en.txt"
TOXIC = "jigsaw_sample/toxic_comments.csv"
COLUMNS: Mapping[str, Mapping[str, Any]] = {GAP: {"column": "Text"}, PROFESSIONS: {"field": 2}, PACKAGE: {}}
LABELS = {"toxic": ("toxic", "1"), "severe toxic": ("severe_toxic", "1")}


def plan(options: StudyOptions) -> dict[Role, Step]:
    """Audits of every model; then mitigations of the first model and their audits by SLD or PPD."""
    first = options.models[0]
    steps: dict[Role, Step] = {
        ("audit", model): _audit(model, model, SENTENCES, "sld", options) for model in options.models
    }
    settings: dict[str, Any] = {"measures": ("sld",), "draws": options.settings["draws"]}
    steps["stability",] = diagnoses.step(first, SENTENCES, {"stability": settings}, model=first, **options.scoring)
    models = mitigated_models(options)
    for measure, data in (("sld", SENTENCES), ("ppd", TEMPLATES)):
        steps[measure, BASE] = _audit(first, first, data, measure, options)
        for name, (model, measures) in models.items():
            if measure in measures:
                steps[measure, name] = _audit(name, model, data, measure, options)
    return steps


def mitigated_models(options: StudyOptions) -> dict[str, tuple[Step, tuple[str, ...]]]:
    """The training steps of the first model by version name, and the measures each version is audited by."""
    settings = options.settings
    text, professions = (name if name in options.data else PACKAGE for name in (GAP, PROFESSIONS))
    cds = _train_step(CDS, "cds", text, options)
    balanced = _train_step(BALANCED, mitigations.PLAIN, professions, options)
    models = {CDS: (cds, ("sld", "ppd")), BALANCED: (balanced, ("ppd",))}
    for label, only in LABELS.items() if TOXIC in options.data else ():
        corpus = {"column": "comment_text", "only": list(only)}
        step = _train_step(label, mitigations.PLAIN, TOXIC, options, corpus=corpus, model=cds)
        models[label] = (step, ("sld",))
    for times in settings["reminders"]:
        name = f"{CDS}, reminders ×{times}"
        models[name] = (_train_step(name, "cds", text, options, choices={"remind": times}), ("ppd",))
    for size in settings["sizes"]:
        for draw in range(settings["draws"]):
            name = f"cds on {size} sentences, draw {draw + 1}"
            step = _train_step(name, "cds", text, options, corpus={"limit": size, "draw": draw})
            models[name] = (step, ("sld",))
    return models


def _train_step(  # noqa: PLR0913 - the parameters of a mitigation
    name: str,
    method: str,
    text: str,
    options: StudyOptions,
    *,
    corpus: Mapping[str, Any] | None = None,
    choices: Mapping[str, Any] | None = None,
    model: Step | None = None,
) -> Step:
    first = options.models[0]
    selection = {**COLUMNS.get(text, {}), "limit": options.settings["documents"], **(corpus or {})}
    train = {"train": dict(options.settings["train"]), "seed": options.seed, "corpus": selection}
    return mitigations.step(f"{name}: train {first}", method, text, model=model or first, options=choices, **train)


def _audit(name: str, model: str | Step, data: str, measure: str, options: StudyOptions) -> Step:
    limit = options.settings["templates"] if data == TEMPLATES else options.limit
    scoring = {**options.scoring, "limit": limit, "shard": options.shard}
    return audits.step(name, data, (measure,), model=model, **scoring)


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
    reduced={"draws": 2, "sizes": (40, 80), "documents": 80, "train": {"epochs": 1.0, "rate": 5e-4, "batch": 16}},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={GAP: PACKAGE, PROFESSIONS: PACKAGE},
)
