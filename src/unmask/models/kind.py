"""The kind of a model, masked or causal, by its configuration."""

from __future__ import annotations

from typing import Any

from unmask.core.errors import ModelError
from unmask.core.types import Kind

LM_ENDINGS = {"masked": ("MaskedLM", "PreTraining"), "causal": ("CausalLM", "LMHeadModel")}
_NOT_LM = ("Classification", "QuestionAnswering", "MultipleChoice")


def kind_of(config: Any, kind: Kind | None, name: str) -> Kind:
    """Masked or causal: from the architectures in the configuration, else from its model type."""
    refuse_encoder_decoder(config, name)
    if kind is not None:
        if kind == "causal" and is_bidirectional(config):
            raise ModelError(f"{name} is bidirectional: it cannot be scored as a causal model")
        if kind == "masked" and not _has_class(config, "AutoModelForMaskedLM"):
            raise ModelError(
                f"{name} has no masked-LM head ({config.model_type}): it can be scored as a causal model only; leave "
                "out the kind"
            )
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
    if is_bidirectional(config):
        return "masked"
    if not _has_class(config, "AutoModelForCausalLM"):
        raise ModelError(
            f"{name} is no language model ({config.model_type}): give a masked or a causal one, such as BERT or GPT-2"
        )
    return "causal"


def refuse_encoder_decoder(config: Any, name: str) -> None:
    """ModelError for a model of two stacks, such as T5 and BART."""
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(
            f"{name} is an encoder–decoder ({config.model_type}): neither masked nor causal scores are defined for "
            "it; give a masked or a causal language model"
        )


def has_lm_head(config: Any) -> bool:
    """Whether the configuration names a language model, or nothing."""
    endings = (*LM_ENDINGS["masked"], *LM_ENDINGS["causal"])
    return not config.architectures or any(name.endswith(endings) for name in config.architectures)


def _has_class(config: Any, auto: str) -> bool:
    """Whether transformers, or the code that the model brings, has a class of this kind for the configuration."""
    import transformers

    mapping = getattr(transformers, auto)._model_mapping
    return type(config) in mapping or auto in (getattr(config, "auto_map", None) or {})


def is_bidirectional(config: Any) -> bool:
    """Whether this model type has a masked-LM class and is not configured as a decoder."""
    from transformers import AutoModelForMaskedLM

    return type(config) in AutoModelForMaskedLM._model_mapping and not getattr(config, "is_decoder", False)
