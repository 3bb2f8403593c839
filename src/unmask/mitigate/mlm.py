"""What the methods share: text as rows, reminders among them, and a training by language modelling."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unmask import data
from unmask.data.reminders import Reminder
from unmask.mitigate.spec import MitigationContext, Outcome
from unmask.models.network import Network
from unmask.training import train
from unmask.training.collators import MaskedTokenLoss, TokenRow, collator_for, encode_rows


def reminders(times: int) -> list[str]:
    """The package's sentences on words that have a gender, so many times over."""
    known: tuple[Reminder, ...] = data.read("reminders")
    return [one.sentence for one in known] * times


def tokenize_texts(context: MitigationContext, texts: Iterable[str]) -> list[TokenRow]:
    """Texts as rows of tokens no longer than the model takes."""
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
    """Train on texts, and on reminders where they were asked for, by language modelling."""
    known = reminders(context.options.remind if reminded else 0)
    rows = tokenize_texts(context, [*texts, *known])
    taught = context.model if model is None else model
    took = train(
        taught,
        rows,
        collator_for(context.lm.tokenizer, causal=context.causal),
        context.settings,
        context.folder,
        loss=None if context.causal else MaskedTokenLoss(Network(taught.eval())),
        progress=context.progress,
        key=rows_digest(rows),
    )
    return Outcome(taught, {**facts, "texts": len(texts), "reminders": len(known), "rows": len(rows)}, took)


def rows_digest(rows: Sequence[TokenRow]) -> str:
    """What tells one set of rows from another."""
    made = hashlib.sha256()
    for row in rows:
        made.update(row.tobytes())
    return made.hexdigest()
