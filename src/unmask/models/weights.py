"""Check that a checkpoint holds all weights and that they are finite; compute their fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

from unmask.core.errors import ModelError

STORE_FORMAT = 1  # increase when the meaning of stored readings changes
_NOT_CONTENT = ("_name_or_path", "architectures", "_commit_hash", "transformers_version", "torch_dtype", "dtype")
_LM_ADVICE = (
    "they would be random, and so would every score; give a checkpoint saved with its LM head "
    "(not a bare encoder, a sentence embedder or a classifier)"
)
_CLASSIFIER_ADVICE = "its predictions would be random; give a model that was fine-tuned for classification"


def refuse_bad_weights(model: Any, loading: dict[str, Any], name: str, *, classifier: bool = False) -> None:
    """Raise ModelError when weights are missing, mis-shaped, untied by accident, NaN or infinite."""
    missing = sorted(loading["missing_keys"])
    if missing:
        advice = _CLASSIFIER_ADVICE if classifier else _LM_ADVICE
        raise ModelError(f"{name} has no weights for {_format_names(missing)}: {advice}")
    mismatched = sorted(str(key[0] if isinstance(key, tuple) else key) for key in loading["mismatched_keys"])
    if mismatched:
        raise ModelError(f"{name} has weights of another shape than its config.json says: {_format_names(mismatched)}")
    if loading.get("error_msgs"):
        raise ModelError(f"{name} could not be loaded completely: {' '.join(str(loading['error_msgs']).split())[:300]}")
    _refuse_untied(model, name)
    bad = [key for key, tensor in model.named_parameters() if not tensor.isfinite().all()]
    if bad:
        raise ModelError(f"{name} has NaN or infinite weights in {_format_names(bad)}: the checkpoint is damaged")


def fingerprint(model: Any, tokenizer: Any, kind: str) -> str:
    """A content hash of the weights, the configuration and the special tokens."""
    with ThreadPoolExecutor() as pool:
        digests = list(pool.map(lambda item: _tensor_digest(*item), sorted(model.state_dict().items())))
    config = {key: value for key, value in model.config.to_dict().items() if key not in _NOT_CONTENT}
    facts = [kind, tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.bos_token_id, config]
    total = hashlib.blake2b(digest_size=16)
    total.update(json.dumps(facts, sort_keys=True, default=str).encode())
    for digest in digests:
        total.update(digest)
    return total.hexdigest()


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
