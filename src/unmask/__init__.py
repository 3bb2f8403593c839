"""unmask measures, explains and mitigates social bias in language models.

    import unmask
    result = unmask.audit("bert-base-uncased", data="crows-pairs", measures=["cps", "aul"])
    result.estimates, result.checks, result.items, result.explain("crows-pairs/0017", "cps")
    unmask.compare(result, unmask.load("other-run"))

Names are imported when first used, so that `import unmask` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.auditing import audit, compare, gate
    from unmask.errors import UnmaskError
    from unmask.models import open_lm
    from unmask.models.opening import Opening
    from unmask.result import Result, load
    from unmask.running import Options

__all__ = ["Opening", "Options", "Result", "UnmaskError", "audit", "compare", "gate", "load", "open_lm"]

_HOMES = {
    "Opening": "unmask.models.opening",
    "Options": "unmask.running",
    "Result": "unmask.result",
    "UnmaskError": "unmask.errors",
    "audit": "unmask.auditing",
    "compare": "unmask.auditing",
    "gate": "unmask.auditing",
    "load": "unmask.result",
    "open_lm": "unmask.models",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unmask' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
