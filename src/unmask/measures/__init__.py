"""The measures, one module each. To add one, write its module and list it in `_MODULES`."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.errors import ModelError, UnknownName
from unmask.core.types import Kind, Measure
from unmask.measures import (
    all_masked,
    aul,
    aula,
    cll,
    cps,
    crows_bias_bench,
    ll,
    ll_stereoset,
    lpbs,
    pll,
    ppd,
    sld,
    sss,
    stereoset,
)

_MODULES = (
    cps,
    pll,
    sss,
    aul,
    aula,
    all_masked,
    sld,
    crows_bias_bench,
    stereoset,
    ll,
    cll,
    ll_stereoset,
    ppd,
    lpbs,
)
MEASURES: dict[str, Measure] = {measure.name: measure for module in _MODULES for measure in module.MEASURES}
DEFAULTS: dict[Kind, tuple[str, ...]] = {
    "masked": ("cps", "pll", "sss", "aul", "aula", "all-masked", "sld"),
    "causal": ("ll", "cll", "sld"),
}
TRIPLE_DEFAULTS = ("lms", "ss", "icat")
TEMPLATE_DEFAULTS = ("ppd",)


def find(name: str) -> Measure:
    """The measure called `name`."""
    if name not in MEASURES:
        raise UnknownName("measure", name, MEASURES)
    return MEASURES[name]


def select_measures(names: Sequence[str], kind: Kind) -> tuple[Measure, ...]:
    """The named measures without duplicates; ModelError if this kind of model cannot compute one of them."""
    measures = tuple(find(name) for name in dict.fromkeys(names))
    unfit = [measure.name for measure in measures if kind not in measure.kinds]
    if unfit:
        fit = ", ".join(name for name, measure in MEASURES.items() if kind in measure.kinds)
        raise ModelError(f"a {kind} model cannot answer {', '.join(unfit)}; it can answer {fit}")
    return measures


__all__ = ["DEFAULTS", "MEASURES", "TEMPLATE_DEFAULTS", "TRIPLE_DEFAULTS", "find", "select_measures"]
