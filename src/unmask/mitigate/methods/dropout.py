"""`dropout`: continued training with increased dropout (Webster et al. 2020)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from unmask.core.errors import ModelError
from unmask.mitigate.spec import Method, MitigationContext, Outcome, TrainingOptions

if TYPE_CHECKING:
    from unmask.data.texts import TrainingCorpus

HIDDEN, ATTENTION = 0.20, 0.15
_HIDDEN = (
    *("hidden_dropout_prob", "hidden_dropout", "dropout", "resid_pdrop", "embd_pdrop"),
    *("embedding_dropout", "mlp_dropout"),
)
_ATTENTION = ("attention_probs_dropout_prob", "attention_dropout", "attn_pdrop")
_BIAS_BENCH = {"albert": (0.05, 0.05), "gpt2": (0.15, 0.15)}


def with_dropout(model: Any, hidden: float, attention: float) -> tuple[Any, dict[str, float]]:
    """Copy the model with other dropout rates; also return the changed entries of its configuration."""
    from unmask.models.eraser import attach, attached_eraser

    config = copy.deepcopy(model.config)
    rates = {**dict.fromkeys(_HIDDEN, hidden), **dict.fromkeys(_ATTENTION, attention)}
    changed = {name: rate for name, rate in rates.items() if isinstance(getattr(config, name, None), int | float)}
    if not changed:
        raise ModelError(f"{type(model).__name__} has no dropout to increase: use another method, such as cda")
    for name, value in changed.items():
        setattr(config, name, value)
    fresh = type(model)(config).to(next(model.parameters()).device)
    fresh.load_state_dict(model.state_dict())
    fresh.tie_weights()
    if (eraser := attached_eraser(model)) is not None:
        attach(fresh, eraser)
    return fresh.eval(), changed


def apply(
    context: MitigationContext[TrainingOptions],
    corpus: TrainingCorpus,
    exceptions: Mapping[str, tuple[float, float]] | None = None,
) -> Outcome:
    """Train on the unchanged corpus; the checkpoint keeps the original configuration."""
    from unmask.mitigate.mlm import train_language_model

    original_config = context.model.config
    rates = (exceptions or {}).get(original_config.model_type, (HIDDEN, ATTENTION))
    model, changed = with_dropout(context.model, *rates)
    texts = [" ".join(document) for document in corpus.documents]
    outcome = train_language_model(context, texts, {"documents": len(texts), "dropout": changed}, model=model)
    model.config = original_config
    return outcome


DROPOUT = Method(
    name="dropout",
    title="Dropout regularisation",
    about="further training with dropout 0.20 of hidden states and 0.15 of attention, in any architecture",
    apply=apply,
    citation="webster-etal-2020-measuring",
    options=TrainingOptions,
    languages=(),
)

DROPOUT_BIAS_BENCH = Method(
    name="dropout-bias-bench",
    title="Dropout regularisation, as published by Meade et al. (2022)",
    about="as dropout, but 0.05 and 0.05 for ALBERT, and 0.15 everywhere for GPT-2",
    apply=partial(apply, exceptions=_BIAS_BENCH),
    citation="meade-etal-2022-empirical",
    options=TrainingOptions,
    published=True,
    languages=(),
)
