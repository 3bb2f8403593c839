"""Open any Hugging Face language model or sequence classifier, safely: one loader for all.

Only safetensors and no remote code unless allowed. The kind of model comes from its configuration. A
checkpoint that lacks weights needed for scoring is refused, with their names. An eraser saved beside the
weights is attached to every kind of model, also to the classifier made from a language model.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from logging import CRITICAL
from pathlib import Path
from typing import Any

from unmask.core.errors import ModelError, UnknownName
from unmask.core.options import Opening
from unmask.core.types import Kind
from unmask.models.builtin import BUILT_IN, BuiltinModel, add_low_rank_update, builtin_models
from unmask.models.classifier import MAX_LENGTH, Classifier
from unmask.models.eraser import FILE as ERASER
from unmask.models.eraser import Eraser, attach, attached_eraser, erased_fingerprint, read_eraser
from unmask.models.lm import Lm, ModelFacts, ModelKind, max_length
from unmask.models.network import Network
from unmask.models.weights import fingerprint, namespace_of, refuse_bad_weights

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_NOT_LM = ("Classification", "QuestionAnswering", "MultipleChoice")
_LM_ENDINGS = {"masked": ("MaskedLM", "PreTraining"), "causal": ("CausalLM", "LMHeadModel")}
_AUTO_CLASS: dict[ModelKind, str] = {
    "masked": "AutoModelForMaskedLM",
    "causal": "AutoModelForCausalLM",
    "classifier": "AutoModelForSequenceClassification",
}


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """A model reference after resolving it: where to load from, and its configuration."""

    name: str
    path: str
    revision: str | None
    builtin: BuiltinModel | None
    how: Opening
    source: dict[str, Any]  # the arguments of every `from_pretrained`
    config: Any


def open_lm(ref: str | Path | None = None, how: Opening | None = None) -> Lm:
    """Load a hub model (`name@revision`), a folder, or a built-in model (None: the default one)."""
    checkpoint = _find_checkpoint(ref, how or Opening())
    model, tokenizer, facts = _load(checkpoint)
    next_sentence = _next_sentence(checkpoint, model) if facts.kind == "masked" else None
    device = device_for(checkpoint.how.device)
    model.to(device).eval()
    if next_sentence is not None:
        next_sentence.to(device).eval()
    network = Network(model, next_sentence=next_sentence)
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
    model, tokenizer, facts = _load(_find_checkpoint(ref, replace(how, dtype="fp32")), "classifier")
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

    lm, tokenizer, facts = _load(_find_checkpoint(ref, replace(how, dtype="fp32")))
    config = copy.deepcopy(lm.config)
    config.num_labels = max(1, len(labels))
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {name: index for index, name in enumerate(labels)}
    config.problem_type = "single_label_classification" if labels else "regression"
    auto = _auto(_AUTO_CLASS["classifier"])
    with quiet(), readable_errors(facts.id, how), torch.random.fork_rng(devices=[]):
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
    return _classifier(model, tokenizer, facts, how, length, new)


def is_classifier(ref: str | Path, how: Opening) -> bool:
    """Whether the configuration names a sequence-classification architecture."""
    architectures = _find_checkpoint(ref, how).config.architectures or []
    return any(name.endswith("ForSequenceClassification") for name in architectures)


def resolve(ref: str | Path | None) -> tuple[str, str | None, str, BuiltinModel | None]:
    """Where to load from, the revision, the name for results, and the built-in model if it is one."""
    text = BUILT_IN if ref is None else str(ref)
    builtins = builtin_models()
    if text in builtins:
        return str(builtins[text].folder), None, text, builtins[text]
    if text.startswith(f"{BUILT_IN}-") and not Path(text).is_dir():
        raise UnknownName("built-in model", text, builtins)
    if Path(text).is_dir():
        return text, None, Path(text).resolve().name, None
    if isinstance(ref, Path) or text.startswith((".", "/", "~")) or text.count("/") > 1:
        raise ModelError(f"no folder {text!r}: give a folder with config.json, a hub name, or nothing")
    name, _, revision = text.partition("@")
    return name, revision or None, name, None


def _find_checkpoint(ref: str | Path | None, how: Opening) -> _Checkpoint:
    """Resolve a model reference and read its configuration."""
    path, revision, name, builtin = resolve(ref)
    source = {
        "pretrained_model_name_or_path": path,
        "revision": revision or "main",
        "trust_remote_code": how.trust_remote_code,
        "local_files_only": how.offline or Path(path).is_dir(),
    }
    with quiet(), readable_errors(name, how):
        config = _auto("AutoConfig").from_pretrained(**source)
    return _Checkpoint(name, path, revision, builtin, how, source, config)


def _load(checkpoint: _Checkpoint, kind: ModelKind | None = None) -> tuple[Any, Any, ModelFacts]:
    """The model on the CPU with its eraser attached, its tokenizer, and its metadata; or a ModelError.

    Without `kind` it is a language model, masked or causal.
    """
    import torch

    how, name, builtin = checkpoint.how, checkpoint.name, checkpoint.builtin
    kind = kind or _kind(checkpoint.config, how.kind, name)
    with quiet(), readable_errors(name, how):
        model, loading = _load_weights(checkpoint, kind)
        tokenizer = _auto("AutoTokenizer").from_pretrained(**checkpoint.source)
        if tokenizer.is_fast:  # padding and truncation may be stored in its file
            tokenizer.backend_tokenizer.no_padding()
            tokenizer.backend_tokenizer.no_truncation()
        refuse_bad_weights(model, loading, name, classifier=kind == "classifier")
        if builtin is not None and builtin.update is not None:
            add_low_rank_update(model, builtin.update)
    _refuse_bad_tokenizer(tokenizer, model, kind, name)
    device = device_for(how.device)
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = how.tf32
        torch.backends.cudnn.allow_tf32 = how.tf32
    digest = fingerprint(model, tokenizer, kind)
    eraser = _read_eraser(checkpoint)
    if eraser is not None:
        attach(model, eraser)
        digest = erased_fingerprint(digest, eraser)
    facts = _facts(
        *(model, tokenizer, kind),
        id=name,
        revision=_commit(checkpoint.path, checkpoint.revision),
        fingerprint=digest,
        dtype=f"{how.dtype}+tf32" if how.tf32 and device.type == "cuda" else how.dtype,
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        built_in=builtin is not None,
        warnings=(*_warnings(how, builtin), *((eraser.description,) if eraser else ())),
    )
    return model, tokenizer, facts


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
    return Classifier(model, tokenizer, length=length, new_weights=new, facts=facts)


def _kind(config: Any, kind: Kind | None, name: str) -> Kind:
    """Masked or causal: from the architectures in the configuration, else from its model type."""
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


def _is_bidirectional(config: Any) -> bool:
    """Whether this model type has a masked-LM class and is not configured as a decoder."""
    from transformers import AutoModelForMaskedLM

    return type(config) in AutoModelForMaskedLM._model_mapping and not getattr(config, "is_decoder", False)


def _load_weights(checkpoint: _Checkpoint, kind: ModelKind) -> tuple[Any, dict[str, Any]]:
    import torch

    how = checkpoint.how
    auto = _auto(_AUTO_CLASS[kind])
    options = {
        **checkpoint.source,
        "dtype": getattr(torch, DTYPES[how.dtype]),
        "use_safetensors": None if how.allow_pickle else True,
        "output_loading_info": True,
    }
    model, loading = auto.from_pretrained(**options)
    if any(key.startswith("lm_predictions.lm_head") for key in loading["unexpected_keys"]):
        # DeBERTa as first published: its head has another name, which the class loads with `legacy=False`
        model, loading = auto.from_pretrained(**options, legacy=False)
    return model, loading


def _read_eraser(checkpoint: _Checkpoint) -> Eraser | None:
    """The eraser saved in the folder or hub repository; None if there is none."""
    from transformers.utils.hub import cached_file

    where = {key: checkpoint.source[key] for key in ("revision", "local_files_only")}
    with quiet(), readable_errors(checkpoint.name, checkpoint.how):
        found = cached_file(checkpoint.path, ERASER, **where, _raise_exceptions_for_missing_entries=False)
    return None if found is None else read_eraser(Path(found))


def _next_sentence(checkpoint: _Checkpoint, model: Any) -> Any:
    """The next-sentence head, sharing the model's body; None if the checkpoint has none."""
    from transformers import AutoModelForNextSentencePrediction

    if type(checkpoint.config) not in AutoModelForNextSentencePrediction._model_mapping:
        return None
    safe = None if checkpoint.how.allow_pickle else True
    with quiet(), readable_errors(checkpoint.name, checkpoint.how):
        head, loading = AutoModelForNextSentencePrediction.from_pretrained(
            **checkpoint.source, dtype=model.dtype, use_safetensors=safe, output_loading_info=True
        )
    if loading["missing_keys"] or loading["mismatched_keys"]:
        return None
    head.base_model.embeddings = model.base_model.embeddings
    head.base_model.encoder = model.base_model.encoder
    return head


