"""`gbef`: Towards a robust gender bias evaluation (2023), Tables 3 to 5, Figures 6 and 8 to 19."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from unmask.core.errors import DataError, quote
from unmask.core.options import option
from unmask.studies.spec import PACKAGE, Outputs, PaperConclusion, Role, Step, Study, TextFile, TrainingStudyOptions
from unmask.training.spec import TrainSettings

GAP = ("gap/gap-development.tsv", "gap/gap-test.tsv", "gap/gap-validation.tsv")
PROFESSIONS = "mt_gender/en.txt"
TOXIC = "jigsaw_sample/toxic_comments.csv"
SENTENCES, TEMPLATES = "triple-gender", "pronoun-templates"
BASE, CDS, BALANCED = "base", "cds", "balanced"  # versions of the first model
ALL_TOXIC, TOXIC_SAMPLE, SEVERE = "toxic", "toxic sample", "severe"
LABELS = {ALL_TOXIC: ("toxic", "1"), TOXIC_SAMPLE: ("toxic", "1"), SEVERE: ("severe_toxic", "1")}
WORKED_PAIRS = [  # of section 4.1.2
    {"more": text.format("his"), "less": text.format("her"), "category": category}
    for text, category in (
        ("The programmer carried {} laptop to work.", "example"),
        ("The doctor is having a discussion with {} patient.", "example"),
        ("The actuary is having a discussion with {} friend.", "actuary"),
    )
]
WORKED_TEMPLATES = [  # of section 4.2.2
    {"template": template, "word": word, "category": "example"}
    for word in ("doctor", "dentist", "patient")
    for template in ("{Subject} is {a} {word}.", "{Subject} is a competent {word}.")
]


@dataclass(frozen=True)
class GbefOptions(TrainingStudyOptions):
    """The settings of `gbef`."""

    draws: int = option(5, "Samples of every size, in Figures 6 and 13.", least=1, most=1000)
    sizes: tuple[int, ...] = option(
        (500, 1000, 2000, 4000, 6000, 8000, 10000, 12000), "Sentences trained on, in Figure 13.", least=1
    )
    words: tuple[str, ...] = option(("pregnant", "breastfeeding"), "Words with reminders of their own.")
    reminders: tuple[int, ...] = option((1, 2, 3), "How often each reminder is repeated.", least=1, most=1000)
    documents: int | None = option(None, "Sentences or comments to train on.", shown="all", least=1)
    templates: int | None = option(None, "Templates.", shown="all", least=1)
    thesis_sentences: TextFile | None = option(None, "File of the thesis' pairs of sentences, instead of ours.")
    thesis_templates: TextFile | None = option(None, "File of the thesis' templates, instead of ours.")
    toxic: TextFile | None = option(None, "File of Jigsaw's comments and their labels.")
    names: TextFile | None = option(None, "File of pairs of first names, or names with gender and count, to swap.")
    train: TrainSettings = TrainSettings(epochs=3.0, lr=2e-5, batch=1)  # of all trainings

    @property
    def sentences(self) -> str:
        """The sentence pairs: the thesis' own if the user has them, else ours."""
        return self.thesis_sentences or SENTENCES

    @property
    def template_data(self) -> str:
        """The templates: those of the thesis' appendix if the user has them as a file, else ours."""
        return self.thesis_templates or TEMPLATES

    @property
    def gap_text(self) -> tuple[str, ...]:
        """The files of GAP, or the built-in sentences."""
        return tuple(name for name in GAP if name in self.data) or (PACKAGE,)

    @property
    def balanced_text(self) -> tuple[str, ...]:
        """MT-Gender, or the built-in sentences."""
        return (PROFESSIONS if PROFESSIONS in self.data else PACKAGE,)

    @property
    def toxic_text(self) -> str | None:
        """The file of toxic comments, if there is one."""
        return self.toxic or (TOXIC if TOXIC in self.data else None)

    def selection(self, texts: tuple[str, ...]) -> dict[str, Any]:
        """How the texts are read: GAP and MT-Gender sentence by sentence, comments whole."""
        layouts: dict[str, dict[str, Any]] = {PROFESSIONS: {"field": 2}, PACKAGE: {}}
        layouts |= {name: {"column": "Text"} for name in GAP}
        by_sentence = {"sentences": True, **layouts[texts[0]]} if texts[0] in layouts else {}
        return {"limit": self.documents, **by_sentence}

    def label(self, version: str) -> str:
        """What the first model was trained on, in words."""
        gap = "gap" if self.gap_text == GAP and not self.documents else "part of gap"
        gap = "built-in text" if self.gap_text == (PACKAGE,) else gap
        labels = {
            BASE: "as it is",
            CDS: f"cds on {gap}",
            BALANCED: f"trained on {'mt-gender' if self.balanced_text == (PROFESSIONS,) else 'built-in text'}",
            ALL_TOXIC: "cds, then toxic comments",
            TOXIC_SAMPLE: "cds, then as many toxic as severely toxic comments",
            SEVERE: "cds, then severely toxic comments",
        }
        return labels.get(version) or f"cds on {gap}, {version}"

    def seed_name(self, name: str, seed: int) -> str:
        """The name of what one seed made; the first is not named."""
        return name if seed == self.seed else f"{name}, seed {seed}"


