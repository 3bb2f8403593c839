"""The effect of a corpus on a model: continue training on it and on a placebo of equal size (Barza 2023).

By default the placebo is the corpus with the gender of each sentence swapped with probability 1/2.

start ──┬─► trained on the corpus  ──► evaluated ──┐
        └─► trained on the placebo ──► evaluated ──┴─► differences, paired by item and seed; for every seed
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from unmask.audit.session import engine_for
from unmask.core.boundary import read_json, validate
from unmask.core.errors import DataError, ResultError
from unmask.core.files import write_json, writing
from unmask.core.options import Opening, Options
from unmask.core.progress import with_label
from unmask.core.seeds import generator
from unmask.corpus.spec import EffectSettings
from unmask.mitigate.evaluation import BiasEvaluation, evaluate_model
from unmask.mitigate.mlm import rows_digest
from unmask.mitigate.swap import Swapper, default_lexicon
from unmask.models import Lm, open_lm
from unmask.training import train
from unmask.training.checkpoints import save_model
from unmask.training.collators import collator_for, encode_rows, padding_multiple

RECORD = "training.json"
ARMS, UNFINISHED = ("corpus", "placebo"), "-unfinished"
_FOLDER = re.compile(rf"({'|'.join(ARMS)})-[0-9]+({UNFINISHED})?")


@dataclass(frozen=True, slots=True)
class Placebo:
    """As many sentences as the corpus has, and a description of them."""

    sentences: tuple[str, ...]
    about: str


def shuffle_gender(sentences: Sequence[str], *, seed: int = 0) -> Placebo:
    """Swap the gender of every sentence with probability 1/2; other co-occurrences stay as they are.

    All gendered words of a sentence are swapped together: grammar and coreference stay correct, and the
    corpus says the same about women and men.
    """
    swapped = Swapper(default_lexicon()).swap_all(list(sentences))
    gendered = [other != sentence for sentence, other in zip(sentences, swapped, strict=True)]
    if not any(gendered):
        raise DataError("no sentence of the corpus has a gendered word: there is nothing to shuffle")
    flips = generator(seed, "placebo").integers(2, size=len(swapped))
    chosen = [other if flip else sentence for sentence, other, flip in zip(sentences, swapped, flips, strict=True)]
    changed = sum(sentence != other for sentence, other in zip(sentences, chosen, strict=True))
    about = (
        f"the corpus itself with the gender of each sentence swapped at random: of {sum(gendered):,} "
        f"sentences with gendered words {changed:,} were swapped"
    )
    return Placebo(tuple(chosen), about)


def placebo_from_sentences(sentences: Sequence[str], size: int, name: str) -> Placebo:
    """The first `size` sentences of a text given by the user."""
    if len(sentences) < size:
        raise DataError(
            f"{name} has {len(sentences):,} sentences, the corpus {size:,}: give as many, or limit the corpus"
        )
    return Placebo(tuple(sentences[:size]), f"the first {size:,} sentences of {name}")


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How to open and train the model."""

    model: str | Path | None
    opening: Opening
    settings: EffectSettings
    options: Options


