"""Fine-tune a language model on a task: a new head on [CLS], all weights trained (Kaneko et al. 2022).

Greedy hyper-parameter search on the validation set, starting from the middle of each list: first the batch
size, then the learning rate, then the number of epochs, with the others fixed at their best value so far.
Trials are saved to disk: an interrupted search resumes, and an unfinished trial from its last checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask.core.boundary import read_json, validate
from unmask.core.errors import ResultError
from unmask.core.estimate import Estimate, Value
from unmask.core.files import make_folder, write_json, writing
from unmask.core.options import Opening
from unmask.core.progress import Progress, with_label
from unmask.data.examples import Example
from unmask.models.checkpoint import device_for
from unmask.models.classifier import Classifier, ClassifierInput, TextOrPair, new_classifier
from unmask.models.folder import quiet
from unmask.tasks.performance import majority_share, sample_examples, score, score_with_interval, target_values
from unmask.tasks.spec import FineTuningOptions, Grid, TaskData
from unmask.training import EvalCallback, TrainSettings, train
from unmask.training.distributed import on_main_process, world_size
from unmask.training.spec import PRECISIONS, uses_bf16

# Share of the steps; without warm-up the gradients of a new head can ruin the pretrained encoder.
WARMUP = 0.1
SCALING_EXAMPLES = 256  # examples from which the scale of a pooler's inputs is estimated
SCALING_BATCH = 32
TRIALS, BEST = "trials.json", "model"


@dataclass(frozen=True, slots=True)
class FineTuneJob:
    """A model to fine-tune on the data of a task, and the folder of its checkpoints."""

    ref: str | Path
    data: TaskData
    options: FineTuningOptions
    folder: Path
    opening: Opening
    progress: Progress | None = None
    encodings: dict[TextOrPair, ClassifierInput] = field(default_factory=dict)  # tokenized once for all trials

    def classifier(self) -> Classifier:
        """The model with a new head."""
        options, labels = self.options, self.data.labels
        classifier = new_classifier(self.ref, self.opening, labels=labels, seed=options.seed, length=options.length)
        classifier.encodings = self.encodings
        return classifier


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting of the hyper-parameters, and its score on the validation set."""

    batch: int
    rate: float
    epochs: float
    score: float | None = None
    steps: int | None = None
    precision: str = "fp32"  # of the training

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
    dev_examples: int
    test_examples: int

    @property
    def estimates(self) -> list[Estimate]:
        """The scores on the test data, if there are any, and on the validation data."""
        scores = (("test", self.test, self.test_examples), ("validation", self.dev, self.dev_examples))
        fields = {"statistic": self.metric}
        return [Estimate.of(value, group=f"split={split}", n=n, **fields) for split, value, n in scores if value]

    def facts(self) -> dict[str, Any]:
        """What a result records: everything but the classifier."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "classifier"}


def model_facts(classifier: Classifier) -> dict[str, Any]:
    """The facts about the checkpoint a classifier was opened from."""
    assert classifier.facts is not None
    return asdict(classifier.facts)


def read_trials(path: Path) -> list[Trial]:
    """The finished trials of an interrupted search."""
    return validate(list[Trial], read_json(path, ResultError) if path.is_file() else [], str(path), ResultError)


def fine_tune(job: FineTuneJob) -> FineTuned:
    """Search the grid and return the classifier with the best validation score."""
    from safetensors.torch import load_file

    trials = read_trials(job.folder / TRIALS)
    precision = PRECISIONS[uses_bf16(job.options.bf16, device_for(job.opening.device))]

    def run_trial(grid_point: Trial) -> Trial:
        trial = replace(grid_point, precision=precision)
        known = next((done for done in trials if replace(done, score=None, steps=None) == trial), None)
        if known is not None:
            return known
        classifier = job.classifier()
        trained = train_trial(job, classifier, trial, job.folder / trial.name)
        trials.append(on_main_process(lambda: _score_trial(job, classifier, trained, trials)))
        return trials[-1]

    best = greedy_search(job.options.grid, run_trial)
    classifier = job.classifier()
    classifier.model.load_state_dict(load_file(job.folder / BEST / "model.safetensors"), strict=False)
    return evaluate_fine_tuned(job, classifier, best, trials, job.data.dev, job.data.test)


def evaluate_fine_tuned(
    job: FineTuneJob,
    classifier: Classifier,
    chosen: Trial,
    trials: Sequence[Trial],
    dev: Sequence[Example],
    test: Sequence[Example] = (),
) -> FineTuned:
    """A fine-tuned classifier with its scores on validation and test examples."""
    labels, seed = job.data.labels, job.options.seed
    return FineTuned(
        classifier=classifier,
        chosen=chosen,
        trials=tuple(trials),
        dev=score_with_interval(classifier, dev, labels, seed=seed),
        test=score_with_interval(classifier, test, labels, seed=seed) if test else None,
        majority_share=majority_share(test or dev) if labels else None,
        metric=job.data.metric,
        train_examples=len(sample_examples(job.data.train, job.options)),
        dev_examples=len(dev),
        test_examples=len(test),
    )


def greedy_search(grid: Grid, evaluate: Callable[[Trial], Trial]) -> Trial:
    """The best batch size, then learning rate, then epochs; ties go to the earlier trial."""
    best = evaluate(Trial(**{name: values[len(values) // 2] for name, values in asdict(grid).items()}))
    for name in ("batch", "rate", "epochs"):
        for value in getattr(grid, name):
            trial = evaluate(replace(best, **{name: value}, score=None, steps=None))
            if _better(trial, best):
                best = trial
    return best


def fine_tune_once(job: FineTuneJob, evaluate: Callable[[int, Classifier], None]) -> tuple[Classifier, Trial]:
    """Fine-tune with the first value of each list; call `evaluate` before and every `every` steps.

    Returns the classifier and the trial with its number of training steps, without a score.
    """
    grid, classifier = job.options.grid, job.classifier()
    trial = Trial(grid.batch[0], grid.rate[0], grid.epochs[0])
    evaluate(0, classifier)

    def evaluate_step(step: int, model: Any) -> None:
        current = Classifier(model, classifier.tokenizer, length=classifier.length)
        current.encodings = job.encodings
        evaluate(step, current)

    callback = EvalCallback(job.options.every or 500, evaluate_step)
    return classifier, train_trial(job, classifier, trial, job.folder / "training", callbacks=(callback,))


def rescale_pooler(classifier: Classifier, examples: Sequence[Example]) -> None:
    """Scale a randomly initialised pooler as if its inputs had unit RMS, which the initialisation assumes.

    The last hidden states of a language model may be a hundredth of that: the pooler's output would be almost
    constant and training slow to start. A pretrained pooler is left as it is.
    """
    import torch

    texts = [(example.text, example.second) for example in examples[:SCALING_EXAMPLES]]
    for name, layer in classifier.model.named_modules():
        is_new = "pooler" in name and f"{name}.weight" in classifier.new_weights
        if not is_new or not isinstance(layer, torch.nn.Linear):
            continue
        inputs: list[Any] = []
        hook = layer.register_forward_pre_hook(lambda _, args, inputs=inputs: inputs.append(args[0]))
        classifier.model.eval()
        with torch.inference_mode():  # padded: a batch for every length would take longer than the first steps
            for start in range(0, len(texts), SCALING_BATCH):
                batch = classifier.batch(texts[start : start + SCALING_BATCH])
                classifier.model(**{key: tensor.to(layer.weight.device) for key, tensor in batch.items()})
        hook.remove()
        rms = float(torch.cat([states.flatten() for states in inputs]).square().mean().sqrt())
        with torch.no_grad():
            layer.weight /= rms


def _init_regression_bias(model: Any, mean: float) -> None:
    """Set a regression head's bias to the mean target: learning it would take most of the steps."""
    import torch

    linear = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    heads = [module for module in linear if module.out_features == 1]
    if heads and heads[-1].bias is not None:
        torch.nn.init.constant_(heads[-1].bias, mean)