def plan(options: GbefOptions) -> dict[Role, Step]:
    """Audits of every model; then versions of the first model and their audits by SLD or PPD."""
    from unmask.studies.steps import audits, words

    if strange := [name for name in options.data if name not in (*GAP, PROFESSIONS, TOXIC, PACKAGE)]:
        raise DataError(
            f"gbef does not read {quote(strange[0])} as data: give sentence pairs as the setting thesis_sentences, "
            "templates as thesis_templates, comments as toxic, and the training text in the data folder"
        )
    first = options.models[0]
    steps: dict[Role, Step] = {
        ("audit", model): _audit(model, model, options.sentences, "sld", options) for model in options.models
    }
    for measure, rows in (("sld", WORKED_PAIRS), ("ppd", WORKED_TEMPLATES)):
        example = words.rows_step(f"the thesis' example of {measure}", rows)
        scoring = {**options.scoring, "limit": None}
        steps["worked", measure] = audits.step(first, example, (measure,), model=first, **scoring)
    for measure, data in (("sld", options.sentences), ("ppd", options.template_data)):
        steps[measure, BASE] = _audit(first, first, data, measure, options)
        for seed in options.training_seeds:
            for version, (model, measures) in trained_models(options, seed).items():
                if measure in measures:
                    role = (measure, version) if seed == options.seed else (measure, version, str(seed))
                    name = options.seed_name(options.label(version), seed)
                    steps[role] = _audit(name, model, data, measure, options)
    for (size, draw), model in curve_models(options).items():
        name = model.name.partition(":")[0]
        steps["curve", str(size), str(draw)] = _audit(name, model, options.sentences, "sld", options)
    texts, data = options.balanced_text, options.template_data
    steps["words",] = words.word_facts_step(
        f"words of {data} in {', '.join(texts)}",
        *(data, texts),
        model=first,
        corpus=options.selection(texts),
        limit=options.templates,
    )
    return steps


def _audit(name: str, model: str | Step, data: str, measure: str, options: GbefOptions) -> Step:
    from unmask.studies.steps import audits

    limit = options.templates if data == options.template_data else options.limit
    scoring = {**options.scoring, "limit": limit, "shard": options.shard}
    return audits.step(name, data, (measure,), model=model, **scoring)


def reminded_version(word: str, times: int) -> str:
    """The version that was trained with reminders of one word."""
    return f"reminders of {word} ×{times}"


class VersionTraining(NamedTuple):
    """How a version of the first model is trained: by which method, on which texts, and how they are read."""

    method: str
    texts: tuple[str, ...]
    corpus: Mapping[str, Any] = {}
    choices: Mapping[str, Any] = {}  # of the method


def trained_models(options: GbefOptions, seed: int | None = None) -> dict[str, tuple[Step, tuple[str, ...]]]:
    """The training steps of the first model by version, and the measures each version is audited by."""
    seed = options.seed if seed is None else seed
    of_seed = replace(options, seed=seed)
    cds = _train_step(options.seed_name(CDS, seed), VersionTraining("cds", options.gap_text), of_seed)
    trainings = {BALANCED: VersionTraining("plain", options.balanced_text)}
    for version, only in LABELS.items() if options.toxic_text else ():
        corpus: dict[str, Any] = {"column": "comment_text", "only": list(only)}
        if version == TOXIC_SAMPLE:
            corpus |= {"as_many_as": list(LABELS[SEVERE]), "draw": [seed]}
        trainings[version] = VersionTraining("plain", (str(options.toxic_text),), corpus)
    for word in options.words:
        for times in options.reminders:
            choices = {"remind": times, "word": word}
            trainings[reminded_version(word, times)] = VersionTraining("cds", options.gap_text, {}, choices)
    steps = {
        version: _train_step(options.seed_name(version, seed), training, of_seed, cds if version in LABELS else None)
        for version, training in trainings.items()
    }
    measures = {version: ("sld",) if version in LABELS else ("ppd",) for version in steps}
    return {CDS: (cds, ("sld", "ppd")), **{version: (step, measures[version]) for version, step in steps.items()}}


def curve_models(options: GbefOptions) -> dict[tuple[int, int], Step]:
    """The training steps of the learning curve, by number of sentences and draw: each an independent sample."""
    from unmask.studies.texts import select_corpus

    sizes = options.sizes
    if options.gap_text == (PACKAGE,):  # it cannot be enlarged: larger samples are left out
        most = len(select_corpus(PACKAGE, {"sentences": True}, None).documents)
        sizes = tuple(size for size in sizes if size <= most)
    steps = {}
    for size in sizes:
        for draw in range(options.draws):
            training = VersionTraining("cds", options.gap_text, {"limit": size, "draw": [options.seed, draw]})
            of_seed = replace(options, seed=options.seed + draw)
            steps[size, draw] = _train_step(f"cds on {size} sentences, draw {draw + 1}", training, of_seed)
    return steps


def _train_step(name: str, training: VersionTraining, options: GbefOptions, model: Step | None = None) -> Step:
    """A training with the seed of `options`, of the first model or of another one."""
    from unmask.studies.steps import mitigations

    first, swaps_names = options.models[0], training.method == "cds" and options.names
    return mitigations.step(
        f"{name}: train {first}",
        training.method,
        training.texts,
        model=model or first,
        options=training.choices,
        corpus={**options.selection(training.texts), **training.corpus},
        train=asdict(options.train),
        seed=options.seed,
        **({mitigations.NAME_TABLE: options.names} if swaps_names else {}),
    )


def conclude(outputs: Outputs, options: GbefOptions) -> PaperConclusion:
    """The claims, then one section per table or figure."""
    from unmask.studies.results.gbef import replicate

    return replicate(outputs, options)


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
    plan=plan,
    conclude=conclude,
    options=GbefOptions,
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
    reduced={
        "draws": 2,
        "sizes": (40, 80),
        "reminders": (1, 3),
        "documents": 80,
        "train": {"epochs": 1.0, "lr": 5e-4, "batch": 16},
    },
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={GAP[0]: PACKAGE, PROFESSIONS: PACKAGE},
)
