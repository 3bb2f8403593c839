"""The effect of a corpus on a model: continue training on it and on a placebo of equal size (Barza 2023).

By default the placebo is the corpus with the gender of each sentence swapped with probability 1/2.

start ──┬─► trained on the corpus  ──► evaluated ──┐
        └─► trained on the placebo ──► evaluated ──┴─► differences, paired by item
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unmask.audit.plan import engine_for
from unmask.core.errors import DataError
from unmask.core.files import write_json
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
from unmask.training.collators import collator_for, encode_rows

RECORD = "training.json"


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
    chosen = [
        other if flip else sentence for sentence, other, flip in zip(sentences, swapped, flips, strict=True)
    ]
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
    """Evaluations of the model at the start, after the corpus, and after the placebo."""

    model: dict[str, Any]
    evaluations: dict[str, BiasEvaluation]  # "start", "corpus", "placebo"
    trainings: dict[str, dict[str, Any]]  # "corpus", "placebo"
    placebo_about: str


def measure_effect(
    plan: TrainingPlan, sentences: Sequence[str], placebo: Placebo, held_out: Sequence[str], out: Path
) -> TrainingEffect:
    """Train twice from one start and evaluate all three; checkpoints in `out` are reused."""
    lm = open_lm(plan.model, plan.opening)
    evaluations, trainings = {"start": _evaluate(plan, lm, held_out)}, {}
    for name, texts in (("corpus", sentences), ("placebo", placebo.sentences)):
        trainings[name] = _train_checkpoint(plan, texts, out / name)
        evaluations[name] = _evaluate(plan, open_lm(out / name, plan.opening), held_out)
    return TrainingEffect(asdict(lm.facts), evaluations, trainings, placebo.about)


def _evaluate(plan: TrainingPlan, lm: Lm, held_out: Sequence[str]) -> BiasEvaluation:
    with engine_for(lm, plan.options) as engine:
        return evaluate_model(engine, held_out, seed=plan.settings.seed, progress=plan.options.progress)


def _train_checkpoint(plan: TrainingPlan, texts: Sequence[str], folder: Path) -> dict[str, Any]:
    """Train a checkpoint on the texts, unless the same one exists already."""
    lm = open_lm(plan.model, plan.opening)
    causal = lm.kind == "causal"
    rows = encode_rows(
        texts, lm.tokenizer, length=min(plan.settings.length, lm.facts.max_length), causal=causal
    )
    request = {"start": lm.facts.fingerprint, "rows": rows_digest(rows), "settings": asdict(plan.settings)}
    record = folder / RECORD
    if record.is_file():
        saved = json.loads(record.read_text(encoding="utf-8"))
        if saved["asked"] == json.loads(json.dumps(request)):
            return dict(saved)
    outcome = train(
        lm.network.model,
        rows,
        collator_for(lm.tokenizer, causal=causal),
        plan.settings,
        folder.with_name(f"{folder.name}-unfinished"),
        progress=with_label(plan.options.progress, f"training on the {folder.name}"),
        key=rows_digest(rows),
    )
    record.unlink(missing_ok=True)
    save_model(lm.network.model, lm.tokenizer, folder)
    losses = [list(loss) for loss in outcome.losses]
    content = {"asked": request, "texts": len(texts), "steps": outcome.steps, "losses": losses}
    return dict(write_json(record, content))
