"""Open any Hugging Face language model, sequence classifier or encoder, safely: one way in for all.

What a reference names is found and loaded by `models.pretrained`; here it becomes a model that can be scored
(`Lm`) or a `Classifier`, after a forward pass. The kind of model comes from its configuration. An eraser saved beside
the weights is attached to every kind of model, also to the classifier made from a language model.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.core.errors import ModelError
from unmask.core.options import Opening, Serving
from unmask.core.types import Kind
from unmask.models.classifier import MAX_LENGTH, Classifier
from unmask.models.endpoint.address import EXAMPLE, is_url
from unmask.models.eraser import attach, attached_eraser
from unmask.models.fast import is_enabled
from unmask.models.kind import LM_ENDINGS, has_lm_head, is_bidirectional, refuse_encoder_decoder
from unmask.models.library_errors import opening
from unmask.models.lm import Lm, ModelFacts, ModelKind
from unmask.models.network import Network
from unmask.models.pretrained import (
    AUTO_CLASSES,
    SHORT_TEXT,
    ModelCheckpoint,
    auto_class,
    device_for,
    find_checkpoint,
    load_checkpoint,
    load_next_sentence,
    model_facts,
)
from unmask.models.weights import namespace_of

_NO_HEAD = "opened without a head: only its hidden states are read"


def open_lm(ref: str | Path | None = None, how: Opening | None = None, serving: Serving | None = None) -> Lm:
    """Load a hub model (`name@revision`), a folder, or a built-in model (None: the default one).

    With `serving` also the URL of an endpoint, of which only log-probabilities of texts can be read.
    """
    if serving is not None and isinstance(ref, str) and is_url(ref):
        from unmask.models.endpoint.loading import open_endpoint

        return open_endpoint(ref, how or Opening(), serving)
    if serving is not None and serving.served_model is not None:
        raise ModelError(f"--model {serving.served_model} names a model of an endpoint: give its URL, like {EXAMPLE}")
    return _open(find_checkpoint(ref, how or Opening()))


def open_encoder(ref: str | Path | None = None, how: Opening | None = None) -> Lm:
    """Load any model for its hidden states: a language model, or without its head what has no LM head."""
    checkpoint = find_checkpoint(ref, how or Opening())
    refuse_encoder_decoder(checkpoint.config, checkpoint.name)
    return _open(checkpoint, None if has_lm_head(checkpoint.config) else "encoder")


def _open(checkpoint: ModelCheckpoint, kind: ModelKind | None = None) -> Lm:
    """The loaded model, after a forward pass; without `kind` a language model."""
    model, tokenizer, facts = load_checkpoint(checkpoint, kind)
    if kind == "encoder":
        as_lm = checkpoint.how.kind or ("masked" if is_bidirectional(checkpoint.config) else "causal")
        facts = replace(facts, kind=as_lm, warnings=(*facts.warnings, _NO_HEAD))
    next_sentence = load_next_sentence(checkpoint, model) if facts.kind == "masked" and kind is None else None
    device = device_for(checkpoint.how.device)
    with opening(checkpoint.folder):
        model.to(device).eval()
        if next_sentence is not None:
            next_sentence.to(device).eval()
        _try_out(model, tokenizer)
        network = Network(model, next_sentence=next_sentence)
    facts = replace(facts, shortcuts=network.shortcut_names)
    if is_enabled() and network.shortcuts is None and kind is None:
        warnings.warn(
            f"{facts.id} is scored by its whole network at every position, because its head cannot be run apart: "
            "results are the same, but slower",
            stacklevel=2,
        )
    return Lm(tokenizer, network, facts, namespace_of(facts.fingerprint, facts.dtype))


def wrap_lm(model: Any, tokenizer: Any) -> Lm:
    """Wrap a language model in memory for scoring; nothing is cached, because its weights may change."""
    name = type(model).__name__
    kind: Kind = "masked" if name.endswith(LM_ENDINGS["masked"]) else "causal"
    if not name.endswith(LM_ENDINGS[kind]):
        raise ModelError(f"the model is a {name}, not a language model: choose a task for classifiers")
    facts = model_facts(
        *(model, tokenizer, kind),
        id="in training",
        revision=None,
        fingerprint="",
        dtype=str(model.dtype).removeprefix("torch."),
        device=str(model.device),
        built_in=False,
    )
    return Lm(tokenizer, Network(model), facts, "")


def open_classifier(ref: str | Path, how: Opening, *, length: int = MAX_LENGTH) -> Classifier:
    """Load a sequence classifier, in fp32; the checkpoint must hold its head."""
    checkpoint = find_checkpoint(ref, replace(how, dtype="fp32"))
    model, tokenizer, facts = load_checkpoint(checkpoint, "classifier")
    with opening(checkpoint.folder):
        return _classifier(model, tokenizer, facts, how, length)


def new_classifier(
    ref: str | Path, how: Opening, *, labels: Sequence[str], seed: int, length: int = MAX_LENGTH
) -> Classifier:
    """A language model with a new head, in fp32; without `labels` the head is a regression.

    Everything the language model does not have, the pooler included, is initialised from `seed` in the same
    way for all checkpoints of an architecture: a pooler in the checkpoint is ignored, because a copy of the
    model saved as a language model has none. The facts are those of the language model.
    """
    import torch

    checkpoint = find_checkpoint(ref, replace(how, dtype="fp32"))
    lm, tokenizer, facts = load_checkpoint(checkpoint)
    config = copy.deepcopy(lm.config)
    config.num_labels = max(1, len(labels))
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {name: index for index, name in enumerate(labels)}
    config.problem_type = "single_label_classification" if labels else "regression"
    auto = auto_class(AUTO_CLASSES["classifier"])
    with opening(checkpoint.folder), torch.random.fork_rng(devices=[]):
        with torch.device("meta"):
            architecture = type(auto.from_config(config, trust_remote_code=how.trust_remote_code))
        torch.manual_seed(seed)
        model, loading = architecture.from_pretrained(
            None, config=config, state_dict=lm.state_dict(), dtype=torch.float32, output_loading_info=True
        )
    new = sorted(map(str, loading["missing_keys"]))
    body = [key for key in new if key.startswith(f"{model.base_model_prefix}.") and "pooler" not in key]
    if body:
        raise ModelError(
            f"{facts.id} cannot be fine-tuned: a {architecture.__name__} needs {', '.join(body[:4])}, which "
            f"a {facts.architecture} does not have"
        )
    eraser = attached_eraser(lm)
    if eraser is not None:
        attach(model, eraser)
    with opening(checkpoint.folder):
        return _classifier(model, tokenizer, facts, how, length, new)


def is_classifier(ref: str | Path, how: Opening) -> bool:
    """Whether the configuration names a sequence-classification architecture."""
    architectures = find_checkpoint(ref, how).config.architectures or []
    return any(name.endswith("ForSequenceClassification") for name in architectures)


def _classifier(
    model: Any, tokenizer: Any, facts: ModelFacts, how: Opening, length: int, new: Sequence[str] = ()
) -> Classifier:
    if tokenizer.pad_token is None:  # a causal model pools the last token that is not padding
        tokenizer.pad_token = tokenizer.eos_token
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    model.to(device_for(how.device)).eval()
    _try_out(model, tokenizer)
    return Classifier(model, tokenizer, length=length, new_weights=new, facts=facts)


def _try_out(model: Any, tokenizer: Any) -> None:
    """Run one short text: a configuration that the model cannot compute with fails here and not later."""
    import torch

    ids = tokenizer(SHORT_TEXT, verbose=False)["input_ids"] or [0]
    with torch.inference_mode():
        model(input_ids=torch.tensor([ids], device=model.device))
