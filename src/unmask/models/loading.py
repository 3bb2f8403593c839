"""Open any masked or causal Hugging Face model, safely.

Safetensors only, no remote code and no network unless asked. Which kind of model it is comes from its
configuration. A checkpoint that would be scored with weights it does not hold is refused, naming them.
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
from unmask.models.builtin import BUILT_IN, BuiltinModel, add_low_rank_change, builtin_models
from unmask.models.eraser import Eraser, attach, erased_fingerprint, find_eraser
from unmask.models.lm import Lm, ModelFacts
from unmask.models.network import Network
from unmask.models.weights import fingerprint, namespace_of, refuse_bad_weights

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_NOT_LM = ("Classification", "QuestionAnswering", "MultipleChoice")
# Position tables of these start after the padding index, so they hold fewer positions than they have rows.
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer", "xmod")


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open a model; the defaults are the safe ones."""

    kind: Kind | None = None  # None: as the configuration says
    device: str | None = None  # None: a CUDA device if there is one
    dtype: str = "fp32"
    tf32: bool = False
    offline: bool = False
    allow_pickle: bool = False
    trust_remote_code: bool = False


def open_lm(ref: str | Path | None = None, how: Opening | None = None) -> Lm:
    """Open a hub name (`name@revision`), a folder, or a model of the package (None: the built-in one)."""
    import torch

    how = how or Opening()
    place, revision, name, ours = resolve(ref)
    source: dict[str, Any] = {"pretrained_model_name_or_path": place, "revision": revision or "main"}
    source |= {
        "trust_remote_code": how.trust_remote_code,
        "local_files_only": how.offline or ours is not None,
    }
    with quiet(), readable_errors(name, how):
        config = _auto("AutoConfig").from_pretrained(**source)
        kind = _kind(config, how.kind, name)
        model, loading = _load(source, kind, how)
        tokenizer = _tokenizer(source)
        refuse_bad_weights(model, loading, name)
        if ours is not None and ours.change is not None:
            add_low_rank_change(model, ours.change)
        next_sentence = _next_sentence(source, model, config, how) if kind == "masked" else None
    _refuse_bad_tokenizer(tokenizer, model, kind, name)
    device = device_for(how.device)
    digest = fingerprint(model, tokenizer, kind)
    eraser = _put_eraser(model, place)
    if eraser is not None:
        digest = erased_fingerprint(digest, eraser)
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = how.tf32
        torch.backends.cudnn.allow_tf32 = how.tf32
    model.to(device).eval()
    if next_sentence is not None:
        next_sentence.to(device).eval()
    numbers = f"{how.dtype}+tf32" if how.tf32 and device.type == "cuda" else how.dtype
    facts = ModelFacts(
        id=name,
        revision=_commit(place, revision),
        kind=kind,
        architecture=type(model).__name__,
        parameters=sum(p.numel() for p in model.parameters()),
        fingerprint=digest,
        dtype=numbers,
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        max_length=_max_length(config, tokenizer),
        begin_rule=_begin_rule(tokenizer, kind),
        built_in=ours is not None,
        warnings=(*_warnings(how, ours), *((eraser.description,) if eraser else ())),
    )
    return Lm(tokenizer, Network(model, next_sentence=next_sentence), facts, namespace_of(digest, numbers))


def resolve(ref: str | Path | None) -> tuple[str, str | None, str, BuiltinModel | None]:
    """Where to load from, which revision, what to call it, and which model of the package it is, if one."""
    text = BUILT_IN if ref is None else str(ref)
    ours = builtin_models()
    if text in ours:
        return str(ours[text].folder), None, text, ours[text]
    if text.startswith(f"{BUILT_IN}-") and not Path(text).is_dir():
        raise UnknownName("model in the package", text, ours)
    if Path(text).is_dir():
        return text, None, Path(text).resolve().name, None
    if isinstance(ref, Path) or text.startswith((".", "/", "~")) or text.count("/") > 1:
        raise ModelError(f"no folder {text!r}: give a folder with config.json, a hub name, or nothing")
    name, _, revision = text.partition("@")
    return name, revision or None, name, None


def _kind(config: Any, asked: Kind | None, name: str) -> Kind:
    """Masked or causal, from the architectures the configuration names, else from its model type."""
    if asked is not None:
        if asked not in get_args(Kind):
            raise ModelError(f"no kind {asked!r}: give masked or causal")
        if asked == "causal" and _looks_both_ways(config):
            raise ModelError(f"{name} attends to both sides of a word: it cannot be asked as a causal model")
        return asked
    architectures = config.architectures or []
    if any(one.endswith("MaskedLM") for one in architectures):
        return "masked"
    if any(one.endswith(("CausalLM", "LMHeadModel")) for one in architectures):
        return "causal"
    heads = [one for one in architectures if any(word in one for word in _NOT_LM)]
    if heads:
        raise ModelError(
            f"{name} is a {heads[0]}: its network was trained for another task and has no LM head; "
            "give the language model it was made from (or --kind to insist)"
        )
    return "masked" if _looks_both_ways(config) else "causal"


