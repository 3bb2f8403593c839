"""Mitigations, one module each. To add one, write its module, and its `Method` in `catalog.py`.

corpus ──► method ──► checkpoint, result.json ──► comparison: bias, gendered words, language modelling

    unmask.mitigate("cda", "bert-base-cased", corpus="news.txt", out="my-checkpoint")

Mitigations of other packages are found through the entry point group `unmask.mitigations`.
"""

from __future__ import annotations

from unmask.core.callable_package import make_callable
from unmask.core.registry import Registry
from unmask.mitigate.spec import Method, MitigationContext, MitigationOptions, Outcome, StaticOptions, StaticPlan

METHODS = Registry("mitigation", Method, home="unmask.mitigate.catalog", group="unmask.mitigations")
find = METHODS.find
make_callable(__name__, "unmask.mitigate.run", "mitigate")

__all__ = [
    "METHODS",
    "Method",
    "MitigationContext",
    "MitigationOptions",
    "Outcome",
    "StaticOptions",
    "StaticPlan",
    "find",
]
