"""A checkpoint: found by its reference, checked, and loaded by transformers with its tokenizer and adapter.

Only safetensors and no remote code unless allowed. The files are checked first (`models.folder`); whatever a library
still raises while loading is one `ModelError`. A checkpoint that lacks weights needed for scoring is refused, with
their names. An eraser saved beside the weights is attached to every kind of model.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask.core.errors import ModelError, quote
from unmask.core.options import Opening
from unmask.models.adapter import merge_adapter, read_config
from unmask.models.builtin import BuiltinModel, add_low_rank_update
from unmask.models.eraser import FILE as ERASER
from unmask.models.eraser import Eraser, attach, erased_fingerprint, read_eraser
from unmask.models.folder import ModelFolder, check_config, check_sizes, check_tokenizer, check_weights, read_object
from unmask.models.gguf import LINK
from unmask.models.kind import kind_of
from unmask.models.library_errors import opening, quiet_panics
from unmask.models.lm import ModelFacts, ModelKind, max_length
from unmask.models.quantised import QUANTISED, quantise
from unmask.models.reference import ModelReference, locate, resolve
from unmask.models.weights import fingerprint, refuse_bad_weights, refuse_not_finite

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", **dict.fromkeys(QUANTISED, "float32")}
SHORT_TEXT = "a b"
_ROLES, _READ = ("mask", "sep", "cls", "pad", "unk"), ("mask", "sep", "cls")  # of special tokens; those a model reads
_WORD = re.compile(r"(##|[▁Ġ ])?([^\W_]+|[!-~])")  # a word, a piece of one, or one symbol
AUTO_CLASSES: dict[ModelKind, str] = {
    "masked": "AutoModelForMaskedLM",
    "causal": "AutoModelForCausalLM",
    "classifier": "AutoModelForSequenceClassification",
    "encoder": "AutoModel",
}


@dataclass(frozen=True, slots=True)
class ModelCheckpoint:
    """A model reference after resolving it: where to load from, and its configuration."""

    reference: ModelReference
    how: Opening
    config: Any

    @property
    def name(self) -> str:
        """Its name in results."""
        return self.reference.name

    @property
    def folder(self) -> ModelFolder:
        """The files of the model, the base model where there is an adapter."""
        return self.reference.folder

    @property
    def source(self) -> dict[str, Any]:
        """The arguments of every `from_pretrained`."""
        return _source(self.folder, self.how)


def find_checkpoint(ref: str | Path | None, how: Opening) -> ModelCheckpoint:
    """Resolve a model reference and read its configuration."""
    from huggingface_hub import is_offline_mode

    reference = resolve(ref, offline=how.offline or is_offline_mode())
    with opening(reference.folder):
        reference = locate(reference)
        if reference.folder.gguf is None:
            check_config(reference.folder)
        if reference.adapter is not None:
            read_config(reference.adapter)
    with opening(reference.folder, "config.json" if reference.folder.gguf is None else "header"):
        config = auto_class("AutoConfig").from_pretrained(**_source(reference.folder, how))
        check_sizes(config.to_dict(), reference.folder.name)
    return ModelCheckpoint(reference, how, config)


def _source(folder: ModelFolder, how: Opening) -> dict[str, Any]:
    gguf = {} if folder.gguf is None else {"gguf_file": LINK}
    source = {"pretrained_model_name_or_path": folder.path, "trust_remote_code": how.trust_remote_code}
    return {**source, **folder.place, **gguf}


def load_checkpoint(checkpoint: ModelCheckpoint, kind: ModelKind | None = None) -> tuple[Any, Any, ModelFacts]:
    """The model on the CPU with its eraser attached, its tokenizer, and its metadata; or a ModelError.

    Without `kind` it is a language model, masked or causal.
    """
    import torch

    how, name, builtin = checkpoint.how, checkpoint.name, checkpoint.reference.builtin
    with opening(checkpoint.folder):
        kind = kind or kind_of(checkpoint.config, how.kind, name)
        checkpoint = _with_weights(checkpoint, kind)
        model, loading = _load_weights(checkpoint, kind)
        tokenizer = _load_tokenizer(checkpoint)
        refuse_bad_weights(model, loading, name, kind)
        if builtin is not None and builtin.update is not None:
            add_low_rank_update(model, builtin.update)
        _refuse_bad_tokenizer(tokenizer, model, kind, name)
        model, origin = _adapted(checkpoint, model, tokenizer, kind)
        if how.dtype in QUANTISED:
            origin = {**origin, **quantise(model, how.dtype, name)}
        eraser = _read_eraser(checkpoint)
        digest = fingerprint(model, tokenizer, kind)
        if eraser is not None:
            attach(model, eraser)
            digest = erased_fingerprint(digest, eraser)
    device = device_for(how.device)
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = how.tf32
        torch.backends.cudnn.allow_tf32 = how.tf32
    facts = model_facts(
        *(model, tokenizer, kind),
        id=name,
        revision=checkpoint.folder.revision,
        fingerprint=digest,
        dtype=f"{how.dtype}+tf32" if how.tf32 and device.type == "cuda" else how.dtype,
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        built_in=builtin is not None and checkpoint.reference.adapter is None,
        warnings=(*_warnings(how, builtin), *_origin_warnings(origin), *((eraser.description,) if eraser else ())),
        origin=origin,
    )
    return model, tokenizer, facts


def _adapted(checkpoint: ModelCheckpoint, model: Any, tokenizer: Any, kind: ModelKind) -> tuple[Any, dict[str, str]]:
    """The model with the factors of a GGUF file and the adapter applied; and what results record about both."""
    import torch

    gguf, adapter = checkpoint.folder.gguf, checkpoint.reference.adapter
    origin: dict[str, str] = {}
    if gguf is not None:
        gguf.scale_positions(model)
        origin = gguf.origin
    if adapter is None:
        return model, origin
    base = {"base": checkpoint.folder.name, "base fingerprint": fingerprint(model, tokenizer, kind)}
    ids = torch.tensor([tokenizer(SHORT_TEXT, verbose=False)["input_ids"] or [0]])
    with opening(adapter):
        model, facts = merge_adapter(model, adapter, ids, allow_pickle=checkpoint.how.allow_pickle)
        refuse_not_finite(model, checkpoint.name)
    return model.to(getattr(torch, DTYPES[checkpoint.how.dtype])), {**origin, **base, **facts}


def model_facts(model: Any, tokenizer: Any, kind: ModelKind, **known: Any) -> ModelFacts:
    """What results record about a model: what can be read from it, and what is known otherwise."""
    if kind != "causal":
        begin_rule = "not a causal model"
    elif tokenizer.bos_token is None:
        begin_rule = "no begin-of-text token: the first token is context only"
    else:
        begin_rule = f"every sentence is preceded by {tokenizer.bos_token}"
    return ModelFacts(
        kind=kind,
        architecture=type(model).__name__,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        max_length=max_length(model, tokenizer),
        begin_rule=begin_rule,
        **known,
    )


def _with_weights(checkpoint: ModelCheckpoint, kind: ModelKind) -> ModelCheckpoint:
    """The checkpoint, its weights files found and checked: they are whole, and enough for its configuration."""
    import torch

    how, folder = checkpoint.how, checkpoint.folder
    size = 0 if folder.gguf is not None else check_weights(folder, allow_pickle=how.allow_pickle)
    if size is None and (converted := folder.find_conversion()) is not None:
        folder, size = converted, check_weights(converted, allow_pickle=False)
    if size is None:
        raise ModelError(
            f"cannot open {folder.name}: it has no model.safetensors; only safetensors are loaded by default, "
            "set allow_pickle (--allow-pickle) for pickled weights you trust"
        )
    with opening(folder, "config.json"), torch.random.fork_rng(devices=[]), torch.device("meta"):
        model = auto_class(AUTO_CLASSES[kind]).from_config(
            copy.deepcopy(checkpoint.config), trust_remote_code=how.trust_remote_code
        )
    needed = sum(parameter.numel() for parameter in model.parameters())
    if folder.gguf is not None:
        folder.gguf.check_loaded(checkpoint.config, needed)
    elif needed > 4 * size + 10**6:  # no format holds more than four weights in a byte
        raise ModelError(
            f"cannot open {folder.name}: its config.json describes {needed:,} weights, its weights files have "
            f"{size:,} bytes; they belong to different models"
        )
    return replace(checkpoint, reference=replace(checkpoint.reference, folder=folder))


def _load_weights(checkpoint: ModelCheckpoint, kind: ModelKind) -> tuple[Any, dict[str, Any]]:
    import torch

    auto = auto_class(AUTO_CLASSES[kind])
    options = {**checkpoint.source, **_weights_options(checkpoint.how)}
    if checkpoint.reference.adapter is not None:  # it is merged in fp32
        options["dtype"] = torch.float32
    if checkpoint.folder.gguf is not None:  # reading its header again would take seconds
        options["config"] = checkpoint.config
    model, loading = auto.from_pretrained(**options)
    if any(key.startswith("lm_predictions.lm_head") for key in loading["unexpected_keys"]):
        # DeBERTa as first published: its head has another name, which the class loads with `legacy=False`
        model, loading = auto.from_pretrained(**options, legacy=False)
    return model, loading


def _load_tokenizer(checkpoint: ModelCheckpoint) -> Any:
    check_tokenizer(checkpoint.folder)
    with opening(checkpoint.folder, "tokenizer"), quiet_panics():
        tokenizer = auto_class("AutoTokenizer").from_pretrained(**checkpoint.source)
        if tokenizer.is_fast:  # padding and truncation may be stored in its file
            tokenizer.backend_tokenizer.no_padding()
            tokenizer.backend_tokenizer.no_truncation()
        tokenizer(SHORT_TEXT, verbose=False)
    _refuse_words_as_special(tokenizer, checkpoint.folder)
    return tokenizer


def _weights_options(how: Opening) -> dict[str, Any]:
    import torch

    return {
        "dtype": getattr(torch, DTYPES[how.dtype]),
        "use_safetensors": None if how.allow_pickle else True,
        "ignore_mismatched_sizes": True,  # `refuse_bad_weights` names them
        "output_loading_info": True,
    }


def _read_eraser(checkpoint: ModelCheckpoint) -> Eraser | None:
    """The eraser saved in the folder or hub repository; None if there is none."""
    path = checkpoint.folder.find(ERASER)
    return None if path is None else read_eraser(path)


def load_next_sentence(checkpoint: ModelCheckpoint, model: Any) -> Any:
    """The next-sentence head, sharing the model's body; None if the checkpoint has none."""
    from transformers import AutoModelForNextSentencePrediction

    if type(checkpoint.config) not in AutoModelForNextSentencePrediction._model_mapping:
        return None
    with opening(checkpoint.folder):
        head, loading = AutoModelForNextSentencePrediction.from_pretrained(
            **checkpoint.source, **_weights_options(checkpoint.how)
        )
    if loading["missing_keys"] or loading["mismatched_keys"]:
        return None
    refuse_not_finite(head, checkpoint.name)
    head.base_model.embeddings = model.base_model.embeddings
    head.base_model.encoder = model.base_model.encoder
    return head


