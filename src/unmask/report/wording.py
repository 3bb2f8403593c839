"""The sentences and number formats of the pages.

Say "mitigate", not "remove bias"; a score near its null is "no preference found by this measure".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unmask.core.estimate import Estimate
from unmask.findings.envelope import Result
from unmask.findings.numbers import number, signed_number
from unmask.measures import MEASURES
from unmask.report.citations import source
from unmask.report.selection import ALPHA, is_open

DIFFERS, SAME, UNTESTED = "differs", "does not differ", "was not tested"
CHANGE = "change"  # of any statistic between two runs; its null is 0
DIRECTED = ("bias-score", "stereo-score", "antistereo-score", "ss", "mean-difference", CHANGE)
PERCENT = ("bias-score", "stereo-score", "antistereo-score", "lms", "ss", "icat", "direction-gap")

STATISTICS: Mapping[str, str] = {
    "bias-score": "pairs in which the stereotyping sentence scores higher (%)",
    "ss": "stereotyping word preferred to the anti-stereotyping one, mean over target terms (%)",
    "lms": "meaningful words preferred to unrelated ones, mean over target terms (%)",
    "icat": "language modelling ability and absence of preference combined, out of 100",
    "asld": "mean absolute difference of the two sentences' scores (nats)",
    "mean-difference": "mean difference of the two sentences' scores",
    "appd": "probability of the masculine minus that of the feminine word, mean over templates and words",
    "association": "how much more a word raises the probability of the masculine than of the feminine word "
    "(nats)",
    "effect-size": "mean association over words, in standard deviations",
    "third": "probability of a template's third word (they), mean over templates and words",
}

ABOVE: Mapping[str, str] = {
    "lms": "prefers meaningful words to unrelated ones",
    "asld": "mean size of the difference within a pair; it has no direction",
    "direction-gap": "scores differ between pairs about advantaged and disadvantaged groups",
    "appd": "leans towards men",
    "association": "the words are associated with men",
    "effect-size": "the words are associated with men",
}
WITHIN: Mapping[str, str] = {
    "lms": "meaningful and unrelated words are not distinguished",
    "asld": "no difference found by this measure",
    "direction-gap": "no difference found between pairs about advantaged and disadvantaged groups",
}
BELOW: Mapping[str, str] = {
    "lms": "prefers unrelated words to meaningful ones",
    "appd": "leans towards women",
    "association": "the words are associated with women",
    "effect-size": "the words are associated with women",
}
NO_NULL: Mapping[str, str] = {
    "icat": "100 would be perfect language modelling without a preference",
}

LIMITS = (
    "A score near its null means that no preference was found by this measure on these sentences. It does "
    "not show that the model is free of bias: other sentences, other groups, other languages and other uses "
    "were not tested.",
    "A score near its null can also come from a model that was loaded incorrectly. The checks on this page "
    "detect that; do not quote a number whose checks failed.",
    "The sentences of public benchmarks were mostly written by crowd workers, mostly in the United States. "
    "Many pairs are unclear, confounded or compare more than one thing at once (Blodgett et al., 2021).",
    "Likelihoods depend on wording as well as on meaning. When sentences are paraphrased, the preferred "
    "sentence of a pair often changes (Kwon and Mihindukulasooriya, 2022); word frequency and sentence "
    "length also affect scores. One pair proves nothing.",
    "Such scores say little about what a model does in an application. Across models, likelihood measures "
    "and biases in fine-tuned tasks were found to correlate only weakly (Kaneko et al., 2022).",
    "The intervals cover the sampling of sentences only, not the choice of benchmark, measure or checkpoint. "
    "Categories with few pairs have wide intervals.",
    "Coloured words show how much each token contributes to the difference of two scores. That is "
    "arithmetic, not a causal explanation.",
)


def interval(estimate: Estimate, digits: int = 2) -> str:
    """`58.0 to 62.9`, or `none`."""
    if not estimate.has_interval:
        return "none"
    return f"{number(estimate.low, digits)} to {number(estimate.high, digits)}"


def change_interval(low: float, high: float, digits: int = 2) -> str:
    """`−3.1 to +0.4`, or `none`."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "none"
    return f"{signed_number(low, digits)} to {signed_number(high, digits)}"


def digits_of(statistic: str) -> int:
    """Decimals to show: one for percentages, three otherwise."""
    return 1 if statistic in PERCENT else 3


