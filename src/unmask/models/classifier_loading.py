"""Sequence classifiers opened, safely: as they are, or a language model with a new head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unmask.core.errors import ModelError
from unmask.models.builtin import add_low_rank_change
from unmask.models.classifier import MAX_LENGTH, Classifier
from unmask.models.loading import Opening, device_for, quiet, readable_errors, resolve


def open_classifier(ref: str | Path, how: Opening, *, length: int = MAX_LENGTH) -> Classifier:
    """Open a sequence classifier of a folder or the hub; its head must be its own."""
    place, revision, _ = resolve_checkpoint(ref)
    model, loading, tokenizer = _loaded(place, revision, how, {})
    if loading["missing_keys"] or loading["mismatched_keys"]:
        lacking = ", ".join(sorted(map(str, [*loading["missing_keys"], *loading["mismatched_keys"]]))[:4])
        raise ModelError(
            f"{ref} has no weights for {lacking}: its answers would be random; give a model that was "
            "fine-tuned for classification"
        )
    return _judge(model, tokenizer, how, length)


def new_classifier(
    ref: str | Path, how: Opening, *, labels: Sequence[str], seed: int, length: int = MAX_LENGTH
) -> Classifier:
    """A language model with a new head, drawn by the seed: one number where there are no `labels`."""
    import torch

    place, revision, change = resolve_checkpoint(ref)
    named: dict[str, Any] = {"num_labels": max(1, len(labels))}
    named |= (
        {"id2label": dict(enumerate(labels)), "label2id": {name: at for at, name in enumerate(labels)}}
        if labels
        else {}
    )
    named["problem_type"] = "single_label_classification" if labels else "regression"
    torch.manual_seed(seed)
    model, loading, tokenizer = _loaded(place, revision, how, {**named, "ignore_mismatched_sizes": True})
    body = [key for key in loading["missing_keys"] if not _of_head(str(key))]
    if body:
        raise ModelError(
            f"{ref} has no weights for {', '.join(sorted(map(str, body))[:4])}: give a whole model"
        )
    if change is not None:
        _change(model, change)
    return _judge(model, tokenizer, how, length, new_weights=map(str, loading["missing_keys"]))


def is_classifier(ref: str | Path, how: Opening) -> bool:
    """Does the configuration say that the model has a classification head already?"""
    from transformers import AutoConfig

    place, revision, _ = resolve_checkpoint(ref)
    with quiet(), readable_errors(place, how):
        config = AutoConfig.from_pretrained(
            place,
            revision=revision or "main",
            local_files_only=_local(place, how),
            trust_remote_code=how.trust_remote_code,
        )
    return any(name.endswith("ForSequenceClassification") for name in config.architectures or [])


def resolve_checkpoint(ref: str | Path) -> tuple[str, str | None, Path | None]:
    """Where to load from, which revision, and what changes a sibling of the built-in model."""
    place, revision, _, ours = resolve(ref)
    return place, revision, None if ours is None else ours.change


def _loaded(place: str, revision: str | None, how: Opening, named: dict[str, Any]) -> tuple[Any, Any, Any]:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    source = {
        "revision": revision or "main",
        "local_files_only": _local(place, how),
        "trust_remote_code": how.trust_remote_code,
    }
    with quiet(), readable_errors(place, how):
        model, loading = AutoModelForSequenceClassification.from_pretrained(
            place,
            dtype=torch.float32,
            use_safetensors=None if how.allow_pickle else True,
            output_loading_info=True,
            **source,
            **named,
        )
        tokenizer = AutoTokenizer.from_pretrained(place, **source)
    if tokenizer.pad_token is None:  # a causal model pools its last token that is no padding
        tokenizer.pad_token = tokenizer.eos_token
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    return model, loading, tokenizer


def _judge(
    model: Any, tokenizer: Any, how: Opening, length: int, new_weights: Iterable[str] = ()
) -> Classifier:
    return Classifier(
        model.to(device_for(how.device)).eval(), tokenizer, length=length, new_weights=sorted(new_weights)
    )


def _local(place: str, how: Opening) -> bool:
    return how.offline or Path(place).is_dir()


def _change(model: Any, change: Path) -> None:
    """A sibling's changes of the body; those of the LM head have no place here."""
    from tempfile import TemporaryDirectory

    from safetensors.torch import load_file, save_file

    weights = dict(model.named_parameters())
    kept = {key: part for key, part in load_file(change).items() if key.rpartition(".")[0] in weights}
    with TemporaryDirectory() as folder:
        path = Path(folder) / change.name
        save_file(kept, path)
        add_low_rank_change(model, path)


def _of_head(key: str) -> bool:
    return any(part in key for part in ("pooler", "classifier", "score", "pre_classifier", "head."))
