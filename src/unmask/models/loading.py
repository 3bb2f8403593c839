"""Open any language model, encoder or endpoint: one way in for all.

    reference ──► loader ──► checkpoint ──► model, tried on a short text

bert-base-uncased@main            a hub repository, at a revision
models/mine                       a folder; one that holds an adapter opens the base model that it names
models/mine.Q4_K_M.gguf           a GGUF file; `owner/name/file.gguf` is one of the hub
builtin+models/adapter            a base model and an adapter, either by folder or by hub name
https://host/v1                   an endpoint, of which only log-probabilities of texts can be read

The first loader that knows a reference opens it; another package can bring one (entry point `unmask.loaders`). The kind
of model comes from its configuration.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

from unmask.core import environment
from unmask.core.errors import ModelError, UnknownName, quote
from unmask.core.options import Opening, Serving
from unmask.core.registry import Registry
from unmask.core.types import Kind
from unmask.models.builtin import BUILT_IN, builtin_models, load_builtin
from unmask.models.checkpoint import (
    LM_ENDINGS,
    ModelCheckpoint,
    device_for,
    has_lm_head,
    is_bidirectional,
    load_folder,
    refuse_encoder_decoder,
    try_out,
)
from unmask.models.lm import QUANTISED, Lm, ModelFacts, ModelKind, TextModel
from unmask.models.network import Network
from unmask.models.weights import namespace_of

Model = str | Path | TextModel  # a reference, or a model that was opened
GGUF = ".gguf"
SCHEMES = ("http://", "https://")
_NO_HEAD = "opened without a head: only its hidden states are read"


@dataclass(frozen=True, slots=True)
class ModelLoader:
    """One form of model reference: `load` opens a model whose weights are read here, `connect` one that is served."""

    name: str
    matches: Callable[[str, Opening], bool]
    load: Callable[[str, Opening], ModelCheckpoint] | None = None
    connect: Callable[[str, Opening, Serving], TextModel] | None = None
    order: int = 5  # those of a lower order are asked first


def is_path(reference: str) -> bool:
    """Whether a reference can only be meant as a path."""
    return reference.startswith((".", "/", "~"))


def _is_adapted(reference: str, _: Opening) -> bool:
    base, plus, adapter = reference.rpartition("+")
    is_base = base in builtin_models() or not reference.startswith(f"{BUILT_IN}-")
    return bool(plus and base and adapter) and is_base and not os.path.exists(reference)  # noqa: PTH110 - it may be long


def _is_gguf(reference: str, _: Opening) -> bool:
    of_hub = reference.partition("@")[0]
    is_file = os.path.isfile(reference)  # noqa: PTH113 - Path raises for a name that is too long
    return of_hub.endswith(GGUF) and (is_file or (of_hub.count("/") >= 2 and not is_path(of_hub)))


def _is_of_hub(reference: str, _: Opening) -> bool:
    is_name = not reference.startswith(f"{BUILT_IN}-") and not is_path(reference)
    is_file = os.path.isfile(reference)  # noqa: PTH113
    return is_name and reference.partition("@")[0].count("/") <= 1 and not is_file


def _load_quantised(reference: str, how: Opening) -> ModelCheckpoint:
    from unmask.models.precision import load_quantised

    return load_quantised(reference, how)


def _load_adapted(reference: str, how: Opening) -> ModelCheckpoint:
    from unmask.models.adapter import load_adapted

    return load_adapted(reference, how)


def _load_gguf(reference: str, how: Opening) -> ModelCheckpoint:
    from unmask.models.gguf import load_gguf

    return load_gguf(reference, how)


def _connect(reference: str, how: Opening, serving: Serving) -> TextModel:
    from unmask.models.endpoint import open_endpoint

    return open_endpoint(reference, how, serving)


ENDPOINT = ModelLoader(
    "endpoint", lambda reference, _: reference.lower().startswith(SCHEMES), connect=_connect, order=0
)
QUANTISED_MODEL = ModelLoader("quantised", lambda _, how: how.dtype in QUANTISED, _load_quantised, order=1)
BUILTIN = ModelLoader("builtin", lambda reference, _: reference in builtin_models(), load_builtin, order=2)
FOLDER = ModelLoader("folder", lambda reference, _: os.path.isdir(reference), load_folder, order=3)  # noqa: PTH112
ADAPTED = ModelLoader("adapter", _is_adapted, _load_adapted, order=4)
GGUF_FILE = ModelLoader("gguf", _is_gguf, _load_gguf)
HUB = ModelLoader("hub", _is_of_hub, load_folder, order=9)
LOADERS = Registry("loader", ModelLoader, home=__name__, group="unmask.loaders", order=lambda loader: loader.order)


def find_loader(reference: str, how: Opening) -> ModelLoader:
    """The loader of a reference; ModelError with what was expected if there is none."""
    loaders = sorted(LOADERS.values(), key=lambda loader: loader.order)
    loader = next((loader for loader in loaders if loader.matches(reference, how)), None)
    if loader is not None:
        return loader
    if os.path.isfile(reference):  # noqa: PTH113
        raise ModelError(f"{quote(reference)} is a file: give a folder with config.json, a {GGUF} file, or a hub name")
    if reference.startswith(f"{BUILT_IN}-"):
        raise UnknownName("built-in model", reference, builtin_models())
    is_gguf = reference.endswith(GGUF)
    what, form = ("file", f"a {GGUF} file") if is_gguf else ("folder", "a folder with config.json")
    raise ModelError(f"no {what} {quote(reference)}: give {form}, a hub name, or nothing")


def find_checkpoint(ref: str | Path | None, how: Opening) -> ModelCheckpoint:
    """The checkpoint that a reference names, its configuration read; ModelError for an endpoint, which has none."""
    reference = _reference(ref)
    loader = find_loader(reference, how)
    if loader.load is None:
        raise _no_weights(reference)
    return loader.load(reference, how)


def _no_weights(name: str) -> ModelError:
    return ModelError(
        f"{quote(name)} is an endpoint, which gives log-probabilities of texts only: `unmask audit`, `prompts` and "
        "`task winobias` can use it; give a folder or a hub name here"
    )


def _reference(ref: str | Path | None) -> str:
    if isinstance(ref, Path) and not ref.is_absolute() and not is_path(str(ref)):
        return f"./{ref}"  # a path is never the name of a repository
    return BUILT_IN if ref is None else str(ref)


def list_models(models: Model | Sequence[Model]) -> list[Model]:
    """One model or several as a list."""
    return [models] if isinstance(models, str | Path | TextModel) else list(models)


@overload
def open_lm(ref: Model | None = None, how: Opening | None = None) -> Lm: ...


@overload
def open_lm(ref: Model | None, how: Opening | None, serving: Serving) -> TextModel: ...


def open_lm(ref: Model | None = None, how: Opening | None = None, serving: Serving | None = None) -> TextModel:
    """Load a hub model (`name@revision`), a folder, or a built-in model (None: the default one).

    With `serving` also the URL of an endpoint, of which only log-probabilities of texts can be read. A model that was
    opened is returned as it is.
    """
    how = how or Opening()
    if isinstance(ref, TextModel):
        if serving is None and not isinstance(ref, Lm):
            raise _no_weights(ref.facts.id)
        return ref
    if serving is not None:
        reference = _reference(ref)
        loader = find_loader(reference, how)
        if loader.connect is not None:
            return loader.connect(reference, how, serving)
        if serving.served_model is not None:
            raise ModelError(f"served_model {serving.served_model} names a model of an endpoint: give its URL")
    return _open(find_checkpoint(ref, how))


def open_encoder(ref: str | Path | None = None, how: Opening | None = None) -> Lm:
    """Load any model for its hidden states: a language model, or without its head what has no LM head."""
    checkpoint = find_checkpoint(ref, how or Opening())
    refuse_encoder_decoder(checkpoint.config, checkpoint.name)
    return _open(checkpoint, None if has_lm_head(checkpoint.config) else "encoder")


def _open(checkpoint: ModelCheckpoint, kind: ModelKind | None = None) -> Lm:
    """The loaded model, after a forward pass; without `kind` a language model."""
    model, tokenizer, facts = checkpoint.load(kind)
    if kind == "encoder":
        as_lm = checkpoint.how.kind or ("masked" if is_bidirectional(checkpoint.config) else "causal")
        facts = replace(facts, kind=as_lm, warnings=(*facts.warnings, _NO_HEAD))
    next_sentence = checkpoint.load_next_sentence(model) if facts.kind == "masked" and kind is None else None
    device = device_for(checkpoint.how.device)
    with checkpoint.folder.loading():
        model.to(device).eval()
        if next_sentence is not None:
            next_sentence.to(device).eval()
        try_out(model, tokenizer)
        network = Network(model, next_sentence=next_sentence)
    facts = replace(facts, shortcuts=network.shortcut_names)
    if environment.fast() and network.shortcuts is None and kind is None:
        warnings.warn(
            f"{facts.id} is scored by its whole network at every position, because its head cannot be run apart: "
            "results are the same, but slower",
            stacklevel=2,
        )
    return Lm.of(tokenizer, network, facts, namespace_of(facts.fingerprint, facts.dtype))


def wrap_lm(model: Any, tokenizer: Any) -> Lm:
    """Wrap a language model in memory for scoring; nothing is cached, because its weights may change."""
    name = type(model).__name__
    kind: Kind = "masked" if name.endswith(LM_ENDINGS["masked"]) else "causal"
    if not name.endswith(LM_ENDINGS[kind]):
        raise ModelError(f"the model is a {name}, not a language model: choose a task for classifiers")
    facts = ModelFacts.of(
        model,
        tokenizer,
        kind,
        id="in training",
        revision=None,
        fingerprint="",
        dtype=str(model.dtype).removeprefix("torch."),
        device=str(model.device),
        built_in=False,
    )
    return Lm.of(tokenizer, Network(model), facts, "")
