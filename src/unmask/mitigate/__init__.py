"""Mitigations: each changes a model (or its input), and is measured before and after.

corpus ──► method ──► checkpoint, result.json ──► comparison: bias, gendered words, language modelling

    unmask.mitigate("cda", "bert-base-cased", corpus="news.txt", out="my-checkpoint")

To add one, write its module in `methods/`; those of other packages are found through the entry point group
`unmask.mitigations`.
"""

from __future__ import annotations

from unmask.core.lazy_imports import make_callable
from unmask.core.registry import Registry
from unmask.mitigate.spec import (
    AdapterOptions,
    Method,
    MethodOptions,
    MitigationContext,
    Outcome,
    TrainingOptions,
    VectorPlan,
)

METHODS = Registry(
    "mitigation", Method, home="unmask.mitigate.methods", group="unmask.mitigations", constructor="Method("
)
find = METHODS.find
make_callable(__name__, "unmask.mitigate.run", "mitigate")

__all__ = [
    "METHODS",
    "AdapterOptions",
    "Method",
    "MethodOptions",
    "MitigationContext",
    "Outcome",
    "TrainingOptions",
    "VectorPlan",
    "find",
]
