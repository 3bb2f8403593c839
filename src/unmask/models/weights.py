"""Check that a checkpoint holds all weights and that they are finite; compute a model's fingerprint."""

from __future__ import annotations

import hashlib
import json
import math
import re
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask.core.errors import ModelError

STORE_FORMAT = 1  # increase when the meaning of stored readings changes
_NOT_CONTENT = ("_name_or_path", "architectures", "_commit_hash", "transformers_version", "torch_dtype", "dtype")
_SAMPLE = "The Nurse\u2019s  na\u00efve caf\u00e9, ABC 123."  # shows lower-casing, accents and spaces
_LM_ADVICE = (
    "they would be random, and so would every score; give a checkpoint saved with its LM head "
    "(not a bare encoder, a sentence embedder or a classifier)"
)
_LAYER = re.compile(r".*?\.\d+(?=\.)|\d+(?=\.)")  # the name of a numbered layer: `encoder.layer.3`, `h.0`
_ADVICE = {
    "classifier": "its predictions would be random; give a model that was fine-tuned for classification",
    "encoder": "they would be random, and so would its hidden states; download or save the checkpoint again",
}


def refuse_bad_weights(model: Any, loading: dict[str, Any], name: str, kind: str = "masked") -> None:
    """Raise ModelError when weights are missing, mis-shaped, left over, untied by accident, NaN or infinite.

    The pooler of an encoder may be missing: hidden states do not depend on it.
    """
    missing = sorted(key for key in loading["missing_keys"] if kind != "encoder" or not key.startswith("pooler."))
    if missing:
        advice = _ADVICE.get(kind, _LM_ADVICE)
        raise ModelError(f"{name} has no weights for {_format_names(missing)}: {advice}")
    mismatched = sorted(
        f"{key} ({'×'.join(map(str, stored))}, expected {'×'.join(map(str, expected))})"
        for key, stored, expected in loading["mismatched_keys"]
    )
    if mismatched:
        raise ModelError(
            f"{name} has weights of another shape than its config.json says: {_format_names(mismatched)}; "
            "they belong to different models"
        )
    left = _surplus_layers(model, loading["unexpected_keys"])
    if left:
        raise ModelError(
            f"{name} has weights of layers that its config.json does not have: {_format_names(left)}; correct "
            "the number of layers in config.json, or save the checkpoint without them"
        )
    if loading.get("error_msgs"):
        raise ModelError(f"{name} could not be loaded completely: {' '.join(str(loading['error_msgs']).split())[:300]}")
    _refuse_untied(model, name)
    refuse_not_finite(model, name)


def refuse_not_finite(model: Any, name: str) -> None:
    """Raise ModelError when a weight or a stored buffer is NaN or infinite."""
    bad = [key for key, tensor in model.state_dict().items() if not _is_finite(tensor)]
    if bad:
        dtype = str(model.dtype).removeprefix("torch.")
        cause = "the checkpoint is damaged"
        if dtype != "float32":
            cause += f", or its weights are too large for {dtype}; try fp32"
        raise ModelError(f"{name} has NaN or infinite weights in {_format_names(bad)}: {cause}")


def _is_finite(tensor: Any) -> bool:
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    return all(map(math.isfinite, map(float, tensor.aminmax())))  # one pass, nothing allocated; NaN wins


def _surplus_layers(model: Any, unexpected: Iterable[str]) -> list[str]:
    """The numbered layers, such as `encoder.layer.12`, of unexpected weights whose siblings the model has."""
    prefix = f"{model.base_model_prefix}."
    known = {key.removeprefix(prefix) for key in model.state_dict()}
    layers = {match[0] for key in known if (match := _LAYER.match(key))}
    stacks = {layer.rpartition(".")[0] for layer in layers}
    found = {match[0] for key in unexpected if (match := _LAYER.match(key.removeprefix(prefix)))}
    return sorted(layer for layer in found - layers if layer.rpartition(".")[0] in stacks)


def fingerprint(model: Any, tokenizer: Any, kind: str) -> str:
    """A content hash of the weights, the configuration and the tokenizer."""
    with ThreadPoolExecutor() as pool:
        tokens = pool.submit(_tokenizer_digest, tokenizer)
        digests = list(pool.map(lambda item: _tensor_digest(*item), sorted(model.state_dict().items())))
    config = {key: value for key, value in model.config.to_dict().items() if key not in _NOT_CONTENT}
    total = hashlib.blake2b(json.dumps([kind, config], sort_keys=True, default=str).encode(), digest_size=16)
    for digest in (tokens.result(), *digests):
        total.update(digest)
    return total.hexdigest()


def _tokenizer_digest(tokenizer: Any) -> bytes:
    """A hash of the tokenizer as it was loaded: vocabulary, merges, normalisation, and the roles of special tokens."""
    roles = {role: [token, getattr(tokenizer, f"{role}_id")] for role, token in tokenizer.special_tokens_map.items()}
    digest = hashlib.blake2b(json.dumps(roles, sort_keys=True).encode(), digest_size=16)
    if tokenizer.is_fast:
        digest.update(tokenizer.backend_tokenizer.to_str().encode())
        return digest.digest()
    vocabulary = sorted(tokenizer.get_vocab().items())
    facts = [type(tokenizer).__name__, vocabulary, tokenizer(_SAMPLE, verbose=False)["input_ids"]]
    digest.update(json.dumps(facts).encode())
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_vocabulary(folder)
        for path in sorted(Path(folder).iterdir()):
            digest.update(path.read_bytes())
    return digest.digest()


def namespace_of(digest: str, dtype: str) -> str:
    """The name of a store: readings are shared only for equal weights, dtype and library versions."""
    libraries = "/".join(version(package) for package in ("torch", "transformers"))
    suffix = hashlib.blake2b(f"{libraries}/{dtype}/{STORE_FORMAT}".encode(), digest_size=4).hexdigest()
    return f"{digest}-{suffix}"


def _tensor_digest(name: str, tensor: Any) -> bytes:
    import torch

    digest = hashlib.blake2b(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode(), digest_size=16)
    digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy() if tensor.numel() else b"")
    return digest.digest()


def _refuse_untied(model: Any, name: str) -> None:
    """Refuse a checkpoint that ties its embeddings by configuration but holds two different matrices."""
    import torch

    head, embeddings = model.get_output_embeddings(), model.get_input_embeddings()
    if head is None or not getattr(model.config, "tie_word_embeddings", False):
        return
    if head.weight is embeddings.weight or head.weight.shape != embeddings.weight.shape:
        return
    if not torch.equal(head.weight, embeddings.weight):
        raise ModelError(
            f"{name} says tie_word_embeddings=true, but its checkpoint holds an output matrix that differs "
            "from its embeddings: one of them is stale; set the flag to false in config.json if "
            "the output matrix is the right one"
        )


def _format_names(names: Sequence[str], limit: int = 6) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
