"""unmask measures, explains and mitigates social bias in language models.

    import unmask
    result = unmask.audit("bert-base-uncased", data="crows-pairs", measures=["cps", "aul"])
    result.estimates, result.checks, result.items, result.explain("crows-pairs/0017", "cps")
    unmask.compare(result, unmask.load("other-run"))

There is one function for every command, with the same names and defaults, and all return a `Result`, which
`unmask.load` gives back from its folder. Names are imported when first used: `import unmask` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.audit.compare import compare, gate
    from unmask.audit.result import AuditResult, load
    from unmask.audit.run import audit
    from unmask.core.errors import UnmaskError
    from unmask.core.options import Opening, Options
    from unmask.diagnose.run import diagnose
    from unmask.findings.envelope import Result
    from unmask.mitigate.run import mitigate
    from unmask.models import open_lm
    from unmask.report.run import report
    from unmask.prompts.run import prompts
    from unmask.vectors.run import vectors

_HOMES = {
    "AuditResult": "unmask.audit.result",
    "Opening": "unmask.core.options",
    "Options": "unmask.core.options",
    "Result": "unmask.findings.envelope",
    "UnmaskError": "unmask.core.errors",
    "audit": "unmask.audit.run",
    "compare": "unmask.audit.compare",
    "diagnose": "unmask.diagnose.run",
    "gate": "unmask.audit.compare",
    "load": "unmask.audit.result",
    "mitigate": "unmask.mitigate.run",
    "open_lm": "unmask.models",
    "report": "unmask.report.run",
    "prompts": "unmask.prompts.run",
    "vectors": "unmask.vectors.run",
}
__all__ = [
    "AuditResult",
    "Opening",
    "Options",
    "Result",
    "UnmaskError",
    "audit",
    "compare",
    "diagnose",
    "gate",
    "load",
    "mitigate",
    "open_lm",
    "report",
    "prompts",
    "vectors",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("unmask")
    if name not in _HOMES:
        raise AttributeError(f"module 'unmask' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
