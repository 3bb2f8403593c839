"""Uses of a model as steps: it is taught a task, its bias followed, its body put back under its LM head."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from unmask.audit.plan import Options
from unmask.core.errors import ModelError
from unmask.corpus.counting import TermCounter, count
from unmask.corpus.ratios import ilps
from unmask.corpus.terms import builtin_terms
from unmask.findings import Value
from unmask.models import Lm, open_lm
from unmask.models.classifier import Classifier
from unmask.models.loading import Opening
from unmask.studies.backends.ray_counting import count_on_ray
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.tasks import Grid, TaskSettings, find
from unmask.tasks.bias_curve import CurvePoint, bias_curve
from unmask.tasks.finetune import fine_tune
from unmask.tasks.metrics import beats_baseline, majority_share, sample_examples, score_with_interval

CURVE, COUNTS, BEST, WORK = "curve.json", "counts.json", "best.json", "work"
LENGTH = 60.0  # tokens of an example, about


@dataclass(frozen=True, slots=True)
class TaskScore:
    """Accuracy or Pearson's r on development data, and what saying always the same would get."""

    score: Value
    guessing: float

    @property
    def beats_baseline(self) -> bool:
        """Whether it is better than guessing beyond chance; else its bias means nothing."""
        return beats_baseline(self.score, self.guessing)


def finetune_and_track(context: StepContext) -> None:
    """Fine-tune by the first of each list, look every so many steps, keep the language model it becomes."""
    parameters, runtime = context.parameters, context.runtime
    how = Opening(device=runtime.device, offline=runtime.offline)
    task, settings = find(parameters["task"]), _settings(context)
    lesson = task.load_data(settings) if task.load_data else None
    if lesson is None:
        raise ModelError(f"{task.name} teaches nothing: name a task that does")
    last: list[Classifier] = []

    def observe(judge: Classifier, chosen: TaskSettings) -> Any:
        last[:] = [judge]
        return task.observe(judge, chosen)

    curve = bias_curve(
        replace(task, observe=observe),
        context.model,
        lesson,
        settings,
        context.folder / WORK,
        how,
        Options(store=False),
    )
    lm = open_lm(context.model, how)
    copy_encoder(last[0].model, lm)
    _save(lm, context.folder)
    judged = sample_examples(lesson.dev, settings)
    learnt = TaskScore(
        score_with_interval(last[0], judged, lesson.labels, seed=settings.seed),
        majority_share(judged) if lesson.labels else 0.0,
    )
    whole = {"points": [asdict(one) for one in curve.points], "learnt": asdict(learnt)}
    (context.folder / CURVE).write_text(json.dumps(whole), encoding="utf-8")
    shutil.rmtree(context.folder / WORK, ignore_errors=True)


def finetune_with_search(context: StepContext) -> None:
    """Fine-tune as the paper does, by greedy search on development data; the bias of the best."""
    task, settings = find(context.parameters["task"]), _settings(context)
    how = Opening(device=context.runtime.device, offline=context.runtime.offline)
    assert task.load_data is not None
    (context.folder / WORK).mkdir(exist_ok=True)
    told = fine_tune(context.model, task.load_data(settings), settings, context.folder / WORK, opening=how)
    head = task.headline(task.observe(told.classifier, settings))
    learnt = TaskScore(told.dev, told.majority_share or 0.0)
    whole = {"bias": asdict(head.number), "n": head.n, "learnt": asdict(learnt)}
    (context.folder / BEST).write_text(json.dumps(whole), encoding="utf-8")
    shutil.rmtree(context.folder / WORK, ignore_errors=True)


def copy_encoder(taught: Any, lm: Lm) -> None:
    """Give a language model the body of a classifier made from it; its head stays."""
    model = lm.network.model
    lacking, _ = model.base_model.load_state_dict(taught.base_model.state_dict(), strict=False)
    if lacking:
        raise ModelError(f"the fine-tuned model has no weights for {', '.join(lacking[:3])}")


def count_gendered_words(context: StepContext) -> None:
    """Words of either gender in what a task teaches with (Table 1)."""
    task, settings = find(context.parameters["task"]), _settings(context)
    assert task.load_data is not None
    path = context.folder / "texts.txt"
    with path.open("w", encoding="utf-8") as file:
        for one in task.load_data(settings).train:
            text = " ".join(f"{one.text} {one.second or ''}".split())
            file.write(f"{text}\n")
    counter = TermCounter(builtin_terms(professions=False))
    sums = (
        count([path], counter, processes=1) if context.parallel_map is map else count_on_ray([path], counter)
    )
    found = ilps(sums.groups, seed=settings.seed)
    sides = {name: sums.set_total(side) for side, name in enumerate(counter.terms.names)}
    whole = {"counts": sides, "ilps": asdict(found), "documents": sums.documents, "words": sums.words}
    (context.folder / COUNTS).write_text(json.dumps(whole), encoding="utf-8")
    path.unlink()


def curve_points(folder: Path) -> list[CurvePoint]:
    """The looks of a step that followed."""
    rows = json.loads((folder / CURVE).read_text(encoding="utf-8"))["points"]
    return [CurvePoint(**{**row, "bias": Value(**row["bias"])}) for row in rows]


def best_bias(folder: Path) -> tuple[Value, int]:
    """The bias a search ended with, and over how many items."""
    row = json.loads((folder / BEST).read_text(encoding="utf-8"))
    return Value(**row["bias"]), int(row["n"])


def task_score(folder: Path) -> TaskScore:
    """How well the task is done by the model whose bias a step ended with."""
    (path,) = (folder / name for name in (CURVE, BEST) if (folder / name).is_file())
    row = json.loads(path.read_text(encoding="utf-8"))["learnt"]
    return TaskScore(Value(**row["score"]), float(row["guessing"]))


def word_counts(folder: Path) -> Mapping[str, Any]:
    """What was counted."""
    return dict(json.loads((folder / COUNTS).read_text(encoding="utf-8")))


def _settings(context: StepContext) -> TaskSettings:
    chosen = dict(context.parameters["settings"])
    grid = Grid(**{name: tuple(values) for name, values in chosen.pop("grid", {}).items()})
    return TaskSettings(
        seed=context.parameters["seed"], data_dir=context.runtime.data_dir, grid=grid, **chosen
    )


def _save(lm: Lm, folder: Path) -> None:
    from unmask.training.trainer import quiet_trainer

    with quiet_trainer():
        lm.network.model.save_pretrained(folder)
        lm.tokenizer.save_pretrained(folder)


def work_estimate(step: Step) -> WorkEstimate:
    """Steps of fine-tuning by their batches; looking costs about as much again."""
    chosen = step.parameters["settings"]
    batch = (chosen.get("grid") or {"batch": [32]})["batch"][0]
    steps = chosen.get("steps") or 5500
    tried = 7 if step.kind.endswith(":SEARCHED") else 1
    return WorkEstimate(forward_tokens=steps * batch * LENGTH, train_tokens=tried * steps * batch * LENGTH)


FOLLOWED = StepKind(finetune_and_track, version=3, estimate_work=work_estimate, resumable=True)
SEARCHED = StepKind(finetune_with_search, version=3, estimate_work=work_estimate, resumable=True)
TALLIED = StepKind(count_gendered_words, version=1, runs_model=False, has_parts=lambda _: True)
