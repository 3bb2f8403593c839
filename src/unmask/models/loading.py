"""Open any Hugging Face language model, sequence classifier or encoder, safely: one loader for all.

Only safetensors and no remote code unless allowed. The files are checked first (`models.folder`); whatever a library
still raises while loading is one `ModelError`. The kind of model comes from its configuration. A checkpoint that lacks
weights needed for scoring is refused, with their names. An eraser saved beside the weights is attached to every kind
of model, also to the classifier made from a language model.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask.core.errors import ModelError
from unmask.core.options import Opening, Serving
from unmask.core.types import Kind
from unmask.models.adapter import merge_adapter, read_config
from unmask.models.builtin import BuiltinModel, add_low_rank_update
from unmask.models.classifier import MAX_LENGTH, Classifier
from unmask.models.endpoint.address import EXAMPLE, is_url
from unmask.models.eraser import FILE as ERASER
from unmask.models.eraser import Eraser, attach, attached_eraser, erased_fingerprint, read_eraser
from unmask.models.fast import is_enabled
from unmask.models.folder import ModelFolder, check_config, check_sizes, check_tokenizer, check_weights
from unmask.models.gguf import LINK
from unmask.models.library_errors import opening, quiet_panics
from unmask.models.lm import Lm, ModelFacts, ModelKind, max_length
from unmask.models.network import Network
from unmask.models.quantised import QUANTISED, quantise
from unmask.models.reference import ModelReference, locate, resolve
from unmask.models.weights import fingerprint, namespace_of, refuse_bad_weights, refuse_not_finite

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", **dict.fromkeys(QUANTISED, "float32")}
_NOT_LM = ("Classification", "QuestionAnswering", "MultipleChoice")
_LM_ENDINGS = {"masked": ("MaskedLM", "PreTraining"), "causal": ("CausalLM", "LMHeadModel")}
_SHORT_TEXT = "a b"
_AUTO_CLASS: dict[ModelKind, str] = {
    "masked": "AutoModelForMaskedLM",
    "causal": "AutoModelForCausalLM",
    "classifier": "AutoModelForSequenceClassification",
    "encoder": "AutoModel",
}
_NO_HEAD = "opened without a head: only its hidden states are read"


@dataclass(frozen=True, slots=True)
class _Checkpoint:
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


def open_lm(ref: str | Path | None = None, how: Opening | None = None, serving: Serving | None = None) -> Lm:
    """Load a hub model (`name@revision`), a folder, or a built-in model (None: the default one).

    With `serving` also the URL of an endpoint, of which only log-probabilities of texts can be read.
    """
    if serving is not None and isinstance(ref, str) and is_url(ref):
        from unmask.models.endpoint.loading import open_endpoint

        return open_endpoint(ref, how or Opening(), serving)
    if serving is not None and serving.served_model is not None:
        raise ModelError(f"--model {serving.served_model} names a model of an endpoint: give its URL, like {EXAMPLE}")
    return _open(_find_checkpoint(ref, how or Opening()))


def open_encoder(ref: str | Path | None = None, how: Opening | None = None) -> Lm:
    """Load any model for its hidden states: a language model, or without its head what has no LM head."""
    checkpoint = _find_checkpoint(ref, how or Opening())
    _refuse_two_stacks(checkpoint.config, checkpoint.name)
    return _open(checkpoint, None if _has_lm_head(checkpoint.config) else "encoder")


def _open(checkpoint: _Checkpoint, kind: ModelKind | None = None) -> Lm:
    """The loaded model, after a forward pass; without `kind` a language model."""
    model, tokenizer, facts = _load(checkpoint, kind)
    if kind == "encoder":
        as_lm = checkpoint.how.kind or ("masked" if _is_bidirectional(checkpoint.config) else "causal")
        facts = replace(facts, kind=as_lm, warnings=(*facts.warnings, _NO_HEAD))
    next_sentence = _next_sentence(checkpoint, model) if facts.kind == "masked" and kind is None else None
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
    kind: Kind = "masked" if name.endswith(_LM_ENDINGS["masked"]) else "causal"
    if not name.endswith(_LM_ENDINGS[kind]):
        raise ModelError(f"the model is a {name}, not a language model: choose a task for classifiers")
    facts = _facts(
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
    checkpoint = _find_checkpoint(ref, replace(how, dtype="fp32"))
    model, tokenizer, facts = _load(checkpoint, "classifier")
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

    checkpoint = _find_checkpoint(ref, replace(how, dtype="fp32"))
    lm, tokenizer, facts = _load(checkpoint)
    config = copy.deepcopy(lm.config)
    config.num_labels = max(1, len(labels))
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {name: index for index, name in enumerate(labels)}
    config.problem_type = "single_label_classification" if labels else "regression"
    auto = _auto(_AUTO_CLASS["classifier"])
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
    architectures = _find_checkpoint(ref, how).config.architectures or []
    return any(name.endswith("ForSequenceClassification") for name in architectures)


def _find_checkpoint(ref: str | Path | None, how: Opening) -> _Checkpoint:
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
        config = _auto("AutoConfig").from_pretrained(**_source(reference.folder, how))
        check_sizes(config.to_dict(), reference.folder.name)
    return _Checkpoint(reference, how, config)


def _source(folder: ModelFolder, how: Opening) -> dict[str, Any]:
    gguf = {} if folder.gguf is None else {"gguf_file": LINK}
    source = {"pretrained_model_name_or_path": folder.path, "trust_remote_code": how.trust_remote_code}
    return {**source, **folder.place, **gguf}


def _load(checkpoint: _Checkpoint, kind: ModelKind | None = None) -> tuple[Any, Any, ModelFacts]:
    """The model on the CPU with its eraser attached, its tokenizer, and its metadata; or a ModelError.

    Without `kind` it is a language model, masked or causal.
    """
    import torch

    how, name, builtin = checkpoint.how, checkpoint.name, checkpoint.reference.builtin
    with opening(checkpoint.folder):
        kind = kind or _kind(checkpoint.config, how.kind, name)
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
    facts = _facts(
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


def _adapted(checkpoint: _Checkpoint, model: Any, tokenizer: Any, kind: ModelKind) -> tuple[Any, dict[str, str]]:
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
    ids = torch.tensor([tokenizer(_SHORT_TEXT, verbose=False)["input_ids"] or [0]])
    with opening(adapter):
        model, facts = merge_adapter(model, adapter, ids, allow_pickle=checkpoint.how.allow_pickle)
        refuse_not_finite(model, checkpoint.name)
    return model.to(getattr(torch, DTYPES[checkpoint.how.dtype])), {**origin, **base, **facts}


def _facts(model: Any, tokenizer: Any, kind: ModelKind, **known: Any) -> ModelFacts:
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


def _kind(config: Any, kind: Kind | None, name: str) -> Kind:
    """Masked or causal: from the architectures in the configuration, else from its model type."""
    _refuse_two_stacks(config, name)
    if kind is not None:
        if kind == "causal" and _is_bidirectional(config):
            raise ModelError(f"{name} is bidirectional: it cannot be scored as a causal model")
        return kind
    architectures = config.architectures or []
    if any(architecture.endswith("MaskedLM") for architecture in architectures):
        return "masked"
    if any(architecture.endswith(("CausalLM", "LMHeadModel")) for architecture in architectures):
        return "causal"
    other = [name for name in architectures if any(word in name for word in _NOT_LM)]
    if other:
        raise ModelError(
            f"{name} is a {other[0]}: it was trained for another task and has no LM head; "
            "give the language model it was fine-tuned from (or set kind to load it anyway)"
        )
    return "masked" if _is_bidirectional(config) else "causal"


def _refuse_two_stacks(config: Any, name: str) -> None:
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(
            f"{name} is an encoder–decoder ({config.model_type}): neither masked nor causal scores are defined for "
            "it; give a masked or a causal language model"
        )


def _has_lm_head(config: Any) -> bool:
    """Whether the configuration names a language model, or nothing."""
    endings = (*_LM_ENDINGS["masked"], *_LM_ENDINGS["causal"])
    return not config.architectures or any(name.endswith(endings) for name in config.architectures)


def _is_bidirectional(config: Any) -> bool:
    """Whether this model type has a masked-LM class and is not configured as a decoder."""
    from transformers import AutoModelForMaskedLM

    return type(config) in AutoModelForMaskedLM._model_mapping and not getattr(config, "is_decoder", False)


def _with_weights(checkpoint: _Checkpoint, kind: ModelKind) -> _Checkpoint:
    """The checkpoint, its weights files found and checked: they are whole, and enough for its configuration."""
    import torch

    how, folder = checkpoint.how, checkpoint.folder
    size = 0 if folder.gguf is not None else check_weights(folder, allow_pickle=how.allow_pickle)
    if size is None and (converted := folder.find_conversion()) is not None:
        folder, size = converted, check_weights(converted, allow_pickle=False)
    if size is None:
        raise ModelError(
            f"cannot open {folder.name}: it has no model.safetensors; only safetensors are loaded by default, "
            "set allow_pickle for pickled weights you trust"
        )
    with opening(folder, "config.json"), torch.random.fork_rng(devices=[]), torch.device("meta"):
        model = _auto(_AUTO_CLASS[kind]).from_config(
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


def _load_weights(checkpoint: _Checkpoint, kind: ModelKind) -> tuple[Any, dict[str, Any]]:
    import torch

    auto = _auto(_AUTO_CLASS[kind])
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


def _load_tokenizer(checkpoint: _Checkpoint) -> Any:
    check_tokenizer(checkpoint.folder)
    with opening(checkpoint.folder, "tokenizer"), quiet_panics():
        tokenizer = _auto("AutoTokenizer").from_pretrained(**checkpoint.source)
        if tokenizer.is_fast:  # padding and truncation may be stored in its file
            tokenizer.backend_tokenizer.no_padding()
            tokenizer.backend_tokenizer.no_truncation()
        tokenizer(_SHORT_TEXT, verbose=False)
    return tokenizer


def _weights_options(how: Opening) -> dict[str, Any]:
    import torch

    return {
        "dtype": getattr(torch, DTYPES[how.dtype]),
        "use_safetensors": None if how.allow_pickle else True,
        "ignore_mismatched_sizes": True,  # `refuse_bad_weights` names them
        "output_loading_info": True,
    }


def _read_eraser(checkpoint: _Checkpoint) -> Eraser | None:
    """The eraser saved in the folder or hub repository; None if there is none."""
    path = checkpoint.folder.find(ERASER)
    return None if path is None else read_eraser(path)


def _next_sentence(checkpoint: _Checkpoint, model: Any) -> Any:
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
            "copy the tokenizer's files into its folder, or name its tokenizer_class in tokenizer_config.json"
        )
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows or max(ids) >= rows:
        raise ModelError(
            f"{name} has {rows} embeddings but its tokenizer has {len(tokenizer)} tokens, with ids up to {max(ids)}: "
            "it belongs to another model"
        )


def _try_out(model: Any, tokenizer: Any) -> None:
    """Run one short text: a configuration that the model cannot compute with fails here and not later."""
    import torch

    ids = tokenizer(_SHORT_TEXT, verbose=False)["input_ids"] or [0]
    with torch.inference_mode():
        model(input_ids=torch.tensor([ids], device=model.device))


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


def _auto(name: str) -> Any:
    import transformers

    return getattr(transformers, name)
