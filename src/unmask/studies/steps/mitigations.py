"""Mitigation steps, and plain further training; the output is a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unmask import data as datasets
from unmask.data.texts import TrainingCorpus
from unmask.mitigate import Method, MitigationContext, Outcome, TrainingOptions, find
from unmask.mitigate.checkpoint import WORK, make_checkpoint
from unmask.mitigate.mlm import train_language_model
from unmask.models import Engine, open_lm
from unmask.studies.forecast import OPTIMIZER
from unmask.studies.spec import PACKAGE, Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import PAIRS_FILE
from unmask.studies.texts import count_lines, find_text_file, select_corpus
from unmask.training import TrainSettings

PLAIN = "plain"  # further training on the unchanged text
NAME_TABLE = "name_table"  # a file of first names to swap, among the data of a step
ROW, SENTENCE = 60.0, 30.0  # mean tokens per document and per sentence, approximate
GPU_START = 15.0  # seconds; of the runs on a GPU in `docs/studies/README.md`, as in other steps


def run_mitigation(context: StepContext) -> None:
    """Mitigate the model by `method` on `corpus`; `train` and `choices` hold training and method options."""
    parameters = context.parameters
    for path in context.folder.iterdir():  # of an attempt interrupted after training: rewritten below
        if path.name != WORK and path.is_file():
            path.unlink()
    lm = open_lm(context.model, context.opening)
    method = PLAIN_TRAINING if parameters["method"] == PLAIN else find(parameters["method"])
    names = tuple(map(context.runtime.place, _texts(context.step)))
    texts = select_corpus(names, parameters["corpus"], context.runtime.data_dir)
    lists: dict[str, Any] = {name: folder / PAIRS_FILE for name, folder in context.inputs.items() if name == "pairs"}
    if table := parameters.get(NAME_TABLE):
        lists[NAME_TABLE] = find_text_file(context.runtime.place(table), context.runtime.data_dir)
    make_checkpoint(
        method,
        Engine(lm),
        texts,
        context.folder,
        method.options(**{**parameters["train"], **parameters["choices"], **lists, "seed": parameters["seed"]}),
    )


def _train_plain(context: MitigationContext[TrainingOptions], texts: TrainingCorpus) -> Outcome:
    return train_language_model(context, [" ".join(document) for document in texts.documents], {}, reminded=False)


PLAIN_TRAINING = Method(
    name=PLAIN,
    title="Further training",
    about="language modelling on the unchanged text; no mitigation",
    apply=_train_plain,
    citation="gbef-2023",
    options=TrainingOptions,
)


def step(
    name: str,
    method: str,
    text: str | tuple[str, ...],
    *,
    model: str | Step,
    options: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Step:
    """A step that mitigates one model; `options` are the method's, `parameters`: corpus, train, seed, name_table.

    With an input `pairs`, the output of a step, these words are swapped instead of the package's; with `name_table`, a
    file, these first names.
    """
    chosen = {"method": method, "choices": dict(options or {}), **parameters}
    planned = Step.of(name, f"{__name__}:MITIGATED", chosen, model=model)
    tables = (parameters[NAME_TABLE],) if NAME_TABLE in parameters else ()
    return replace(planned, data=(*((text,) if isinstance(text, str) else text), *tables))


def _texts(step: Step) -> tuple[str, ...]:
    """The texts that are trained on: the data without the table of names."""
    return step.data[:-1] if NAME_TABLE in step.parameters else step.data


def work_estimate(step: Step) -> WorkEstimate:
    """Every document once per epoch, doubled by augmentation, and the steps of the optimizer."""
    corpus = step.parameters["corpus"]
    documents = corpus.get("limit") or sum(map(_lines, _texts(step)))
    epochs = step.parameters["train"].get("epochs", 3.0)
    copies = 2.0 if step.parameters["method"].startswith("cda") else 1.0
    single = corpus.get("sentences") or step.data[0] in (PACKAGE, *datasets.names())
    row = SENTENCE if single and corpus.get("limit") else ROW
    batch = step.parameters["train"].get("batch", TrainSettings().batch)
    texts = copies * documents * epochs
    return WorkEstimate(train_tokens=texts * (row + OPTIMIZER / batch), train_steps=texts / batch, gpu_start=GPU_START)


def _lines(name: str) -> int:
    """The number of lines of a text, some 2,000 if it cannot be found here."""
    path = find_text_file(name, None)
    return count_lines(path) if path else 2_000


MITIGATED = StepKind(run_mitigation, version=3, estimate_work=work_estimate, resumable=True)
