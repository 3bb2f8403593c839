"""`aul`: Unmasking the Mask (Kaneko & Bollegala 2022), Tables 1 to 5, Figure 1, and real models' item scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unmask.core.options import option
from unmask.studies.spec import Outputs, PaperConclusion, Role, Step, Study, StudyOptions, TextFile

ALL_MASKED = "all-masked"
PAIRS, TRIPLES = ("cps", "aul", "aula"), ("sss", "sss-diagonal", "aul", "aula")  # Table 5; eq. 2 as printed too
UNMASKED = (ALL_MASKED, "aul", "aula")  # Table 3
HUMAN = ("aul", "aula", "cps", "sss")  # Figure 1
STEREOSET, STEREOSET_SCORES = "stereoset", "stereoset-scores"  # the latter: published answers of real models


@dataclass(frozen=True)
class AulOptions(StudyOptions):
    """The settings of `aul`."""

    draws: int = option(10, "Samples of shuffled sentences.", least=1, most=1000)
    counts: TextFile | None = option(None, "File of words and their counts, for Table 2.")


def plan(options: AulOptions) -> dict[Role, Step]:
    """An audit and a diagnosis step per model and dataset; word frequencies once; the answers of real models."""
    from unmask.studies.steps import audits, diagnoses, scores

    steps: dict[Role, Step] = {}
    evaluated = [name for name in options.data if name != STEREOSET_SCORES][:2]  # pairs and triples
    for model in options.models:
        for number, data in enumerate(evaluated):
            measures = TRIPLES if number else (*PAIRS, ALL_MASKED)
            steps["audit", model, data] = audits.step(
                model, data, measures, model=model, shard=options.shard, **options.scoring
            )
            settings: dict[str, Any] = {"accuracy": {}, "meaning": {"draws": options.draws}}
            if not number:
                settings |= {"direction": {"measures": UNMASKED}, "human": {"measures": HUMAN}}
                counts = {"counts": options.counts} if options.counts else {}
                settings |= {"frequency": {"measures": ("aul",), **counts}} if model == options.models[0] else {}
            steps["diagnose", model, data] = diagnoses.step(model, data, settings, model=model, **options.scoring)
    if {STEREOSET, STEREOSET_SCORES} <= set(options.data):
        steps["scores",] = scores.step(STEREOSET_SCORES, STEREOSET)
    return steps


def conclude(outputs: Outputs, options: AulOptions) -> PaperConclusion:
    """The claims, one section per table, one for the figure, and one for real models."""
    from unmask.studies.results.aul import replicate

    return replicate(outputs, options)


AUL = Study(
    name="aul",
    title="Unmasking the mask: evaluating social biases in masked language models",
    question="Do measures without masking measure bias better than those with masking?",
    citation="kaneko-bollegala-2022-unmasking",
    models=("bert-base-cased", "roberta-large", "albert-large-v2"),
    data=("crows-pairs", STEREOSET, STEREOSET_SCORES),
    plan=plan,
    conclude=conclude,
    options=AulOptions,
    parts={
        **{f"Table {number}": ("diagnose",) for number in range(1, 5)},
        "Table 5": ("audit",),
        "Figure 1": ("diagnose",),
        "real models' item scores": ("scores", "audit"),
    },
    reduced={"draws": 2, "limit": 150},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes"},
)
