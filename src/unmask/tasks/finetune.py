"""Teach a language model a task: a new head on its [CLS] representation, all trained (Kaneko et al. 2022).

The best batch size is sought first, then the best rate, then the best number of epochs, each on development
data with the others held where they are best so far: a greedy search, begun at the middle of each list.
What was tried is kept on disk: a search that was killed goes on, within a training from its last checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask.data.examples import Example
from unmask.findings import Value
from unmask.models.classifier import Classifier
from unmask.models.classifier_loading import new_classifier
from unmask.models.loading import Opening, quiet
from unmask.tasks.head_init import init_regression_bias, rescale_pooler
from unmask.tasks.metrics import majority_share, sample_examples, score, score_with_interval, target_values
from unmask.tasks.spec import Grid, TaskData, TaskSettings
from unmask.training import EvalCallback, TrainSettings, TrainStep, train
from unmask.training.distributed import on_main_process, world_size

WARMUP = 0.1  # share of the steps in which the rate rises: from full rate on, a new head can ruin the body
TRIALS, BEST = "trials.json", "model"
TrialProgress = Callable[[str, float, int], None]  # what, share done, steps in all


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to fine-tune, and how it did on development data."""

    batch: int
    rate: float
    epochs: float
    score: float | None = None
    steps: int | None = None

    @property
    def name(self) -> str:
        """Also the name of its folder."""
        return f"batch{self.batch}-rate{self.rate:g}-epochs{self.epochs:g}"


@dataclass(frozen=True, slots=True)
class FineTuned:
    """A model that has learnt its task: how, and how well."""

    classifier: Classifier
    chosen: Trial
    trials: tuple[Trial, ...]
    dev: Value
    test: Value | None
    majority_share: (
        float | None
    )  # accuracy of always predicting the commonest class of the test (or dev) data
    metric: str
    train_examples: int
    test_examples: int  # that the test score rests on


def fine_tune(
    ref: str | Path,
    lesson: TaskData,
    settings: TaskSettings,
    folder: Path,
    *,
    opening: Opening,
    tell: TrialProgress | None = None,
) -> FineTuned:
    """Search for the best way to fine-tune, and give the model it made."""
    rows = sample_examples(lesson.train, settings)
    trials = _known(folder)

    def tried(trial: Trial) -> Trial:
        done = next((one for one in trials if replace(one, score=None, steps=None) == trial), None)
        if done is not None:
            return done
        judge = new_classifier(ref, opening, labels=lesson.labels, seed=settings.seed, length=settings.length)
        steps = _train(judge, rows, lesson.labels, trial, settings, folder / trial.name, tell=tell)
        trials.append(
            on_main_process(lambda: _judged(judge, lesson, replace(trial, steps=steps), trials, folder))
        )
        return trials[-1]

    best = greedy_search(settings.grid, tried)
    judge = _reopened(ref, lesson, settings, folder, opening)
    test = lesson.test or lesson.dev
    return FineTuned(
        classifier=judge,
        chosen=best,
        trials=tuple(trials),
        dev=score_with_interval(judge, lesson.dev, lesson.labels, seed=settings.seed),
        test=score_with_interval(judge, lesson.test, lesson.labels, seed=settings.seed)
        if lesson.test
        else None,
        majority_share=majority_share(test) if lesson.labels else None,
        metric=lesson.metric,
        train_examples=len(rows),
        test_examples=len(test),
    )


