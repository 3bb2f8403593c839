"""`debiasing`: Debiasing isn't enough! (Kaneko, Bollegala & Okazaki 2022), Figures 1, 2 and Tables 1, 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError, quote
from unmask.core.options import option
from unmask.studies.spec import (
    PACKAGE,
    Outputs,
    PaperConclusion,
    Role,
    Step,
    Study,
    TextFile,
    TrainingStudyOptions,
    fill_settings,
)
from unmask.training.spec import TrainSettings

NEWS = "news-commentary-v15.en"
WORD_LISTS = ("gn_glove/female_word_file.txt", "gn_glove/male_word_file.txt")  # Zhao et al. (2018)
METHODS = {
    **{"AT": "at", "at-code": "at-code", "CDA": "cda", "cda-kaneko": "cda-kaneko", "DO": "dropout"},
    "CDS": "cds",  # not in the paper
}
TASKS = {
    **{"BiasBios": "biasbios", "STS-bias": "stsbias", "NLI-bias": "nlibias"},
    **{"sentiment": "sentiment", "toxicity": "toxicity", "WinoBias": "winobias", "Winogender": "winogender"},
}
ZERO_SHOT = ("WinoBias", "Winogender")  # tasks that are measured by likelihood, without fine-tuning
NEED_TRAIN = ("sentiment", "toxicity")  # tasks without training data of their own
OF_ONE_TRAINING = ("grid", "steps", "every")  # settings of the tracked training, not of a search
STAND_INS = {PACKAGE: ("nine-axes", "paraphrases"), "triple-gender": ("triple-gender",)}  # texts, and whose they are
ORIGINAL, JOINED = "original", "+"  # the version that is not mitigated; between the methods of a combination: CDA+DO
INTRINSIC = ("sss", "cps", "aula")
BEFORE, TUNED, SEARCH, AFTER, MEASURED = "before", "fine-tuned", "search", "after", "zero-shot"  # roles, and COUNTS
COUNTS = "counts"
PACKAGE_WORDS, PUBLISHED_WORDS = "the package's pairs", "Zhao et al.'s lists"  # of the counts of Table 1
USE = {"grid": {"batch": [32], "rate": [3e-5], "epochs": [100.0]}, "every": 500, "steps": 5500}


@dataclass(frozen=True)
class DebiasingOptions(TrainingStudyOptions):
    """The settings of `debiasing`."""

    methods: tuple[str, ...] = option(
        ("AT", "at-code", "CDA", "cda-kaneko", "DO"),  # corrected and as the published code does it
        f"Mitigations ({', '.join(METHODS)}), also combined: CDA+DO.",
    )
    tasks: tuple[str, ...] = option(("BiasBios", "STS-bias", "NLI-bias"), f"Tasks ({', '.join(TASKS)}).")
    search: bool = option(True, "Search hyper-parameters of the tasks, as in the paper.", flag="--search/--no-search")
    corpus: TextFile | None = option(None, "File of documents to train the mitigations on.")
    documents: int | None = option(None, "Documents to train the mitigations on.", shown="all", least=1)
    train: TrainSettings = TrainSettings()  # of the mitigations
    use: Mapping[str, Any] = field(default_factory=lambda: USE)  # fine-tuning on every task: fields of its options
    each: Mapping[str, Any] = field(default_factory=dict)  # other settings of one task, by its name

    @property
    def benchmarks(self) -> list[str]:
        """The datasets of pairs and of triples."""
        from unmask.data import names
        from unmask.data.formats import SUFFIXES

        return [name for name in self.data if name in names() or Path(name).suffix.lower() in SUFFIXES][:2]

    @property
    def has_lists(self) -> bool:
        """Whether the published lists of words are there."""
        return set(WORD_LISTS) <= set(self.data)

    def of_task(self, task: str) -> dict[str, Any]:
        """The settings of a task: those of all tasks, which are about fine-tuning, and its own."""
        return {**({} if task in ZERO_SHOT else self.use), **self.each.get(task, {})}


def plan(options: DebiasingOptions) -> dict[Role, Step]:
    """Word counts per task; then every version of every model audited, fine-tuned, and audited again."""
    _check_settings(options)
    steps: dict[Role, Step] = {}
    for task in options.tasks:
        steps |= {} if task in ZERO_SHOT else _count_steps(task, options)
    for model in options.models:
        for version in (ORIGINAL, *options.methods):
            for seed in options.training_seeds:
                steps |= _version_steps(model, version, seed, options)
    return steps


def _count_steps(task: str, options: DebiasingOptions) -> dict[Role, Step]:
    """Words of the task's training data by the package's list and, where they are there, by the published ones."""
    from unmask.studies.steps import finetuning

    settings = {key: value for key, value in options.of_task(task).items() if key == "train"}
    steps: dict[Role, Step] = {}
    for kind, lists in {PACKAGE_WORDS: (), PUBLISHED_WORDS: WORD_LISTS}.items():
        if not lists or options.has_lists:
            title = f"count words of {task}" + (f" by {kind}" if lists else "")
            counted = finetuning.step("TALLIED", title, TASKS[task], settings, options.seed, lists=lists)
            steps[COUNTS, task, kind] = counted
    return steps


def _version_steps(model: str, version: str, seed: int, options: DebiasingOptions) -> dict[Role, Step]:
    """The audits and fine-tunings of the original model or of a mitigated version; the first seed is not named."""
    from unmask.studies.steps import finetuning

    name = version_name(model, version)
    title = name if seed == options.seed else f"{name}, seed {seed},"
    source = model if version == ORIGINAL else _mitigation(model, version, seed, options)
    steps: dict[Role, Step] = {}
    if version != ORIGINAL or seed == options.seed:
        for data, step in _audits(title, source, options).items():
            steps[BEFORE, model, version, str(seed), data] = step
        for task in (task for task in options.tasks if task in ZERO_SHOT):
            what, settings = f"measure {title} on {task}", options.of_task(task)
            step = finetuning.step("MEASURED", what, TASKS[task], settings, options.seed, source)
            steps[MEASURED, model, version, str(seed), task] = step
    for task in (task for task in options.tasks if task not in ZERO_SHOT):
        settings = options.of_task(task)
        tuned = finetuning.step("FOLLOWED", f"fine-tune {title} on {task}", TASKS[task], settings, seed, source)
        steps[TUNED, model, version, str(seed), task] = tuned
        if options.search:
            searched = {key: value for key, value in settings.items() if key not in OF_ONE_TRAINING}
            what = f"search hyper-parameters of {title} on {task}"
            search = finetuning.step("SEARCHED", what, TASKS[task], searched, seed, source)
            steps[SEARCH, model, version, str(seed), task] = search
        for data, step in _audits(f"{title} after {task}", tuned, options).items():
            steps[AFTER, model, version, str(seed), task, data] = step
    return steps


def version_name(model: str, version: str) -> str:
    """The name of a version of a model, in steps and tables."""
    return model if version == ORIGINAL else f"{model} {version}"


def _mitigation(model: str, version: str, seed: int, options: DebiasingOptions) -> Step:
    """The last step of a mitigation; of a combination every method starts from the checkpoint of the one before."""
    from unmask.studies.steps import mitigations, words

    first, _, last = version.rpartition(JOINED)
    name = f"mitigate {model} by {version}"
    step = mitigations.step(
        name if seed == options.seed else f"{name}, seed {seed}",
        METHODS[last],
        _training_text(options),
        model=_mitigation(model, first, seed, options) if first else model,
        corpus={"limit": options.documents},
        train=asdict(options.train),
        seed=seed,
    )
    if last != "cda-kaneko" or not options.has_lists:
        return step
    return replace(step, inputs={**step.inputs, "pairs": words.word_pairs_step("pair the published lists", WORD_LISTS)})


def _training_text(options: DebiasingOptions) -> str:
    """The text that mitigations train on: never the sentences that are evaluated."""
    if options.corpus:
        return options.corpus
    if NEWS in options.data:
        return NEWS
    for text, datasets in STAND_INS.items():
        if not set(datasets) & set(options.benchmarks):
            return text
    raise DataError(
        f"the built-in texts hold sentences of {' and '.join(options.benchmarks)}, which are evaluated: give another "
        "text to train on as the setting corpus"
    )


def _audits(name: str, model: str | Step, options: DebiasingOptions) -> dict[str, Step]:
    """By dataset: CPS and AULA on pairs, SSS on triples; without triples, all three on pairs."""
    from unmask.studies.steps import audits

    pairs, *triples = options.benchmarks
    measures_by_data = {pairs: ("cps", "aula"), triples[0]: ("sss",)} if triples else {pairs: INTRINSIC}
    return {
        data: audits.step(name, data, measures, model=model, shard=options.shard, **options.scoring)
        for data, measures in measures_by_data.items()
    }


def _check_settings(options: DebiasingOptions) -> None:
    """Refuse unknown methods, tasks and settings of tasks, and a task without its training data."""
    from unmask.tasks import find

    parts = [part for method in options.methods for part in method.split(JOINED)]
    known_names = (("methods", parts, METHODS), ("tasks", options.tasks, TASKS), ("each", options.each, TASKS))
    for name, chosen, known in known_names:
        if unknown := [value for value in chosen if value not in known]:
            raise DataError(f"{name} has {quote(unknown[0])}, expected some of {', '.join(known)}")
    for name, values in (("methods", options.methods), ("tasks", options.tasks)):
        if twice := [value for value in values if values.count(value) > 1]:
            raise DataError(f"{name} has {quote(twice[0])} twice: name each once")
    groups = [find(task).options() for task in TASKS.values()]
    group_of = {field.name: group for group in groups for field in fields(group)}
    for where, given in {"use": options.use, **{f"each.{task}": own for task, own in options.each.items()}}.items():
        if not isinstance(given, Mapping):
            raise DataError(f"{where} is {quote(given)}, expected settings of its own")
        if given.get("added") is not None:
            raise DataError(f"{where} has 'added', which studies do not run: use the task toxicity alone")
        for name, value in given.items():
            fill_settings(group_of.get(name, groups[0]), {name: value}, f"{where}.")
    for task in NEED_TRAIN:
        if task in options.tasks and not options.each.get(task, {}).get("train"):
            raise DataError(f"{task} needs texts with labels: give them as the setting each.{task}.train")


def conclude(outputs: Outputs, options: DebiasingOptions) -> PaperConclusion:
    """Collect the outputs of every version of every model, then build the tables and figures."""
    from unmask.studies.results.debiasing import replicate

    return replicate(outputs, options)


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
    plan=plan,
    conclude=conclude,
    options=DebiasingOptions,
    parts={
        "Table 1": (COUNTS,),
        "Table 2": (BEFORE, AFTER, TUNED, SEARCH, MEASURED),
        "Figure 1": (BEFORE, TUNED, SEARCH, MEASURED),
        "Figure 2": (TUNED,),
    },
    reduced={
        "limit": 60,
        "search": False,
        "methods": ("AT", "CDA", "DO"),
        "documents": 100,
        "train": {"epochs": 1.0, "lr": 5e-4, "batch": 16},
        "use": {
            "grid": {"batch": [16], "rate": [5e-4], "epochs": [3.0]},
            "every": 10,
            "steps": 20,
            "rows": 120,
            "length": 48,
        },
        "each": {"STS-bias": {"limit": 4}},
    },
    reduced_models=("builtin", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes", NEWS: PACKAGE},
)
