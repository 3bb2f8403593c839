"""Fine-tuning steps: fine-tune a model on a task, track its bias, and put its encoder back into the LM."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.corpus.counting import TermCounter, count_files
from unmask.corpus.ratios import ilps
from unmask.corpus.terms import builtin_terms
from unmask.findings import Value
from unmask.models import Lm, open_lm
from unmask.studies.backends.ray_counting import count_on_ray
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.tasks import Grid, TaskSettings, find
from unmask.tasks.bias_curve import bias_curve
from unmask.tasks.finetune import FineTuneJob, fine_tune
from unmask.tasks.performance import beats_baseline, majority_share, sample_examples, score_with_interval
from unmask.tasks.spec import CurvePoint
from unmask.training.checkpoints import save_model

CURVE, COUNTS, BEST, WORK = "curve.json", "counts.json", "best.json", "work"
LENGTH = 60.0  # mean tokens per example, approximate


@dataclass(frozen=True, slots=True)
class TaskScore:
    """Accuracy or Pearson's r on the validation set, and the score of a constant prediction."""

    score: Value
    guessing: float

    @property
    def beats_baseline(self) -> bool:
        """Whether the score is significantly above the baseline; otherwise the bias is not interpretable."""
        return beats_baseline(self.score, self.guessing)


def finetune_and_track(context: StepContext) -> None:
    """Fine-tune once, record the bias every `every` steps, and save the resulting language model."""
    parameters, runtime = context.parameters, context.runtime
    opening = Opening(device=runtime.device, offline=runtime.offline)
    task, settings = find(parameters["task"]), _settings(context)
    data = task.load_data(settings) if task.load_data else None
    if data is None:
        raise ModelError(f"{task.name} is zero-shot: name a task with fine-tuning")
    curve = bias_curve(task, FineTuneJob(context.model, data, settings, context.folder / WORK, opening))
    lm = open_lm(context.model, opening)
    copy_encoder(curve.classifier.model, lm)
    save_model(lm.network.model, lm.tokenizer, context.folder)
    examples = sample_examples(data.dev, settings)
    score = TaskScore(
        score_with_interval(curve.classifier, examples, data.labels, seed=settings.seed),
        majority_share(examples) if data.labels else 0.0,
    )
    record = {"points": [asdict(point) for point in curve.points], "learnt": asdict(score)}
    (context.folder / CURVE).write_text(json.dumps(record), encoding="utf-8")
    shutil.rmtree(context.folder / WORK, ignore_errors=True)


def finetune_with_search(context: StepContext) -> None:
    """Fine-tune as in the paper, by greedy search on the validation set; save the best model's bias."""
    task, settings = find(context.parameters["task"]), _settings(context)
    opening = Opening(device=context.runtime.device, offline=context.runtime.offline)
    assert task.load_data is not None
    job = FineTuneJob(context.model, task.load_data(settings), settings, context.folder / WORK, opening)
    fine_tuned = fine_tune(job)
    headline = task.headline(task.observe(fine_tuned.classifier, settings))
    score = TaskScore(fine_tuned.dev, fine_tuned.majority_share or 0.0)
    bias = Value(headline.value, headline.low, headline.high, headline.method)
    record = {"bias": asdict(bias), "n": headline.n, "learnt": asdict(score)}
    (context.folder / BEST).write_text(json.dumps(record), encoding="utf-8")
    shutil.rmtree(context.folder / WORK, ignore_errors=True)


def copy_encoder(classifier: Any, lm: Lm) -> None:
    """Copy the encoder of a fine-tuned classifier into the language model; the LM head is unchanged."""
    model = lm.network.model
    missing, _ = model.base_model.load_state_dict(classifier.base_model.state_dict(), strict=False)
    if missing:
        raise ModelError(f"the fine-tuned model has no weights for {', '.join(missing[:3])}")


def count_gendered_words(context: StepContext) -> None:
    """Count gendered words in a task's training data (Table 1)."""
    task, settings = find(context.parameters["task"]), _settings(context)
    assert task.load_data is not None
    path = context.folder / "texts.txt"
    with path.open("w", encoding="utf-8") as file:
        for example in task.load_data(settings).train:
            text = " ".join(f"{example.text} {example.second or ''}".split())
            file.write(f"{text}\n")
    counter = TermCounter(builtin_terms(professions=False))
    local = context.parallel_map is map
    sums = count_files([path], counter, processes=1) if local else count_on_ray([path], counter)
    ratio = ilps(sums.groups, seed=settings.seed)
    totals = {name: sums.set_total(side) for side, name in enumerate(counter.terms.names)}
    record = {"counts": totals, "ilps": asdict(ratio), "documents": sums.documents, "words": sums.words}
    (context.folder / COUNTS).write_text(json.dumps(record), encoding="utf-8")
    path.unlink()


def curve_points(folder: Path) -> list[CurvePoint]:
    """The evaluation points that a FOLLOWED step recorded."""
    rows = json.loads((folder / CURVE).read_text(encoding="utf-8"))["points"]
    return [CurvePoint(**{**row, "bias": Value(**row["bias"])}) for row in rows]


def best_bias(folder: Path) -> tuple[Value, int]:
    """The bias of a SEARCHED step's best model, and the number of items."""
    row = json.loads((folder / BEST).read_text(encoding="utf-8"))
    return Value(**row["bias"]), int(row["n"])


def task_score(folder: Path) -> TaskScore:
    """The validation score of the final model of a FOLLOWED or SEARCHED step."""
    (path,) = (folder / name for name in (CURVE, BEST) if (folder / name).is_file())
    row = json.loads(path.read_text(encoding="utf-8"))["learnt"]
    return TaskScore(Value(**row["score"]), float(row["guessing"]))


def word_counts(folder: Path) -> Mapping[str, Any]:
    """The counts of a TALLIED step."""
    return dict(json.loads((folder / COUNTS).read_text(encoding="utf-8")))


def _settings(context: StepContext) -> TaskSettings:
    chosen = dict(context.parameters["settings"])
    grid = Grid(**{name: tuple(values) for name, values in chosen.pop("grid", {}).items()})
    return TaskSettings(
        seed=context.parameters["seed"], data_dir=context.runtime.data_dir, grid=grid, **chosen
    )


def work_estimate(step: Step) -> WorkEstimate:
    """Training steps × batch size; evaluation costs about as much in forward passes."""
    chosen = step.parameters["settings"]
    batch = (chosen.get("grid") or {"batch": [32]})["batch"][0]
    steps = chosen.get("steps") or 5500
    trials = 7 if step.kind.endswith(":SEARCHED") else 1
    return WorkEstimate(forward_tokens=steps * batch * LENGTH, train_tokens=trials * steps * batch * LENGTH)


FOLLOWED = StepKind(finetune_and_track, version=4, estimate_work=work_estimate, resumable=True)
SEARCHED = StepKind(finetune_with_search, version=4, estimate_work=work_estimate, resumable=True)
TALLIED = StepKind(count_gendered_words, version=1, runs_model=False, has_parts=lambda _: True)
