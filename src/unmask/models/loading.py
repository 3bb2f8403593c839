"""Open any masked or causal Hugging Face model, safely.

Only safetensors and no remote code unless allowed. The kind of model comes from its configuration. A
checkpoint that lacks weights needed for scoring is refused, with their names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from logging import CRITICAL
from pathlib import Path
from typing import Any, get_args

from unmask.core.errors import ModelError, UnknownName
from unmask.core.types import Kind
from unmask.models.builtin import BUILT_IN, BuiltinModel, add_low_rank_update, builtin_models
from unmask.models.eraser import Eraser, attach, erased_fingerprint, find_eraser
from unmask.models.lm import Lm, ModelFacts
from unmask.models.network import Network
from unmask.models.weights import fingerprint, namespace_of, refuse_bad_weights

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_NOT_LM = ("Classification", "QuestionAnswering", "MultipleChoice")
# Position ids of these models start after the padding index, so fewer positions than table rows are usable.
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer", "xmod")


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open a model; the defaults are the safe ones."""

    kind: Kind | None = None  # None: from the configuration
    device: str | None = None  # None: CUDA if available
    dtype: str = "fp32"
    tf32: bool = False
    offline: bool = False
    allow_pickle: bool = False
    trust_remote_code: bool = False


def open_lm(ref: str | Path | None = None, how: Opening | None = None) -> Lm:
    """Load a hub model (`name@revision`), a folder, or a built-in model (None: the default one)."""
    import torch

    how = how or Opening()
    path, revision, name, builtin = resolve(ref)
    source: dict[str, Any] = {"pretrained_model_name_or_path": path, "revision": revision or "main"}
    source |= {
        "trust_remote_code": how.trust_remote_code,
        "local_files_only": how.offline or builtin is not None,
    }
    with quiet(), readable_errors(name, how):
        config = _auto("AutoConfig").from_pretrained(**source)
        kind = _kind(config, how.kind, name)
        model, loading = _load(source, kind, how)
        tokenizer = _tokenizer(source)
        refuse_bad_weights(model, loading, name)
        if builtin is not None and builtin.update is not None:
            add_low_rank_update(model, builtin.update)
        next_sentence = _next_sentence(source, model, config, how) if kind == "masked" else None
    _refuse_bad_tokenizer(tokenizer, model, kind, name)
    device = device_for(how.device)
    digest = fingerprint(model, tokenizer, kind)
    eraser = _attach_saved_eraser(model, path)
    if eraser is not None:
        digest = erased_fingerprint(digest, eraser)
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = how.tf32
        torch.backends.cudnn.allow_tf32 = how.tf32
    model.to(device).eval()
    if next_sentence is not None:
        next_sentence.to(device).eval()
    dtype = f"{how.dtype}+tf32" if how.tf32 and device.type == "cuda" else how.dtype
    facts = ModelFacts(
        id=name,
        revision=_commit(path, revision),
        kind=kind,
        architecture=type(model).__name__,
        parameters=sum(p.numel() for p in model.parameters()),
        fingerprint=digest,
        dtype=dtype,
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        max_length=_max_length(config, tokenizer),
        begin_rule=_begin_rule(tokenizer, kind),
        built_in=builtin is not None,
        warnings=(*_warnings(how, builtin), *((eraser.description,) if eraser else ())),
    )
    return Lm(tokenizer, Network(model, next_sentence=next_sentence), facts, namespace_of(digest, dtype))


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


def _kind(config: Any, kind: Kind | None, name: str) -> Kind:
    """Masked or causal: from the architectures in the configuration, else from its model type."""
    if kind is not None:
        if kind not in get_args(Kind):
            raise ModelError(f"no kind {kind!r}: give masked or causal")
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


def _load(source: dict[str, Any], kind: Kind, how: Opening) -> tuple[Any, dict[str, Any]]:
    import torch

    if how.dtype not in DTYPES:
        raise ModelError(f"no dtype {how.dtype!r}: give one of {', '.join(DTYPES)}")
    auto = _auto("AutoModelForMaskedLM" if kind == "masked" else "AutoModelForCausalLM")
    options = {
        **source,
        "dtype": getattr(torch, DTYPES[how.dtype]),
        "use_safetensors": None if how.allow_pickle else True,
        "output_loading_info": True,
    }
    model, loading = auto.from_pretrained(**options)
    if any(key.startswith("lm_predictions.lm_head") for key in loading["unexpected_keys"]):
        # DeBERTa as first published: its head has another name, which the class loads with `legacy=False`
        model, loading = auto.from_pretrained(**options, legacy=False)
    return model, loading


def _tokenizer(source: dict[str, Any]) -> Any:
    """The tokenizer, with any padding and truncation stored in its file disabled."""
    tokenizer = _auto("AutoTokenizer").from_pretrained(**source)
    if tokenizer.is_fast:
        tokenizer.backend_tokenizer.no_padding()
        tokenizer.backend_tokenizer.no_truncation()
    return tokenizer


def _next_sentence(source: dict[str, Any], model: Any, config: Any, how: Opening) -> Any:
    """The next-sentence head, sharing the model's body; None if the checkpoint has none."""
    from transformers import AutoModelForNextSentencePrediction

    if type(config) not in AutoModelForNextSentencePrediction._model_mapping:
        return None
    head, loading = AutoModelForNextSentencePrediction.from_pretrained(
        **source,
        dtype=model.dtype,
        use_safetensors=None if how.allow_pickle else True,
        output_loading_info=True,
    )
    if loading["missing_keys"] or loading["mismatched_keys"]:
        return None
    head.base_model.embeddings = model.base_model.embeddings
    head.base_model.encoder = model.base_model.encoder
    return head


def _attach_saved_eraser(model: Any, path: str) -> Eraser | None:
    """Attach the eraser saved in a checkpoint folder, if there is one."""
    eraser = find_eraser(path) if Path(path).is_dir() else None
    if eraser is not None:
        attach(model, eraser)
    return eraser


def _refuse_bad_tokenizer(tokenizer: Any, model: Any, kind: Kind, name: str) -> None:
    if kind == "masked" and tokenizer.mask_token_id is None:
        raise ModelError(
            f"{name} has a tokenizer without a mask token: no token can be masked; "
            "use the tokenizer the model was trained with"
        )
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows:
        raise ModelError(
            f"{name} has {rows} embeddings but its tokenizer has {len(tokenizer)} tokens: "
            "it belongs to another model"
        )


def _max_length(config: Any, tokenizer: Any) -> int:
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if positions and config.model_type in _OFFSET_POSITIONS:
        padding = 1 if config.model_type == "mpnet" else (config.pad_token_id or 0)
        positions -= padding + 1
    return int(min(positions or 10**9, tokenizer.model_max_length or 10**9, 10**9))


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


def _begin_rule(tokenizer: Any, kind: Kind) -> str:
    if kind == "masked":
        return "not a causal model"
    if tokenizer.bos_token is None:
        return "no begin-of-text token: the first token is context only"
    return f"every sentence is preceded by {tokenizer.bos_token}"


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
            f"computed in {how.dtype}{' with TF32' if how.tf32 else ''}, not fp32: "
            "near ties may be decided differently"
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
            advice = (
                "only safetensors are loaded by default; set allow_pickle to load pickled weights you trust"
            )
        elif "trust_remote_code" in reason:
            advice = "it needs its own code; read that code, then set trust_remote_code"
        elif offline:
            advice = "offline mode is on; give a local folder or a model already in the cache"
        else:
            advice = "check the name or folder, and the network connection"
        raise ModelError(f"cannot open {name}: {reason[:300]} ({advice})") from error