def greedy_search(grid: Grid, tried: Callable[[Trial], Trial]) -> Trial:
    """Greedy: the best batch size, then rate, then epochs; the earlier one of equals."""
    middle = {name: values[len(values) // 2] for name, values in asdict(grid).items()}
    best = tried(Trial(**middle))
    for name in ("batch", "rate", "epochs"):
        for value in getattr(grid, name):
            one = tried(replace(best, **{name: value}, score=None, steps=None))
            if _better(one, best):
                best = one
    return best


def fine_tune_once(  # noqa: PLR0913 - what teaching needs
    ref: str | Path,
    lesson: TaskData,
    settings: TaskSettings,
    folder: Path,
    *,
    opening: Opening,
    look: Callable[[int, Classifier], None],
    tell: TrialProgress | None = None,
) -> tuple[Classifier, int]:
    """Fine-tune once, by the first of each list, and look at the model every so many steps, and before.

    The model, and how many steps it was taught.
    """
    grid = settings.grid
    trial = Trial(grid.batch[0], grid.rate[0], grid.epochs[0])
    judge = new_classifier(ref, opening, labels=lesson.labels, seed=settings.seed, length=settings.length)
    look(0, judge)
    watcher = EvalCallback(
        settings.every or 500,
        lambda step, model: look(step, Classifier(model, judge.tokenizer, length=judge.length)),
    )
    rows = sample_examples(lesson.train, settings)
    place = folder / "training"
    return judge, _train(judge, rows, lesson.labels, trial, settings, place, tell=tell, callbacks=(watcher,))


def _train(  # noqa: PLR0913 - what a training is made of
    judge: Classifier,
    rows: Sequence[Example],
    labels: Sequence[str],
    trial: Trial,
    settings: TaskSettings,
    folder: Path,
    *,
    tell: TrialProgress | None,
    callbacks: Sequence[EvalCallback] = (),
) -> int:
    import torch

    rescale_pooler(judge, rows)
    if not labels:
        init_regression_bias(judge.model, float(np.mean(target_values(rows, labels))))

    def collate(some: Sequence[Example], _: np.random.Generator) -> Any:
        batch = dict(judge.batch([(one.text, one.second) for one in some]))
        real = target_values(some, labels)
        batch["labels"] = torch.tensor(real, dtype=torch.long if labels else torch.float32)
        return batch

    def progress(moment: TrainStep) -> None:
        if tell is not None:
            tell(f"fine-tuning {trial.name}", moment.step / moment.steps, moment.steps)

    steps = trial.epochs * len(rows) / (trial.batch * world_size())
    how = TrainSettings(
        epochs=trial.epochs,
        rate=trial.rate,
        batch=trial.batch,
        seed=settings.seed,
        warmup=int(WARMUP * min(steps, settings.steps or steps)),
        save_every=settings.save_every,
        steps=settings.steps,
    )
    return train(
        judge.model, list(rows), collate, how, folder, callbacks=callbacks, progress=progress, key=trial.name
    ).steps


def _judged(
    judge: Classifier, lesson: TaskData, trial: Trial, others: Sequence[Trial], folder: Path
) -> Trial:
    """How a trial did, written down; its model is kept if it did best."""
    done = replace(trial, score=score(judge, lesson.dev, lesson.labels))
    if all(_better(done, one) for one in others):
        with quiet():
            judge.model.save_pretrained(folder / BEST)
    _write(folder, [*others, done])
    return done


def _better(one: Trial, other: Trial) -> bool:
    return one.score is not None and (other.score is None or one.score > other.score)


def _known(folder: Path) -> list[Trial]:
    path = folder / TRIALS
    return [Trial(**one) for one in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else []


def _write(folder: Path, trials: Sequence[Trial]) -> None:
    partial = folder / f"{TRIALS}.partial"
    partial.write_text(json.dumps([asdict(one) for one in trials], indent=2), encoding="utf-8")
    partial.replace(folder / TRIALS)


def _reopened(
    ref: str | Path, lesson: TaskData, settings: TaskSettings, folder: Path, opening: Opening
) -> Classifier:
    """The best model as it was saved."""
    from safetensors.torch import load_file

    judge = new_classifier(ref, opening, labels=lesson.labels, seed=settings.seed, length=settings.length)
    judge.model.load_state_dict(load_file(folder / BEST / "model.safetensors"), strict=False)
    return judge
