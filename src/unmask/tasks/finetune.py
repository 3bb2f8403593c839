"""Fine-tune a language model on a task: a new head on [CLS], all weights trained (Kaneko et al. 2022).

Greedy hyper-parameter search on the validation set, starting from the middle of each list: first the batch
size, then the learning rate, then the number of epochs, with the others fixed at their best value so far.
Trials are saved to disk: an interrupted search resumes, and an unfinished trial from its last checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask.core.options import Opening
from unmask.data.examples import Example
from unmask.findings import Value
from unmask.models.classifier import Classifier
from unmask.models.loading import new_classifier, quiet
from unmask.tasks.head_init import init_regression_bias, rescale_pooler
from unmask.tasks.metrics import majority_share, sample_examples, score, score_with_interval, target_values
from unmask.tasks.spec import Grid, TaskData, TaskSettings
from unmask.training import EvalCallback, TrainSettings, TrainStep, train
from unmask.training.distributed import on_main_process, world_size

# Share of the steps; without warm-up the gradients of a new head can ruin the pretrained encoder.
WARMUP = 0.1
TRIALS, BEST = "trials.json", "model"
TrialProgress = Callable[[str, float, int], None]  # label, fraction done, total steps


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting of the hyper-parameters, and its score on the validation set."""

    batch: int
    rate: float
    epochs: float
    score: float | None = None
    steps: int | None = None

    @property
    def name(self) -> str:
        """The name of the trial and of its folder."""
        return f"batch{self.batch}-rate{self.rate:g}-epochs{self.epochs:g}"


@dataclass(frozen=True, slots=True)
class FineTuned:
    """A fine-tuned classifier, the trials of its search, and its scores."""

    classifier: Classifier
    chosen: Trial
    trials: tuple[Trial, ...]
    dev: Value
    test: Value | None
    majority_share: float | None  # share of the commonest class in the test (or validation) data
    metric: str
    train_examples: int
    test_examples: int


def fine_tune(
    ref: str | Path,
    data: TaskData,
    settings: TaskSettings,
    folder: Path,
    *,
    opening: Opening,
    progress: TrialProgress | None = None,
) -> FineTuned:
    """Search the grid and return the classifier with the best validation score."""
    examples = sample_examples(data.train, settings)
    trials = _load_trials(folder)

    def run_trial(trial: Trial) -> Trial:
        known = next((done for done in trials if replace(done, score=None, steps=None) == trial), None)
        if known is not None:
            return known
        classifier = new_classifier(
            ref, opening, labels=data.labels, seed=settings.seed, length=settings.length
        )
        steps = _train(
            classifier, examples, data.labels, trial, settings, folder / trial.name, progress=progress
        )
        trials.append(
            on_main_process(
                lambda: _score_trial(classifier, data, replace(trial, steps=steps), trials, folder)
            )
        )
        return trials[-1]

    best = greedy_search(settings.grid, run_trial)
    classifier = _load_best(ref, data, settings, folder, opening)
    test = data.test or data.dev
    return FineTuned(
        classifier=classifier,
        chosen=best,
        trials=tuple(trials),
        dev=score_with_interval(classifier, data.dev, data.labels, seed=settings.seed),
        test=score_with_interval(classifier, data.test, data.labels, seed=settings.seed)
        if data.test
        else None,
        majority_share=majority_share(test) if data.labels else None,
        metric=data.metric,
        train_examples=len(examples),
        test_examples=len(test),
    )


