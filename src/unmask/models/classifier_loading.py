"""Load sequence classifiers safely: as saved, or a language model with a new head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unmask.core.errors import ModelError
from unmask.models.builtin import add_low_rank_update
from unmask.models.classifier import MAX_LENGTH, Classifier
from unmask.models.loading import Opening, device_for, quiet, readable_errors, resolve


def open_classifier(ref: str | Path, how: Opening, *, length: int = MAX_LENGTH) -> Classifier:
    """Open a sequence classifier from a folder or the hub; the checkpoint must hold its head."""
    source, revision, _ = resolve_checkpoint(ref)
    model, loading, tokenizer = _load(source, revision, how, {})
    if loading["missing_keys"] or loading["mismatched_keys"]:
        missing = ", ".join(sorted(map(str, [*loading["missing_keys"], *loading["mismatched_keys"]]))[:4])
        raise ModelError(
            f"{ref} has no weights for {missing}: its predictions would be random; give a model that was "
            "fine-tuned for classification"
        )
    return _classifier(model, tokenizer, how, length)


def new_classifier(
    ref: str | Path, how: Opening, *, labels: Sequence[str], seed: int, length: int = MAX_LENGTH
) -> Classifier:
    """A language model with a new head initialised from `seed`; without `labels` the head is a regression."""
    import torch

    source, revision, update = resolve_checkpoint(ref)
    config: dict[str, Any] = {"num_labels": max(1, len(labels))}
    config |= (
        {"id2label": dict(enumerate(labels)), "label2id": {name: index for index, name in enumerate(labels)}}
        if labels
        else {}
    )
    config["problem_type"] = "single_label_classification" if labels else "regression"
    torch.manual_seed(seed)
    model, loading, tokenizer = _load(source, revision, how, {**config, "ignore_mismatched_sizes": True})
    body = [key for key in loading["missing_keys"] if not _belongs_to_head(str(key))]
    if body:
        raise ModelError(
            f"{ref} has no weights for {', '.join(sorted(map(str, body))[:4])}: give a complete checkpoint"
        )
    if update is not None:
        _update_body(model, update)
    return _classifier(model, tokenizer, how, length, new_weights=map(str, loading["missing_keys"]))


def is_classifier(ref: str | Path, how: Opening) -> bool:
    """Whether the configuration names a sequence-classification architecture."""
    from transformers import AutoConfig

    source, revision, _ = resolve_checkpoint(ref)
    with quiet(), readable_errors(source, how):
        config = AutoConfig.from_pretrained(
            source,
            revision=revision or "main",
            local_files_only=_is_local(source, how),
            trust_remote_code=how.trust_remote_code,
        )
    return any(name.endswith("ForSequenceClassification") for name in config.architectures or [])


def resolve_checkpoint(ref: str | Path) -> tuple[str, str | None, Path | None]:
    """Where to load from, which revision, and the low-rank update of a built-in sibling."""
    source, revision, _, builtin = resolve(ref)
    return source, revision, None if builtin is None else builtin.update


def _load(source: str, revision: str | None, how: Opening, config: dict[str, Any]) -> tuple[Any, Any, Any]:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    options = {
        "revision": revision or "main",
        "local_files_only": _is_local(source, how),
        "trust_remote_code": how.trust_remote_code,
    }
    with quiet(), readable_errors(source, how):
        model, loading = AutoModelForSequenceClassification.from_pretrained(
            source,
            dtype=torch.float32,
            use_safetensors=None if how.allow_pickle else True,
            output_loading_info=True,
            **options,
            **config,
        )
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
    if tokenizer.pad_token is None:  # a causal model pools the last token that is not padding
        tokenizer.pad_token = tokenizer.eos_token
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    return model, loading, tokenizer


def _classifier(
    model: Any, tokenizer: Any, how: Opening, length: int, new_weights: Iterable[str] = ()
) -> Classifier:
    return Classifier(
        model.to(device_for(how.device)).eval(), tokenizer, length=length, new_weights=sorted(new_weights)
    )


def _is_local(source: str, how: Opening) -> bool:
    return how.offline or Path(source).is_dir()


def _update_body(model: Any, update: Path) -> None:
    """Apply a sibling's update to the body; its changes of the LM head do not apply here."""
    from tempfile import TemporaryDirectory

    from safetensors.torch import load_file, save_file

    weights = dict(model.named_parameters())
    body = {key: tensor for key, tensor in load_file(update).items() if key.rpartition(".")[0] in weights}
    with TemporaryDirectory() as folder:
        path = Path(folder) / update.name
        save_file(body, path)
        add_low_rank_update(model, path)


def _belongs_to_head(key: str) -> bool:
    return any(part in key for part in ("pooler", "classifier", "score", "pre_classifier", "head."))
