"""Mitigations as steps, and further training as it is: the output is a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unmask.mitigate import Choices, Corpus, Method, Outcome, Pupil, find
from unmask.mitigate.mlm import learnt
from unmask.mitigate.run import WORK, mitigate
from unmask.models import Engine, open_lm
from unmask.models.loading import Opening
from unmask.studies.spec import Given, Step, Task, Work
from unmask.studies.texts import corpus

PLAIN = "plain"  # further training on the text as it is
ROW = 60.0  # tokens of a document, about


def run(given: Given) -> None:
    """Change the model by `method` on the corpus; `train` and `choices` are what the user may tell it."""
    parameters, place = given.parameters, given.place
    for left in given.folder.iterdir():  # of a try that ended after the training: written again
        if left.name != WORK and left.is_file():
            left.unlink()
    lm = open_lm(given.model, Opening(device=place.device, offline=place.offline))
    method = AS_IT_IS if parameters["method"] == PLAIN else find(parameters["method"])
    texts = corpus(given.step.data[0], parameters["corpus"], place.data_dir)
    settings = replace(method.settings, seed=parameters["seed"], **parameters["train"])
    mitigate(
        method, Engine(lm), texts, given.folder, settings=settings, choices=Choices(**parameters["choices"])
    )


def _as_it_is(pupil: Pupil, texts: Corpus) -> Outcome:
    return learnt(pupil, [" ".join(one) for one in texts.documents], {}, reminded=False)


AS_IT_IS = Method(
    name=PLAIN,
    title="Further training",
    about="language modelling on the text as it is; no mitigation",
    apply=_as_it_is,
    citation="gbef-2023",
)


def step(  # noqa: PLR0913 - what a mitigation is made of
    name: str,
    method: str,
    text: str,
    *,
    model: str | Step,
    corpus: Mapping[str, Any],
    train: Mapping[str, Any],
    seed: int,
    choices: Mapping[str, Any] | None = None,
) -> Step:
    """A mitigation of one model as a step."""
    return Step(
        name,
        f"{__name__}:MITIGATED",
        {
            "method": method,
            "corpus": dict(corpus),
            "train": dict(train),
            "choices": dict(choices or {}),
            "seed": seed,
        },
        models=(model,) if isinstance(model, str) else (),
        data=(text,),
        inputs={} if isinstance(model, str) else {"model": model},
    )


def work(step: Step) -> Work:
    """Every document once an epoch; augmentation doubles them."""
    documents = step.parameters["corpus"].get("limit") or 2_000
    epochs = step.parameters["train"].get("epochs", 3.0)
    return Work(trained=2.0 * documents * ROW * epochs)


MITIGATED = Task(run, version=1, work=work, resumes=True)