def _looks_both_ways(config: Any) -> bool:
    """Is this a type of model that fills masks, and not switched to reading from the left?"""
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
        # DeBERTa as first published: its head has another name, which the class knows as not `legacy`
        model, loading = auto.from_pretrained(**options, legacy=False)
    return model, loading


def _tokenizer(source: dict[str, Any]) -> Any:
    """The tokenizer, with padding and truncation stored in its file switched off: lengths are our concern."""
    tokenizer = _auto("AutoTokenizer").from_pretrained(**source)
    if tokenizer.is_fast:
        tokenizer.backend_tokenizer.no_padding()
        tokenizer.backend_tokenizer.no_truncation()
    return tokenizer


def _next_sentence(source: dict[str, Any], model: Any, config: Any, how: Opening) -> Any:
    """A next-sentence head sharing the model's body, where the checkpoint holds one."""
    from transformers import AutoModelForNextSentencePrediction

    if type(config) not in AutoModelForNextSentencePrediction._model_mapping:
        return None
    judge, loading = AutoModelForNextSentencePrediction.from_pretrained(
        **source,
        dtype=model.dtype,
        use_safetensors=None if how.allow_pickle else True,
        output_loading_info=True,
    )
    if loading["missing_keys"] or loading["mismatched_keys"]:
        return None
    judge.base_model.embeddings = model.base_model.embeddings
    judge.base_model.encoder = model.base_model.encoder
    return judge


def _put_eraser(model: Any, place: str) -> Eraser | None:
    """Put the eraser that lies beside a checkpoint in a folder to work, if there is one."""
    eraser = find_eraser(place) if Path(place).is_dir() else None
    if eraser is not None:
        attach(model, eraser)
    return eraser


def _refuse_bad_tokenizer(tokenizer: Any, model: Any, kind: Kind, name: str) -> None:
    if kind == "masked" and tokenizer.mask_token_id is None:
        raise ModelError(
            f"{name} has a tokenizer without a mask token: masked measures cannot ask it anything; "
            "give the model with the tokenizer it was trained with"
        )
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows:
        raise ModelError(
            f"{name} has {rows} embeddings but its tokenizer knows {len(tokenizer)} tokens: "
            "this is another model's tokenizer"
        )


def _max_length(config: Any, tokenizer: Any) -> int:
    rows = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if rows and config.model_type in _OFFSET_POSITIONS:
        padding = 1 if config.model_type == "mpnet" else (config.pad_token_id or 0)
        rows -= padding + 1
    return int(min(rows or 10**9, tokenizer.model_max_length or 10**9, 10**9))


def device_for(asked: str | None) -> Any:
    """The device named; none named: a GPU if there is one, of several processes each its own."""
    import torch

    own = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    try:
        device = torch.device(asked or (own if torch.cuda.is_available() else "cpu"))
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"no device {asked!r} here ({reason}): give cpu, cuda or cuda:N") from error
    return device


def _begin_rule(tokenizer: Any, kind: Kind) -> str:
    if kind == "masked":
        return "not a causal model"
    if tokenizer.bos_token is None:
        return "no begin-of-text token: the first token is context only"
    return f"every sentence is preceded by {tokenizer.bos_token}"


def _commit(place: str, revision: str | None) -> str | None:
    """The commit a hub name stands for, from the cache it was just loaded from; None for a folder."""
    if Path(place).is_dir():
        return None
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(place, "config.json", revision=revision or "main")
    return Path(found).parent.name if isinstance(found, str) else revision


def _warnings(how: Opening, ours: BuiltinModel | None) -> tuple[str, ...]:
    said = [ours.warning] if ours is not None and ours.warning else []
    if how.allow_pickle:
        said.append("pickled weights were allowed: loading them can run code of whoever made the file")
    if how.trust_remote_code:
        said.append("remote code was allowed: the model's repository could run its own Python")
    if how.dtype != "fp32" or how.tf32:
        said.append(
            f"computed in {how.dtype}{' with TF32' if how.tf32 else ''}, not fp32: "
            "near ties may fall otherwise"
        )
    return tuple(said)


def _auto(name: str) -> Any:
    import transformers

    return getattr(transformers, name)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' own loading report and bars: what matters of it is checked and said by us."""
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
    """Turn what the loading libraries raise into one line that says what to do."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, ImportError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        offline = how.offline or os.environ.get("HF_HUB_OFFLINE") == "1"
        if isinstance(error, SafetensorError):
            advice = "the weights file is damaged or cut short: fetch it again"
        elif "safetensors" in reason or "pytorch_model.bin" in reason:
            advice = (
                "only safetensors are loaded by default; --allow-pickle to load pickled weights you trust"
            )
        elif "trust_remote_code" in reason:
            advice = "it needs its own code; read that code, then --trust-remote-code"
        elif offline:
            advice = "the network is off (--offline); give a local folder or a model already in the cache"
        else:
            advice = "check the name or folder, and that the network is there"
        raise ModelError(f"cannot open {name}: {reason[:300]} ({advice})") from error
