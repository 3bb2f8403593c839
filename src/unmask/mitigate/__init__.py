"""Mitigations, one file each. To add one: write its file, then name it in `registry.py`.

corpus ──► method ──► checkpoint + mitigation.json ──► comparison: bias, gendered words, language modelling

from unmask.mitigate import find
from unmask.mitigate.run import mitigate
mitigate(find("cda"), Engine(open_lm()), corpus, "my-checkpoint")
"""

from __future__ import annotations

from unmask.core.errors import UnknownName
from unmask.mitigate.spec import Method, MitigationContext, MitigationOptions, Outcome


def methods() -> dict[str, Method]:
    """All methods by name; imported on first use."""
    from unmask.mitigate.registry import METHODS

    return METHODS


def find(name: str) -> Method:
    """The method of that name."""
    known = methods()
    if name not in known:
        raise UnknownName("mitigation", name, known)
    return known[name]


__all__ = ["Method", "MitigationContext", "MitigationOptions", "Outcome", "find", "methods"]
