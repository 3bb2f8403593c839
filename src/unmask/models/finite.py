"""A number that is not finite is no number: what is said, and refused, where a model puts out NaN or infinity."""

from __future__ import annotations

from unmask.core.errors import ModelError
from unmask.models.lm import ModelFacts

NOT_FINITE = "the model's output is not finite (NaN or infinity)"


def refuse_bad_outputs(bad: int, total: int, what: str, facts: ModelFacts | None, *, share: float = 0.0) -> None:
    """Raise ModelError if more than this share of a model's outputs, named by `what`, is not finite."""
    if bad <= share * total:
        return
    model, dtype = ("the model", "") if facts is None else (facts.id, f" in {facts.dtype}")
    overflow = facts is not None and facts.dtype in ("fp16", "float16")
    advice = (
        "its activations overflow, use dtype fp32 or bf16"
        if overflow
        else "its weights are damaged, or it diverged in training; use another checkpoint"
    )
    raise ModelError(f"{bad:,} of {total:,} {what} of {model}{dtype} are not finite (NaN or infinity): {advice}")
