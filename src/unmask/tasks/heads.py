"""Sequence classifiers opened, safely: as they are, or a language model with a new head."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unmask.errors import ModelError
from unmask.models.opening import Opening
from unmask.models.shipped import BUILT_IN, changed, shipped
from unmask.tasks.judge import Judge
from unmask.tasks.types import LENGTH


def open_judge(ref: str | Path, how: Opening, *, length: int = LENGTH) -> Judge:
    """Open a sequence classifier of a folder or the hub; its head must be its own."""
    place, revision, _ = located(ref)
    model, loading, tokenizer = _loaded(place, revision, how, {})
    if loading["missing_keys"] or loading["mismatched_keys"]:
        lacking = ", ".join(sorted(map(str, [*loading["missing_keys"], *loading["mismatched_keys"]]))[:4])
        raise ModelError(
            f"{ref} has no weights for {lacking}: its answers would be random; give a model that was "
            "fine-tuned for classification"
        )
    return _judge(model, tokenizer, how, length)


def new_judge(
    ref: str | Path, how: Opening, *, labels: Sequence[str], seed: int, length: int = LENGTH
) -> Judge:
    """A language model with a new head, drawn by the seed: one number where there are no `labels`."""
    import torch

    place, revision, change = located(ref)
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
    return _judge(model, tokenizer, how, length)


def is_classifier(ref: str | Path, how: Opening) -> bool:
    """Does the configuration say that the model has a classification head already?"""
    from transformers import AutoConfig

    place, revision, _ = located(ref)
    with quiet(), _said(place):
        config = AutoConfig.from_pretrained(
            place,
            revision=revision or "main",
            local_files_only=_local(place, how),
            trust_remote_code=how.trust_remote_code,
        )
    return any(name.endswith("ForSequenceClassification") for name in config.architectures or [])


def located(ref: str | Path) -> tuple[str, str | None, Path | None]:
    """Where to load from, which revision, and what changes a sibling of the built-in model."""
    text, ours = str(ref), shipped()
    if text in ours:
        return str(ours[text].folder), None, ours[text].change
    if Path(text).is_dir():
        return text, None, None
    name, _, revision = text.partition("@")
    return name or BUILT_IN, revision or None, None


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' loading report and bars: what matters of it is checked and said by us."""
    from transformers.utils import logging as theirs

    level, bars = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    theirs.set_verbosity(logging.CRITICAL)
    theirs.disable_progress_bar()
    try:
        yield
    finally:
        theirs.set_verbosity(level)
        if bars:
            theirs.enable_progress_bar()


@contextmanager
def _said(place: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ModelError(
            f"cannot open {place}: {reason} (check the name or folder; only safetensors are loaded unless "
            "--allow-pickle is given)"
        ) from error


def _loaded(place: str, revision: str | None, how: Opening, named: dict[str, Any]) -> tuple[Any, Any, Any]:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    source = {
        "revision": revision or "main",
        "local_files_only": _local(place, how),
        "trust_remote_code": how.trust_remote_code,
    }
    with quiet(), _said(place):
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


def _judge(model: Any, tokenizer: Any, how: Opening, length: int) -> Judge:
    import torch

    device = torch.device(how.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return Judge(model.to(device).eval(), tokenizer, length=length)


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
        changed(model, path)


def _of_head(key: str) -> bool:
    return any(part in key for part in ("pooler", "classifier", "score", "pre_classifier", "head."))
