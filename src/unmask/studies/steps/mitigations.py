"""Mitigation steps, and plain further training; the output is a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unmask.data.texts import TrainingCorpus
from unmask.mitigate import Method, MitigationContext, MitigationOptions, Outcome, find
from unmask.mitigate.checkpoint import WORK, make_checkpoint
from unmask.mitigate.mlm import train_language_model
from unmask.models import Engine, open_lm
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.texts import select_corpus
from unmask.training import TrainSettings

PLAIN = "plain"  # further training on the unchanged text
ROW = 60.0  # mean tokens per document, approximate


def run_mitigation(context: StepContext) -> None:
    """Mitigate the model by `method` on `corpus`; `train` and `choices` hold training and method options."""
    parameters = context.parameters
    for path in context.folder.iterdir():  # of an attempt interrupted after training: rewritten below
        if path.name != WORK and path.is_file():
            path.unlink()
    lm = open_lm(context.model, context.opening)
    method = PLAIN_TRAINING if parameters["method"] == PLAIN else find(parameters["method"])
    texts = select_corpus(context.step.data[0], parameters["corpus"], context.runtime.data_dir)
    train = {"lr" if name == "rate" else name: value for name, value in parameters["train"].items()}
    make_checkpoint(
        *(method, Engine(lm), texts, context.folder),
        settings=TrainSettings(seed=parameters["seed"], **train),
        choices=MitigationOptions(**parameters["choices"]),
    )


def _train_plain(context: MitigationContext, texts: TrainingCorpus) -> Outcome:
    return train_language_model(context, [" ".join(document) for document in texts.documents], {}, reminded=False)


PLAIN_TRAINING = Method(
    name=PLAIN,
    title="Further training",
    about="language modelling on the unchanged text; no mitigation",
    apply=_train_plain,
    citation="gbef-2023",
)


def step(
    name: str, method: str, text: str, *, model: str | Step, options: Mapping[str, Any] | None = None, **parameters: Any
) -> Step:
    """A step that mitigates one model; `options` are the method's, `parameters`: corpus, train and seed."""
    chosen = {"method": method, "choices": dict(options or {}), **parameters}
    return Step.of(name, f"{__name__}:MITIGATED", chosen, model=model, data=text)


def work_estimate(step: Step) -> WorkEstimate:
    """Every document once per epoch, doubled by augmentation."""
    documents = step.parameters["corpus"].get("limit") or 2_000
    epochs = step.parameters["train"].get("epochs", 3.0)
    return WorkEstimate(train_tokens=2.0 * documents * ROW * epochs)


MITIGATED = StepKind(run_mitigation, version=2, estimate_work=work_estimate, resumable=True)