def _refuse_bad_tokenizer(tokenizer: Any, model: Any, kind: ModelKind, name: str) -> None:
    """Raise ModelError when the tokenizer has no vocabulary or mask token, or belongs to another model."""
    if kind == "masked" and tokenizer.mask_token_id in (None, tokenizer.unk_token_id):
        raise ModelError(
            f"{name} has a tokenizer without a mask token: no token can be masked; "
            "use the tokenizer the model was trained with"
        )
    ids = set(tokenizer.get_vocab().values())
    if ids <= {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}:
        raise ModelError(
            f"{name} has no tokenizer, or one without a vocabulary ({len(ids)} special tokens): "
            "copy the tokenizer's files into its folder, or name its tokenizer_class in tokenizer_config.json "
            '(such as "BertTokenizer" for a vocab.txt of word pieces)'
        )
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows or max(ids) >= rows:
        raise ModelError(
            f"{name} has {rows} embeddings but its tokenizer has {len(tokenizer)} tokens, with ids up to {max(ids)}: "
            "it belongs to another model"
        )


def _refuse_words_as_special(tokenizer: Any, folder: ModelFolder) -> None:
    """Raise ModelError when a special token is a word, which would be cut out of sentences, or that of another role.

    A token named as its role in capitals (`PAD`) is no word, nor, but for the mask, one that tokenizer.json lists as
    special.
    """
    for name, token in tokenizer.special_tokens_map.items():
        role = name.removesuffix("_token")
        others = [other for other in _ROLES if other in token.lower() and other != role]
        if role in _READ and others and role not in token.lower():
            raise ModelError(
                f"{folder.name} has {quote(token)} as its {role} token, expected one of its own, such as "
                f"[{role.upper()}]: sentences would be read wrongly; correct {name} in tokenizer_config.json"
            )
        if not _WORD.fullmatch(token) or (role in token.lower() and token.isupper()):
            continue
        path = folder.find("tokenizer.json")
        listed = [] if path is None else read_object(path).get("added_tokens", [])
        if role == "mask" or not any(each["content"] == token and each["special"] for each in listed):
            raise ModelError(
                f"{folder.name} has {quote(token)} as its {role} token, expected one that is no word, such as "
                f"[{role.upper()}]: sentences with it would be read wrongly; correct {name} in tokenizer_config.json"
            )