def _refuse_bad_tokenizer(tokenizer: Any, model: Any, kind: ModelKind, name: str) -> None:
    if kind == "masked" and tokenizer.mask_token_id is None:
        raise ModelError(
            f"{name} has a tokenizer without a mask token: no token can be masked; "
            "use the tokenizer the model was trained with"
        )
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows:
        raise ModelError(
            f"{name} has {rows} embeddings but its tokenizer has {len(tokenizer)} tokens: it belongs to another model"
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


def _commit(path: str, revision: str | None) -> str | None:
    """The commit hash of a hub model, from the cache it was just loaded from; None for a folder."""
    if Path(path).is_dir():
        return None
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(path, "config.json", revision=revision or "main")
    return Path(config).parent.name if isinstance(config, str) else revision


def _warnings(how: Opening, builtin: BuiltinModel | None) -> tuple[str, ...]:
    warnings = [builtin.warning] if builtin is not None and builtin.warning else []
    if how.allow_pickle:
        warnings.append("pickled weights were allowed: loading them can run arbitrary code")
    if how.trust_remote_code:
        warnings.append("remote code was allowed: the model's repository could run its own Python")
    if how.dtype != "fp32" or how.tf32:
        warnings.append(
            f"computed in {how.dtype}{' with TF32' if how.tf32 else ''}, not fp32: near ties may be decided differently"
        )
    return tuple(warnings)


def _auto(name: str) -> Any:
    import transformers

    return getattr(transformers, name)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' loading report and progress bars; `refuse_bad_weights` checks what matters."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def readable_errors(name: str, how: Opening) -> Iterator[None]:
    """Turn errors of the loading libraries into a one-line ModelError with advice."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, ImportError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        offline = how.offline or os.environ.get("HF_HUB_OFFLINE") == "1"
        if isinstance(error, SafetensorError):
            advice = "the weights file is damaged or truncated: download it again"
        elif "safetensors" in reason or "pytorch_model.bin" in reason:
            advice = "only safetensors are loaded by default; set allow_pickle for pickled weights you trust"
        elif "trust_remote_code" in reason:
            advice = "it needs its own code; read that code, then set trust_remote_code"
        elif offline:
            advice = "offline mode is on; give a local folder or a model already in the cache"
        else:
            advice = "check the name or folder, and the network connection"
        raise ModelError(f"cannot open {name}: {reason[:300]} ({advice})") from error
