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
    from unmask.audit.plan import Options
    from unmask.audit.result import Result, load
    from unmask.audit.run import audit, compare, gate
    from unmask.core.errors import UnmaskError
    from unmask.models import open_lm
    from unmask.models.loading import Opening

__all__ = ["Opening", "Options", "Result", "UnmaskError", "audit", "compare", "gate", "load", "open_lm"]

_HOMES = {
    "Opening": "unmask.models.loading",
    "Options": "unmask.audit.plan",
    "Result": "unmask.audit.result",
    "UnmaskError": "unmask.core.errors",
    "audit": "unmask.audit.run",
    "compare": "unmask.audit.run",
    "gate": "unmask.audit.run",
    "load": "unmask.audit.result",
    "open_lm": "unmask.models",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("unmask")
    if name not in _HOMES:
        raise AttributeError(f"module 'unmask' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