def train_trial(
    job: FineTuneJob, classifier: Classifier, trial: Trial, folder: Path, *, callbacks: Sequence[EvalCallback] = ()
) -> Trial:
    """Train a classifier with one setting of the hyper-parameters; the trial with its steps and precision."""
    import torch

    from unmask.training.collators import padding_multiple

    options, labels, multiple = job.options, job.data.labels, padding_multiple(classifier.model)
    examples = sample_examples(job.data.train, options)
    rescale_pooler(classifier, examples)
    if not labels:
        _init_regression_bias(classifier.model, float(np.mean(target_values(examples, labels))))

    def collate(batch_examples: Sequence[Example], _: np.random.Generator) -> Any:
        batch = classifier.batch([(example.text, example.second) for example in batch_examples], multiple)
        targets = target_values(batch_examples, labels)
        batch["labels"] = torch.tensor(targets, dtype=torch.long if labels else torch.float32)
        return batch

    steps = trial.epochs * len(examples) / (trial.batch * world_size())
    train_settings = TrainSettings(
        epochs=trial.epochs,
        lr=trial.rate,
        batch=trial.batch,
        seed=options.seed,
        warmup=int(WARMUP * min(steps, options.steps or steps)),
        save_every=options.save_every,
        steps=options.steps,
        bf16=options.bf16,
    )
    result = train(
        classifier.model,
        list(examples),
        collate,
        train_settings,
        folder,
        callbacks=callbacks,
        progress=with_label(job.progress, f"fine-tuning {trial.name}"),
        key=trial.name,
        count=lambda batch: len(batch["labels"]),
    )
    return replace(trial, steps=result.steps, precision=result.precision)


def _score_trial(job: FineTuneJob, classifier: Classifier, trial: Trial, others: Sequence[Trial]) -> Trial:
    """Score a trial and save it; save its model if it is the best so far."""
    scored = replace(trial, score=score(classifier, job.data.dev, job.data.labels))
    if all(_better(scored, other) for other in others):
        with writing(job.folder), quiet():
            classifier.model.save_pretrained(make_folder(job.folder) / BEST)
    write_json(job.folder / TRIALS, [*others, scored])
    return scored


def _better(trial: Trial, other: Trial) -> bool:
    """Whether a trial has the higher score; a constant prediction has none (stored as null)."""
    mine, its = (-math.inf if each.score is None else each.score for each in (trial, other))
    return mine > its