def device_for(name: str | None) -> Any:
    """The named device; None: a GPU if there is one, chosen by LOCAL_RANK."""
    import torch

    local = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    try:
        device = torch.device(name or (local if torch.cuda.is_available() else "cpu"))
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"no device {name!r} here ({reason}): give cpu, cuda or cuda:N") from error
    return device


def _warnings(how: Opening, builtin: BuiltinModel | None) -> tuple[str, ...]:
    notes = [builtin.warning] if builtin is not None and builtin.warning else []
    if how.allow_pickle:
        notes.append("pickled weights were allowed: loading them can run arbitrary code")
    if how.trust_remote_code:
        notes.append("remote code was allowed: the model's repository could run its own Python")
    if how.dtype in QUANTISED:
        notes.append(f"weights of linear layers quantised to {how.dtype}: another model than the original")
    elif how.dtype != "fp32" or how.tf32:
        notes.append(
            f"computed in {how.dtype}{' with TF32' if how.tf32 else ''}, not fp32: near ties may be decided differently"
        )
    return tuple(notes)


def _origin_warnings(origin: Mapping[str, str]) -> tuple[str, ...]:
    quantisation = origin.get("quantisation", "")
    return (f"weights were dequantised from GGUF: {quantisation}",) if quantisation else ()


def auto_class(name: str) -> Any:
    """A class of transformers, imported when it is needed."""
    import transformers

    return getattr(transformers, name)