@dataclass(frozen=True, slots=True)
class TrainingEffect:
    """Evaluations of the model at the start, and after the corpus and the placebo with every seed."""

    model: dict[str, Any]
    start: BiasEvaluation
    evaluations: dict[tuple[str, int], BiasEvaluation]  # by arm, "corpus" or "placebo", and seed
    trainings: dict[str, dict[str, Any]]  # by folder
    placebo_about: str  # of the first seed

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the trainings."""
        return tuple(seed for arm, seed in self.evaluations if arm == ARMS[0])

    def arm(self, name: str) -> list[BiasEvaluation]:
        """The evaluations of an arm, one for each seed; those of `start` are the same model."""
        return [self.evaluations.get((name, seed), self.start) for seed in self.seeds]


def folder_name(arm: str, seed: int) -> str:
    """The folder of a checkpoint in the result folder."""
    return f"{arm}-{seed}"


def kept_names(out: Path | None, settings: EffectSettings) -> list[str]:
    """The folders of checkpoints, finished or not, that runs of the command leave in a result folder."""
    seeds = range(settings.seed, settings.seed + settings.seeds)
    expected = [f"{folder_name(arm, seed)}{end}" for arm in ARMS for seed in seeds for end in ("", UNFINISHED)]
    present = [path.name for path in out.glob("*-*")] if out is not None else []
    return expected + [name for name in present if _FOLDER.fullmatch(name)]


def measure_effect(
    plan: TrainingPlan, sentences: Sequence[str], placebo: Callable[[int], Placebo], held_out: Sequence[str], out: Path
) -> TrainingEffect:
    """Train both arms with every seed from one start and evaluate all; checkpoints in `out` are reused.

    `placebo` gives the placebo of a seed.
    """
    settings, progress = plan.settings, plan.options.progress
    plans = [replace(plan, settings=replace(settings, seed=settings.seed + n, seeds=1)) for n in range(settings.seeds)]
    evaluations, trainings = {}, {}

    def evaluate(lm: Lm) -> BiasEvaluation:
        with engine_for(lm, plan.options) as engine:
            return evaluate_model(engine, held_out, seed=settings.seed, progress=progress)

    first = open_lm(plan.model, plan.opening)
    facts, start = asdict(first.facts), evaluate(first)
    for own in plans:
        seed = own.settings.seed
        for arm, texts in zip(ARMS, (sentences, placebo(seed).sentences), strict=True):
            folder = out / folder_name(arm, seed)
            label = f"training on the {arm}" + (f", seed {seed}" if len(plans) > 1 else "")
            trainings[folder.name] = _train_checkpoint(own, texts, folder, label)
            evaluations[arm, seed] = evaluate(open_lm(folder, plan.opening))
    return TrainingEffect(facts, start, evaluations, trainings, placebo(settings.seed).about)


def _train_checkpoint(plan: TrainingPlan, texts: Sequence[str], folder: Path, label: str) -> dict[str, Any]:
    """Train a checkpoint on the texts, unless the same one exists already."""
    lm = open_lm(plan.model, plan.opening)
    causal = lm.kind == "causal"
    rows = encode_rows(texts, lm.tokenizer, length=min(plan.settings.length, lm.facts.max_length), causal=causal)
    settings = plan.settings.for_device(lm.network.device)
    request = {"start": lm.facts.fingerprint, "rows": rows_digest(rows), "settings": asdict(settings)}
    record = folder / RECORD
    saved = _read_record(record)
    if saved is not None and saved["asked"] == json.loads(json.dumps(request)):
        return dict(saved)
    collate = collator_for(lm.tokenizer, causal=causal, multiple=padding_multiple(lm.network.model))
    outcome = train(
        lm.network.model,
        rows,
        collate,
        settings,
        folder.with_name(f"{folder.name}{UNFINISHED}"),
        progress=with_label(plan.options.progress, label),
        key=rows_digest(rows),
        count=collate.count,
    )
    with writing(record):
        record.unlink(missing_ok=True)
    save_model(lm.network.model, lm.tokenizer, folder)
    content = {"asked": request, "texts": len(texts), "steps": outcome.steps, "losses": outcome.losses}
    return dict(validate(TrainingRecord, write_json(record, content), str(record), ResultError))


class TrainingRecord(TypedDict):
    """What is kept of the training of a checkpoint."""

    asked: dict[str, Any]
    texts: int
    steps: int
    losses: list[tuple[int, float]]


def _read_record(path: Path) -> TrainingRecord | None:
    """The record of a trained checkpoint; None if there is none, or if it is damaged: then it is trained again."""
    try:
        return validate(TrainingRecord, read_json(path, ResultError), str(path), ResultError)
    except ResultError:
        return None
