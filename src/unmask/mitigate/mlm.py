"""Language-model training shared by the methods: tokenized rows, reminders, training."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unmask import data
from unmask.mitigate.spec import MitigationContext, Outcome
from unmask.models.network import Network
from unmask.training import train
from unmask.training.collators import MaskedTokenLoss, TokenRow, collator_for, encode_rows


def reminders(times: int) -> list[str]:
    """The package's sentences on gendered words, repeated `times` times."""
    return [reminder.sentence for reminder in data.read("reminders")] * times


def tokenize_texts(context: MitigationContext, texts: Iterable[str]) -> list[TokenRow]:
    """Tokenize texts into rows no longer than the model's maximum input length."""
    length = min(context.options.length, context.lm.facts.max_length)
    return encode_rows(texts, context.lm.tokenizer, length=length, causal=context.causal)


def train_language_model(
    context: MitigationContext,
    texts: Sequence[str],
    facts: Mapping[str, Any],
    *,
    model: Any = None,
    reminded: bool = True,
) -> Outcome:
    """Train on texts, and on reminders if requested, by masked or causal language modelling."""
    added = reminders(context.options.remind if reminded else 0)
    rows = tokenize_texts(context, [*texts, *added])
    trained_model = context.model if model is None else model
    training = train(
        trained_model,
        rows,
        collator_for(context.lm.tokenizer, causal=context.causal),
        context.settings,
        context.folder,
        loss=None if context.causal else MaskedTokenLoss(Network(trained_model.eval())),
        progress=context.progress,
        key=rows_digest(rows),
    )
    return Outcome(trained_model, {**facts, "texts": len(texts), "reminders": len(added), "rows": len(rows)}, training)


def rows_digest(rows: Sequence[TokenRow]) -> str:
    """SHA-256 of the rows."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(row.tobytes())
    return digest.hexdigest()
