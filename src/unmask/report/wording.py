"""The sentences and number formats of the page.

*Mitigate* is the word; a score near its null is "no preference found by this measure".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from unmask.core.types import Estimate
from unmask.findings.numbers import number, signed_number
from unmask.report.selection import ALPHA, Run, headlines, is_open

DIFFERS, SAME, UNTESTED = "differs", "does not differ", "was not tested"
CHANGE = "change"  # of any number between two runs, with the null 0
DIRECTED = ("bias-score", "stereo-score", "antistereo-score", "ss", "mean-difference", CHANGE)
PERCENT = ("bias-score", "stereo-score", "antistereo-score", "lms", "ss", "icat", "direction-gap")

STATISTICS: Mapping[str, str] = {
    "bias-score": "pairs in which the stereotyping sentence scores higher (%)",
    "ss": "stereotyping word preferred to the anti-stereotyping one, mean over target terms (%)",
    "lms": "meaningful words preferred to unrelated ones, mean over target terms (%)",
    "icat": "language modelling and absence of preference in one number, out of 100",
    "asld": "mean absolute difference of the two sentences' scores (nats)",
    "mean-difference": "mean difference of the two sentences' scores",
    "appd": "probability of a man's pronoun less that of a woman's, mean over templates and words",
    "association": "how much more a word raises the probability of a man's word than of a woman's (nats)",
    "effect-size": "the same, mean over words in their standard deviations",
    "third": "probability of a template's third word (they), mean over templates and words",
}

ABOVE: Mapping[str, str] = {
    "lms": "prefers meaningful words to unrelated ones",
    "asld": "the sentences of a pair score apart by so much; this number has no direction",
    "direction-gap": "pairs about advantaged and disadvantaged groups are not treated alike",
    "appd": "leans towards men",
    "association": "the words go with men",
    "effect-size": "the words go with men",
}
WITHIN: Mapping[str, str] = {
    "lms": "meaningful and unrelated words not told apart",
    "asld": "no difference found by this measure",
    "direction-gap": "no difference found between pairs about advantaged and disadvantaged groups",
}
BELOW: Mapping[str, str] = {
    "lms": "prefers unrelated words to meaningful ones",
    "appd": "leans towards women",
    "association": "the words go with women",
    "effect-size": "the words go with women",
}
NO_NULL: Mapping[str, str] = {
    "icat": "100 would be perfect language modelling without a preference",
}

LIMITS = (
    "A score near its null means that no preference was found by this measure on these sentences. It does "
    "not show that the model is free of bias: other sentences, other groups, other languages and other uses "
    "were not asked.",
    "A score near its null can also come from a model that was not read properly. That is what the checks on "
    "this page are for; a number whose checks failed should not be quoted.",
    "The sentences of public benchmarks were mostly written by crowd workers, mostly in the United States. "
    "Many pairs are unclear, confounded or compare more than one thing at once (Blodgett et al., 2021).",
    "Likelihoods answer to wording as well as to meaning. When sentences are reworded with the same "
    "meaning, the preferred sentence of a pair often changes (Kwon and Mihindukulasooriya, 2022); frequent "
    "words and unequal lengths also move scores. One pair proves nothing.",
    "Such scores say little about what a model does in an application. Across models, likelihood measures "
    "and biases in fine-tuned tasks were found to correlate only weakly (Kaneko et al., 2022).",
    "The intervals speak of chance in the choice of sentences only. They do not cover the choice of "
    "benchmark, of measure or of checkpoint; and a category of few pairs has a wide interval for a reason.",
    "Shaded words show which tokens the difference of two scores is made of. That is arithmetic, not a "
    "cause.",
)


def interval(estimate: Estimate, digits: int = 2) -> str:
    """`58.0 to 62.9`, or why there is none."""
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return "none"
    return f"{number(estimate.low, digits)} to {number(estimate.high, digits)}"


def change_interval(low: float, high: float, digits: int = 2) -> str:
    """`−3.1 to +0.4`, or why there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "none"
    return f"{signed_number(low, digits)} to {signed_number(high, digits)}"


def digits_of(statistic: str) -> int:
    """Percentages with one decimal, the rest with three."""
    return 1 if statistic in PERCENT else 3


def lean(estimate: Estimate) -> str:
    """Where the interval lies against the null."""
    if estimate.null is None:
        return "no null"
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return "no interval"
    if estimate.low > estimate.null:
        return "above"
    return "below" if estimate.high < estimate.null else "within"


def tone(estimate: Estimate) -> str:
    """The lean of numbers that have a direction between stereotype and its opposite; the others have none."""
    return lean(estimate) if estimate.statistic in DIRECTED else "no direction"


def reading(estimate: Estimate) -> str:
    """What the number says, in plain words."""
    if not math.isfinite(estimate.value):
        return "not measured"
    name = estimate.statistic
    return {
        "above": ABOVE.get(name, "leans towards stereotypes"),
        "within": WITHIN.get(name, "no preference found by this measure"),
        "below": BELOW.get(name, "leans against stereotypes"),
        "no interval": "no interval could be computed: do not read a preference into it",
        "no null": NO_NULL.get(name, "has no null to be compared with"),
    }[lean(estimate)]


def holm(estimate: Estimate) -> str:
    """The mark of a group: does it differ from the null after Holm's correction?"""
    if estimate.p_holm is None or not math.isfinite(estimate.p_holm):
        return UNTESTED
    return DIFFERS if estimate.p_holm < ALPHA else SAME


def introduction(run: Run, *others: Run) -> tuple[str, str]:
    """What was asked of which model, in two sentences for a reader who is not an expert."""
    models = [one.meta.get("model") or {} for one in (run, *others)]
    asked_of = [estimate for one in (run, *others) for estimate in headlines(one)]
    open_slots = {e.data for e in asked_of if is_open(e)}
    cards = list({c.get("name"): c for one in (run, *others) for c in one.meta.get("data") or []}.values())
    pairs = [card for card in cards if card.get("name") not in open_slots]
    templates = [card for card in cards if card.get("name") in open_slots]
    measures = list(dict.fromkeys(e.measure for e in asked_of if e.data not in open_slots))
    ways = "in one way" if len(measures) == 1 else f"in {len(measures)} ways"
    asked, noted = [], []
    if pairs or not templates:
        asked.append(
            f"{_data(pairs)}: sentences that come in pairs, alike except for whom they speak of or what they "
            "say of them, one of the two repeating a stereotype"
        )
        noted.append(
            f"for every pair we noted which sentence the model finds likelier, {ways} "
            f"({', '.join(measures)}); a model without a preference would choose the stereotyping sentence "
            "about as often as the other"
        )
    if templates:
        asked.append(f"{_data(templates)}: sentences about someone at work in which a pronoun is left open")
        noted.append(
            "for every open pronoun we noted how much likelier the model finds a man's than a woman's; "
            "without a preference the difference is 0"
        )
    told = "; ".join(noted)
    given = " and ".join(_model(model) for model in models)
    return f"We gave {given} {'; and '.join(asked)}.", f"{told[:1].upper()}{told[1:]}."


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
