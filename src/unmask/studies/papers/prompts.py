"""`prompts`: Exploring social bias through prompt learning (2023), Tables I to V, HLD and the claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unmask.core.errors import DataError, quote
from unmask.core.options import option
from unmask.core.types import Kind
from unmask.studies.spec import Outputs, PaperConclusion, Role, Step, Study, StudyOptions

if TYPE_CHECKING:
    from unmask.prompts.annotations import Annotation

MEASURES: dict[Kind, tuple[str]] = {"masked": ("cps",), "causal": ("cll",)}
TYPES = {"race-color": "race", "gender": "gender", "socioeconomic": "socioeconomic", "religion": "religion"}
OWN_PAIRS = "prompt-pairs"
NOBODY = "anonymous"  # annotator of judgements without a name


@dataclass(frozen=True)
class PromptsOptions(StudyOptions):
    """The settings of `prompts`."""

    prompts: int | None = option(None, "Prompts of each bias type.", shown="all", least=1)
    top: int = option(2, "Words filled in per prompt.", least=1)
    judgements: Path | None = option(None, "CSV of people's verdicts (model, prompt, verdict, judge).")


def plan(options: PromptsOptions) -> dict[Role, Step]:
    """For every model: audits of the benchmark and of the completed prompts, and its answers to the prompts."""
    from unmask.studies.steps import audits

    limit = options.prompts and options.prompts * len(TYPES)
    pairs = options.data[1] if len(options.data) > 1 else OWN_PAIRS
    load_judgements(options)  # a mistake in the file ends the study before it begins
    steps: dict[Role, Step] = {}
    for model in options.models:
        common = {**options.scoring, "model": model, "shard": options.shard}
        steps["benchmark", model] = audits.step(model, options.data[0], MEASURES, **common)
        steps["pairs", model] = audits.step(model, pairs, MEASURES, **{**common, "limit": limit})
        asked = {"limit": limit, "seed": options.seed, "top": options.top, "dtype": options.dtype}
        kind, name = "unmask.studies.steps.prompts:ASKED", f"ask {model} the prompts"
        steps["answers", model] = Step.of(name, kind, asked, model=model, data="prompts")
    return steps


def load_judgements(options: PromptsOptions) -> Mapping[str, Sequence[Annotation]]:
    """What people judged, by model; DataError for an unknown model or prompt."""
    from unmask import data as datasets
    from unmask.prompts.annotations import import_of_models

    if options.judgements is None:
        return {}
    by_model = import_of_models(options.judgements, NOBODY, options.models)
    known = {prompt.id for prompt in datasets.read("prompts")}
    unknown = [annotation.prompt for of in by_model.values() for annotation in of if annotation.prompt not in known]
    if unknown:
        raise DataError(
            f"{options.judgements.name}: a judgement of {quote(unknown[0])}, which is none of the "
            f"{len(known)} prompts; expected prompts/0000 to prompts/{len(known) - 1:04}"
        )
    return by_model


def conclude(outputs: Outputs, options: PromptsOptions) -> PaperConclusion:
    """The paper's claims, its tables, and its second measure."""
    from unmask.studies.results.prompts import replicate

    return replicate(outputs, options)


PROMPTS = Study(
    name="prompts",
    title="Exploring social bias through prompt learning",
    question="Which bias types are strongest in a model, by likelihood and by the words it fills in?",
    citation="prompts-2023",
    models=("bert-base-uncased", "roberta-large", "albert-xxlarge-v2"),
    data=("crows-pairs", OWN_PAIRS),
    plan=plan,
    conclude=conclude,
    options=PromptsOptions,
    parts={
        "Table I": ("benchmark",),
        "Table II": ("benchmark", "pairs"),
        "Table III": ("benchmark",),
        "Table IV": ("pairs",),
        "Table V": ("benchmark", "pairs"),
        "human-level diagnosis": ("answers", "benchmark"),
    },
    reduced={"prompts": 8, "limit": 300},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes"},
)
