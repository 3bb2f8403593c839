"""The built-in studies. Their functions are imported when called, so that studies can be listed without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_modules
from unmask.studies.spec import PACKAGE, Study

if TYPE_CHECKING:
    from unmask.studies.papers import aul, debiasing, debiasing_tables, gbef, gbef_tables, paraphrase, prompts
else:
    aul, debiasing, debiasing_tables, gbef, gbef_tables, paraphrase, prompts = lazy_modules(
        "unmask.studies.papers", "aul", "debiasing", "debiasing_tables", "gbef", "gbef_tables", "paraphrase", "prompts"
    )

NEWS = "news-commentary-v15.en"
WORD_LISTS = ("gn_glove/female_word_file.txt", "gn_glove/male_word_file.txt")  # Zhao et al. (2018)
GAP = ("gap/gap-development.tsv", "gap/gap-test.tsv", "gap/gap-validation.tsv")
PROFESSIONS = "mt_gender/en.txt"
TOXIC = "jigsaw_sample/toxic_comments.csv"
STEREOSET_SCORES, GEST_SCORES = "stereoset-scores", "gest-masked-scores"  # published answers of real models

AUL = Study(
    name="aul",
    title="Unmasking the mask: evaluating social biases in masked language models",
    question="Do measures without masking measure bias better than those with masking?",
    citation="kaneko-bollegala-2022-unmasking",
    models=("bert-base-cased", "roberta-large", "albert-large-v2"),
    data=("crows-pairs", "stereoset", STEREOSET_SCORES),
    plan=aul.plan,
    conclude=aul.conclude,
    parts={
        **{f"Table {number}": ("diagnose",) for number in range(1, 5)},
        "Table 5": ("audit",),
        "Figure 1": ("diagnose",),
        "real models' item scores": ("scores", "audit"),
    },
    settings={"draws": 10, "counts": None},
    reduced={"draws": 2, "limit": 150},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes"},
)

DEBIASING = Study(
    name="debiasing",
    title="Debiasing isn't enough! On mitigating social biases in masked language models",
    question="Does a model that intrinsic measures call less biased do less harm in use?",
    citation="kaneko-etal-2022-debiasing",
    models=(
        *("bert-base-uncased", "bert-base-cased", "bert-large-uncased", "bert-large-cased"),
        *("roberta-base", "roberta-large", "albert-base-v2"),
    ),
    data=("crows-pairs", "stereoset", NEWS, *WORD_LISTS),
    plan=debiasing.plan,
    conclude=debiasing_tables.conclude,
    parts={
        "Table 1": ("counts",),
        "Table 2": ("before", "after", "fine-tuned", "search", "zero-shot"),
        "Figure 1": ("before", "fine-tuned", "search", "zero-shot"),
        "Figure 2": ("fine-tuned",),
    },
    settings={
        "methods": ("AT", "at-code", "CDA", "cda-kaneko", "DO"),  # corrected and as the published code does it
        "tasks": ("BiasBios", "STS-bias", "NLI-bias"),
        "search": True,
        "corpus": None,
        "documents": None,
        "train": {},
        "use": {"grid": {"batch": [32], "rate": [3e-5], "epochs": [100.0]}, "every": 500, "steps": 5500},
        "each": {},  # overrides per task
    },
    reduced={
        "limit": 60,
        "search": False,
        "methods": ("AT", "CDA", "DO"),
        "documents": 100,
        "train": {"epochs": 1.0, "rate": 5e-4, "batch": 16},
        "use": {
            "grid": {"batch": [16], "rate": [5e-4], "epochs": [3.0]},
            "every": 10,
            "steps": 20,
            "rows": 120,
            "triples": 120,
            "length": 48,
        },
        "each": {"STS-bias": {"limit": 4}},
    },
    reduced_models=("builtin", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes", NEWS: PACKAGE},
    repeats=True,
)

GBEF = Study(
    name="gbef",
    title="Towards a robust gender bias evaluation in natural language processing",
    question="How much gender bias do models show, and what does counterfactual data do to it?",
    citation="gbef-2023",
    models=(
        *("bert-base-uncased", "bert-large-uncased", "roberta-base"),
        *("roberta-large", "albert-base-v2", "albert-large-v2"),
    ),
    data=(*GAP, PROFESSIONS, TOXIC),
    plan=gbef.plan,
    conclude=gbef_tables.conclude,
    parts={
        "worked numbers": ("worked",),
        "Table 3": ("audit",),
        "Table 4": ("sld",),
        "Table 5": ("ppd/base", "ppd/cds", "ppd/cds/*", "ppd/reminders*"),
        "Figure 6": ("audit",),
        **{f"Figure {number}": ("ppd/base", "ppd/balanced*", "words") for number in (8, 9, 10, *range(14, 20))},
        **{f"Figure {number}": ("ppd/base", "ppd/cds", "ppd/cds/*", "words") for number in (11, 12)},
        "Figure 13": ("sld/base", "curve"),
    },
    settings={
        "draws": 5,
        "sizes": (500, 1000, 2000, 4000, 6000, 8000, 10000, 12000),
        "words": ("pregnant", "breastfeeding"),  # each with reminders of its own
        "reminders": (1, 2, 3),
        "documents": None,
        "templates": None,
        "thesis_sentences": None,  # files with the thesis' own items, used instead of ours
        "thesis_templates": None,
        "toxic": None,  # a file of Jigsaw comments
        "names": None,  # a file of first names to swap in counterfactual text
        "train": {"epochs": 3.0, "rate": 2e-5, "batch": 1},
    },
    reduced={
        "draws": 2,
        "sizes": (40, 80),
        "reminders": (1, 3),
        "documents": 80,
        "train": {"epochs": 1.0, "rate": 5e-4, "batch": 16},
    },
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={GAP[0]: PACKAGE, PROFESSIONS: PACKAGE},
    repeats=True,
)

PARAPHRASE = Study(
    name="paraphrase",
    title="Pseudo-log-likelihood measures in other words",
    question="Does a model's preference on a pair survive paraphrasing?",
    citation="kwon-mihindukulasooriya-2022-empirical",
    models=(
        *("bert-base-uncased", "roberta-large", "albert-xxlarge-v2"),
        *("distilbert-base-uncased", "microsoft/mpnet-base"),
    ),
    data=("paraphrases", "crows-pairs", GEST_SCORES),  # CrowS-Pairs for the paper's examples
    plan=paraphrase.plan,
    conclude=paraphrase.conclude,
    parts={
        "Table 1": ("diagnose",),
        "Table 2": ("diagnose", "examples"),
        "Figure 1": ("examples",),
        **{f"Figure {number}": ("diagnose",) for number in range(2, 5)},
        "real models' item scores": ("scores",),
    },
    settings={"measures": ("cps-exact",), "band": 0.25, "rewordings": None},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
)

PROMPTS = Study(
    name="prompts",
    title="Exploring social bias through prompt learning",
    judged=True,
    question="Which bias types are strongest in a model, by likelihood and by the words it fills in?",
    citation="prompts-2023",
    models=("bert-base-uncased", "roberta-large", "albert-xxlarge-v2"),
    data=("crows-pairs", "prompt-pairs"),
    plan=prompts.plan,
    conclude=prompts.conclude,
    parts={
        "Table I": ("benchmark",),
        "Table II": ("benchmark", "pairs"),
        "Table III": ("benchmark",),
        "Table IV": ("pairs",),
        "Table V": ("benchmark", "pairs"),
        "human-level diagnosis": ("answers", "benchmark"),
    },
    settings={"prompts": None, "top": 2},
    reduced={"prompts": 8, "limit": 300},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes"},
)