def lean(estimate: Estimate) -> str:
    """Where the interval lies relative to the null."""
    if estimate.null is None:
        return "no null"
    if not estimate.has_interval:
        return "no interval"
    if estimate.low > estimate.null:
        return "above"
    return "below" if estimate.high < estimate.null else "within"


def tone(estimate: Estimate) -> str:
    """The lean of a directed statistic (stereotype or its opposite); `no direction` for the others."""
    return lean(estimate) if estimate.statistic in DIRECTED else "no direction"


def reading(estimate: Estimate) -> str:
    """What the estimate says, in plain words."""
    if not math.isfinite(estimate.value):
        return "not measured"
    name = estimate.statistic
    return {
        "above": ABOVE.get(name, "leans towards stereotypes"),
        "within": WITHIN.get(name, "no preference found by this measure"),
        "below": BELOW.get(name, "leans against stereotypes"),
        "no interval": "no interval could be computed: do not read a preference into it",
        "no null": NO_NULL.get(name, "has no null to compare with"),
    }[lean(estimate)]


def holm(estimate: Estimate) -> str:
    """Whether a group differs from the null after Holm's correction."""
    if estimate.p_holm is None or not math.isfinite(estimate.p_holm):
        return UNTESTED
    return DIFFERS if estimate.p_holm < ALPHA else SAME


def introduction(run: Result, *others: Result) -> tuple[str, str]:
    """What was measured on which model, in two sentences for readers who are not experts."""
    models = [each_run.meta.get("model") or {} for each_run in (run, *others)]
    estimates = [estimate for each_run in (run, *others) for estimate in each_run.headlines()]
    open_slots = {e.data for e in estimates if is_open(e)}
    cards = list(
        {c.get("name"): c for each_run in (run, *others) for c in each_run.meta.get("data") or []}.values()
    )
    pairs = [card for card in cards if card.get("name") not in open_slots]
    templates = [card for card in cards if card.get("name") in open_slots]
    measures = list(dict.fromkeys(e.measure for e in estimates if e.data not in open_slots))
    ways = "in one way" if len(measures) == 1 else f"in {len(measures)} ways"
    questions, noted = [], []
    if pairs or not templates:
        questions.append(
            f"{_data(pairs)}: pairs of sentences that differ only in the group they mention or in what they "
            "say about it; one of the two states a stereotype"
        )
        noted.append(
            f"for every pair we computed which sentence the model finds more likely, {ways} "
            f"({', '.join(measures)}); a model without a preference would choose the stereotyping sentence "
            "about as often as the other"
        )
    if templates:
        questions.append(f"{_data(templates)}: sentence templates with an open slot for a gendered word")
        noted.append(
            "for every template we computed how much more likely the model finds the masculine than the "
            "feminine word; without a preference the difference is 0"
        )
    explanation = "; ".join(noted)
    given = " and ".join(_model(model) for model in models)
    return f"We gave {given} {'; and '.join(questions)}.", f"{explanation[:1].upper()}{explanation[1:]}."


@dataclass(frozen=True, slots=True)
class Meaning:
    """Title, interpretation and source of a measure."""

    name: str
    title: str
    reads: str
    source: str


def meanings(run: Result) -> list[Meaning]:
    """The meaning of every measure of the run; only the name if this version does not know it."""
    return [_meaning(name) for name in dict.fromkeys(estimate.measure for estimate in run.headlines())]


def _meaning(name: str) -> Meaning:
    if name not in MEASURES:
        return Meaning(name, "", "a measure unknown to this version of unmask", "")
    measure = MEASURES[name]
    return Meaning(name, measure.title, measure.reads, source(measure.citation))


def _model(model: Mapping[str, Any]) -> str:
    size = model.get("parameters")
    kind = f"{model['kind']} language model" if model.get("kind") else "language model"
    parameters = f" with {size:,} parameters" if isinstance(size, int) else ""
    return f"{model.get('id', 'a model')}, a {kind}{parameters},"


def _data(cards: list[Mapping[str, Any]]) -> str:
    parts = [
        f"{card['n']:,} {'item' if card['n'] == 1 else 'items'} of {card.get('title') or card.get('name')}"
        if isinstance(card.get("n"), int)
        else f"{card.get('title') or card.get('name')}"
        for card in cards
    ]
    return " and ".join(parts) or "a set of sentences"
