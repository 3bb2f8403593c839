"""Language-model training shared by the methods: tokenized rows, reminders, training."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unmask import data
from unmask.core.errors import DataError, quote
from unmask.mitigate.spec import MitigationContext, Outcome, TrainingOptions
from unmask.models.eraser import attach, attached_eraser, detach
from unmask.models.network import Network
from unmask.training import train
from unmask.training.collators import MaskedTokenLoss, TokenRow, collator_for, encode_rows, padding_multiple


def reminders(options: TrainingOptions) -> list[str]:
    """The package's sentences on gendered words, or on one, repeated as often as the options say."""
    known = data.read("reminders")
    words = list(dict.fromkeys(reminder.word for reminder in known))
    if options.word and options.word not in words:
        raise DataError(f"there are no reminders of {quote(options.word)}: give one of {', '.join(words)}")
    return [each.sentence for each in known if options.word in (None, each.word)] * options.remind


def tokenize_texts(context: MitigationContext[TrainingOptions], texts: Iterable[str]) -> list[TokenRow]:
    """Tokenize texts into rows no longer than the model's maximum input length."""
    length = min(context.options.length, context.lm.facts.max_length)
    return encode_rows(texts, context.lm.tokenizer, length=length, causal=context.causal)


def train_language_model(
    context: MitigationContext[TrainingOptions],
    texts: Sequence[str],
    facts: Mapping[str, Any],
    *,
    model: Any = None,
    reminded: bool = True,
) -> Outcome:
    """Train on texts, and on reminders if requested, by masked or causal language modelling."""
    added = reminders(context.options) if reminded else []
    rows = tokenize_texts(context, [*texts, *added])
    trained_model = context.model if model is None else model
    multiple = padding_multiple(trained_model)
    collate = collator_for(context.lm.tokenizer, causal=context.causal, multiple=multiple, positions=True)
    training = train(
        trained_model,
        rows,
        collate,
        context.options,
        context.folder,
        loss=None if context.causal else MaskedTokenLoss(Network(trained_model.eval())),
        progress=context.progress,
        key=rows_digest(rows),
        count=collate.count,
    )
    return Outcome(trained_model, {**facts, "texts": len(texts), "reminders": len(added), "rows": len(rows)}, training)


def rows_digest(rows: Sequence[TokenRow]) -> str:
    """SHA-256 of the rows."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(row.tobytes())
    return digest.hexdigest()


def frozen_copy(model: Any) -> Any:
    """A frozen copy of the model; an attached eraser is attached to the copy too."""
    eraser = attached_eraser(model)
    detach(model)
    frozen = copy.deepcopy(model).eval().requires_grad_(False)
    if eraser is not None:
        attach(model, eraser)
        attach(frozen, eraser)
    return frozen
