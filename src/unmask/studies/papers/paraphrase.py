"""`paraphrase`: PLL measures under paraphrasing (Kwon & Mihindukulasooriya 2022): claims, Tables 1–2, Figures 1–4."""

from __future__ import annotations

from dataclasses import dataclass, replace

from unmask.core.errors import DataError
from unmask.core.options import option
from unmask.studies.spec import Outputs, PaperConclusion, Role, Step, Study, StudyOptions, TextFile

SOURCE = "crows-pairs"  # of the paper's examples
GEST_SCORES = "gest-masked-scores"  # published scores of real models
# By item of CrowS-Pairs: the phrase that the paper's example has, and its paraphrases.
TABLE_2, FIGURE_1 = f"{SOURCE}/0003", f"{SOURCE}/0029"
EXAMPLES = {
    TABLE_2: ("attacked", "assaulted", "ambushed"),
    FIGURE_1: ("saving money", "being frugal", "cutting expenditure", "pinching pennies"),
}


@dataclass(frozen=True)
class ParaphraseOptions(StudyOptions):
    """The settings of `paraphrase`."""

    measures: tuple[str, ...] = option(("cps-exact",), "Measures.", flag="--measure --measures")
    band: float = option(0.25, "Differences within it count as none.", least=0)
    rewordings: TextFile | None = option(None, "File of paraphrases of CrowS-Pairs: item, phrase, paraphrase.")


def plan(options: ParaphraseOptions) -> dict[Role, Step]:
    """For every model: score every original and paraphrase, and the paper's examples if CrowS-Pairs is there.

    With a file of rewordings the originals are those of CrowS-Pairs that it names.
    """
    from unmask.studies.steps import diagnoses, scores, wordings

    file, data = options.rewordings, options.data[0]
    if file and SOURCE not in options.data:
        raise DataError(f"rewordings are of {SOURCE}, which is not among the data: unmask data get {SOURCE}")
    steps: dict[Role, Step] = {}
    for model in options.models:
        common = {"measures": list(options.measures), "seed": options.seed, "dtype": options.dtype}
        common |= {"model": model, "shown": model}
        if file:
            steps["diagnose", model] = wordings.step(f"rewordings under {model}", SOURCE, {}, file, **common)
        else:
            settings = {"paraphrase": {"measures": options.measures}}
            step = diagnoses.step(model, data, settings, model=model, **options.scoring)
            steps["diagnose", model] = replace(step, name=f"wordings of {data} under {model}")
        if SOURCE in options.data[1:]:
            name = f"the paper's examples under {model}"
            steps["examples", model] = wordings.step(name, SOURCE, EXAMPLES, None, **common)
    if GEST_SCORES in options.data[1:]:
        steps["scores",] = scores.step(GEST_SCORES)
    return steps


def conclude(outputs: Outputs, options: ParaphraseOptions) -> PaperConclusion:
    """The claims, tables and figures, with all models side by side."""
    from unmask.studies.results.paraphrase import replicate

    return replicate(outputs, options)


PARAPHRASE = Study(
    name="paraphrase",
    title="Pseudo-log-likelihood measures in other words",
    question="Does a model's preference on a pair survive paraphrasing?",
    citation="kwon-mihindukulasooriya-2022-empirical",
    models=(
        *("bert-base-uncased", "roberta-large", "albert-xxlarge-v2"),
        *("distilbert-base-uncased", "microsoft/mpnet-base"),
    ),
    data=("paraphrases", SOURCE, GEST_SCORES),
    plan=plan,
    conclude=conclude,
    options=ParaphraseOptions,
    parts={
        "Table 1": ("diagnose",),
        "Table 2": ("diagnose", "examples"),
        "Figure 1": ("examples",),
        **{f"Figure {number}": ("diagnose",) for number in range(2, 5)},
        "real models' item scores": ("scores",),
    },
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
)
