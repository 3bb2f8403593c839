"""unmask measures, explains and mitigates social bias in language models.

    import unmask
    data = ["nine-axes", "triple-gender"]
    result = unmask.audit("bert-base-uncased", data=data, measures=["sss", "pll", "aul"])
    result.table(), result.checks, result.items, result.explain("nine-axes/0017", "pll")
    unmask.compare(result, unmask.load("other-run"))

There is one function for every command, with the same names and defaults, and all return a `Result`, which
`unmask.load` gives back from its folder. Names are imported when first used: `import unmask` stays quick.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from logging import LogRecord, getLogger
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask import corpus
    from unmask.audit.attribution import explain
    from unmask.audit.compare import compare
    from unmask.audit.gate import gate
    from unmask.audit.plan import plan
    from unmask.audit.result import AuditResult, load
    from unmask.audit.run import audit
    from unmask.core.errors import UnmaskError
    from unmask.core.options import Opening, Options
    from unmask.diagnose.run import diagnose
    from unmask.findings.envelope import Result
    from unmask.interchange.lm_eval import import_samples
    from unmask.interchange.run import export
    from unmask.mitigate.run import mitigate
    from unmask.models.loading import open_lm as open_model
    from unmask.prompts.run import prompts
    from unmask.report.run import report
    from unmask.studies.run import study
    from unmask.tasks.run import task
    from unmask.vectors.run import vectors

# what torchao 0.18 logs when transformers imports it beside torch 2.13: kernels of GPUs, which are not used here
_NOISE = {"torchao": "Failed to load", "torch.utils._pytree": "is an Enum subclass"}


def _lacks(words: str, record: LogRecord) -> bool:
    return words not in record.getMessage()


for _name, _words in _NOISE.items():
    getLogger(_name).addFilter(partial(_lacks, _words))

_HOMES = {
    "AuditResult": "unmask.audit.result",
    "Opening": "unmask.core.options",
    "Options": "unmask.core.options",
    "Result": "unmask.findings.envelope",
    "UnmaskError": "unmask.core.errors",
    "audit": "unmask.audit.run",
    "compare": "unmask.audit.compare",
    "corpus": "unmask.corpus",
    "diagnose": "unmask.diagnose.run",
    "explain": "unmask.audit.attribution",
    "export": "unmask.interchange.run",
    "gate": "unmask.audit.gate",
    "import_samples": "unmask.interchange.lm_eval",
    "load": "unmask.audit.result",
    "mitigate": "unmask.mitigate.run",
    "open_model": "unmask.models.loading",
    "plan": "unmask.audit.plan",
    "prompts": "unmask.prompts.run",
    "report": "unmask.report.run",
    "study": "unmask.studies.run",
    "task": "unmask.tasks.run",
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
    "corpus",
    "diagnose",
    "explain",
    "export",
    "gate",
    "import_samples",
    "load",
    "mitigate",
    "open_model",
    "plan",
    "prompts",
    "report",
    "study",
    "task",
    "vectors",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("unmask")
    if name not in _HOMES:
        raise AttributeError(f"module 'unmask' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    if home.__name__ == f"unmask.{name}":
        return home
    return getattr(home, "open_lm" if name == "open_model" else name)


def __dir__() -> list[str]:
    return sorted(__all__)
