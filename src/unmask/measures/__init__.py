"""The measures, one module each. To add one, write its module: it is found by being there.

Measures of other packages are found through the entry point group `unmask.measures`.
"""

from __future__ import annotations

from collections.abc import Iterable

from unmask.core.errors import ModelError
from unmask.core.registry import Registry
from unmask.core.types import Kind, Measure

MEASURES = Registry("measure", Measure, home="unmask.measures", group="unmask.measures")
find = MEASURES.find
DEFAULTS: dict[Kind, tuple[str, ...]] = {  # in the order of headlines, then baselines and sizes
    "masked": ("sss", "pll", "cps", "aul", "aula", "all-masked", "sld"),
    "causal": ("ll", "cll", "sld"),
}
# Which measure a headline names: the first of these that has no failed check, then measures of other packages.
HEADLINE_ORDER = (
    *("sss", "sss-diagonal", "pll", "crows-bias-bench", "cps", "cps-exact", "aul", "aula", "aula-normalised"),
    *("ll", "cll", "ll-stereoset", "ss", "ss-spaced", "ppd", "ppd-normalised", "lpbs"),
)
TRIPLE_DEFAULTS = ("lms", "ss", "icat")
TEMPLATE_DEFAULTS = ("ppd",)


def select_measures(wanted: str | Measure | Iterable[str | Measure], kind: Kind) -> tuple[Measure, ...]:
    """The measures without duplicates; ModelError if this kind of model cannot compute one of them."""
    measures = tuple(MEASURES.find_all(wanted))
    unfit = [measure.name for measure in measures if kind not in measure.kinds]
    if unfit:
        fit = ", ".join(name for name, measure in MEASURES.items() if kind in measure.kinds)
        raise ModelError(f"a {kind} model cannot answer {', '.join(unfit)}; it can answer {fit}")
    return measures


__all__ = ["DEFAULTS", "HEADLINE_ORDER", "MEASURES", "TEMPLATE_DEFAULTS", "TRIPLE_DEFAULTS", "find", "select_measures"]