def greedy_search(grid: Grid, evaluate: Callable[[Trial], Trial]) -> Trial:
    """The best batch size, then learning rate, then epochs; ties go to the earlier trial."""
    middle = {name: values[len(values) // 2] for name, values in asdict(grid).items()}
    best = evaluate(Trial(**middle))
    for name in ("batch", "rate", "epochs"):
        for value in getattr(grid, name):
            trial = evaluate(replace(best, **{name: value}, score=None, steps=None))
            if _better(trial, best):
                best = trial
    return best


def fine_tune_once(  # noqa: PLR0913 - the parts of a fine-tuning
    ref: str | Path,
    data: TaskData,
    settings: TaskSettings,
    folder: Path,
    *,
    opening: Opening,
    evaluate: Callable[[int, Classifier], None],
    progress: TrialProgress | None = None,
) -> tuple[Classifier, int]:
    """Fine-tune with the first value of each list; call `evaluate` before and every `settings.every` steps.

    Returns the classifier and the number of training steps.
    """
    grid = settings.grid
    trial = Trial(grid.batch[0], grid.rate[0], grid.epochs[0])
    classifier = new_classifier(ref, opening, labels=data.labels, seed=settings.seed, length=settings.length)
    evaluate(0, classifier)
    callback = EvalCallback(
        settings.every or 500,
        lambda step, model: evaluate(step, Classifier(model, classifier.tokenizer, length=classifier.length)),
    )
    examples = sample_examples(data.train, settings)
    training_folder = folder / "training"
    return classifier, _train(
        classifier,
        examples,
        data.labels,
        trial,
        settings,
        training_folder,
        progress=progress,
        callbacks=(callback,),
    )


def _train(  # noqa: PLR0913 - the parts of a training
    classifier: Classifier,
    examples: Sequence[Example],
    labels: Sequence[str],
    trial: Trial,
    settings: TaskSettings,
    folder: Path,
    *,
    progress: TrialProgress | None,
    callbacks: Sequence[EvalCallback] = (),
) -> int:
    import torch

    rescale_pooler(classifier, examples)
    if not labels:
        init_regression_bias(classifier.model, float(np.mean(target_values(examples, labels))))

    def collate(batch_examples: Sequence[Example], _: np.random.Generator) -> Any:
        batch = dict(classifier.batch([(example.text, example.second) for example in batch_examples]))
        targets = target_values(batch_examples, labels)
        batch["labels"] = torch.tensor(targets, dtype=torch.long if labels else torch.float32)
        return batch

    def report_step(step: TrainStep) -> None:
        if progress is not None:
            progress(f"fine-tuning {trial.name}", step.step / step.steps, step.steps)

    steps = trial.epochs * len(examples) / (trial.batch * world_size())
    train_settings = TrainSettings(
        epochs=trial.epochs,
        rate=trial.rate,
        batch=trial.batch,
        seed=settings.seed,
        warmup=int(WARMUP * min(steps, settings.steps or steps)),
        save_every=settings.save_every,
        steps=settings.steps,
    )
    return train(
        classifier.model,
        list(examples),
        collate,
        train_settings,
        folder,
        callbacks=callbacks,
        progress=report_step,
        key=trial.name,
    ).steps


def _score_trial(
    classifier: Classifier, data: TaskData, trial: Trial, others: Sequence[Trial], folder: Path
) -> Trial:
    """Score a trial and save it; save its model if it is the best so far."""
    scored = replace(trial, score=score(classifier, data.dev, data.labels))
    if all(_better(scored, other) for other in others):
        with quiet():
            classifier.model.save_pretrained(folder / BEST)
    _save_trials(folder, [*others, scored])
    return scored


def _better(trial: Trial, other: Trial) -> bool:
    return trial.score is not None and (other.score is None or trial.score > other.score)


def _load_trials(folder: Path) -> list[Trial]:
    path = folder / TRIALS
    return (
        [Trial(**record) for record in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else []
    )


def _save_trials(folder: Path, trials: Sequence[Trial]) -> None:
    partial = folder / f"{TRIALS}.partial"
    partial.write_text(json.dumps([asdict(trial) for trial in trials], indent=2), encoding="utf-8")
    partial.replace(folder / TRIALS)


def _load_best(
    ref: str | Path, data: TaskData, settings: TaskSettings, folder: Path, opening: Opening
) -> Classifier:
    """Load the best model that was saved."""
    from safetensors.torch import load_file

    classifier = new_classifier(ref, opening, labels=data.labels, seed=settings.seed, length=settings.length)
    classifier.model.load_state_dict(load_file(folder / BEST / "model.safetensors"), strict=False)
    return classifier
