"""The sentences of the pages: what was measured, what measures and checks mean, what changed, the limits.

Say "mitigate", not "remove bias"; a score near its null is "no preference found by this measure".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unmask.audit.interpretation import ALPHA, CHANGE, count_items, digits_of, side_words, slot_sides
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.types import Check
from unmask.findings import numbers
from unmask.findings.envelope import Result
from unmask.report.citations import source
from unmask.report.selection import group_name, is_open

if TYPE_CHECKING:
    from unmask.stats.paired import Comparison

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORSE = "worse"
SMALL = "worse, by less than the gate counts as a change"
UNSURE = "worse, but not beyond chance for the gate"
NO_CHANGE, NOT_TESTED = "no significant change", "not tested"
COLOURED = (
    "Coloured words show how much each token contributes to the difference of two scores. That is "
    "arithmetic, not a causal explanation."
)
LIMITS = (
    "A score near its reference value means that no preference was found by this measure on these sentences. It does "
    "not show that the model is free of bias: other sentences, other groups, other languages and other uses were not "
    "tested.",
    "A score near its reference value can also come from a model that was loaded incorrectly. The checks on this page "
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
    COLOURED,
)
WHY: Mapping[str, str] = {  # every check, and why it matters
    "lm-head": "The weights of the language-model head are in the checkpoint. If they were missing, "
    "transformers would initialise them at random and every score would be noise.",
    "contract": "Does the server give the log-probabilities that it was asked for, and the same ones when it is asked "
    "again? One that answers otherwise the second time gives noise, or serves another model now.",
    "masked-accuracy": "How often is a masked token the model's first guess? A model with low accuracy does "
    "not know the language of these sentences, and its preferences mean nothing.",
    "unmasked-accuracy": "How often does the model rank a token of the unmasked sentence first, and how probable "
    "does it find these tokens? Measures without masking (aul, aula) depend on this. Copying the input is enough to "
    "pass, so a model that reads no context can: masked-accuracy finds that. Training that harms how a model reads "
    "words shows only beside the model it was made from: compare both numbers with its own.",
    "next-token-accuracy": "How often is the next token the model's first guess? A model with low accuracy "
    "does not know the language of these sentences, and its preferences mean nothing.",
    "ties": "A pair with two equal scores expresses no preference. Many ties point to an error.",
    "unscored": "Pairs that could not be scored are left out of the estimates. If there are many, the rest "
    "may not represent the dataset.",
    "duplicates": "A pair that is there twice says nothing new. Equal pairs, also with the sides exchanged, are one "
    "unit of the intervals of your own data, but each counts in the score and in n.",
    "precision": "Low precision decides pairs near zero otherwise than fp32. With certified precision these pairs are "
    "scored again, and random others with them; the chance that a decision is still another is estimated.",
    "finite-outputs": "NaN or infinity is no number: pairs with such an output of the model are left out. "
    "Overflowing fp16 and damaged weights cause it.",
    "truncated": "Sentences longer than the model's maximum length are left out, never truncated. This counts them.",
    "alignment": "Some measures need to know which tokens two sentences share. If the alignment depends on "
    "the order of the sentences, so does the score.",
    "length": "Longer sentences are less likely whatever they say. The scores should not depend on pairs "
    "whose sentences differ in length.",
    "unknown-tokens": "Words that are not in the tokenizer's vocabulary become the same unknown token, so "
    "the model cannot prefer one of them.",
}


def introduction(run: AuditResult, *others: AuditResult) -> tuple[str, str]:
    """What was measured on which model, in two sentences for readers who are not experts."""
    models = [each_run.meta.get("model") or {} for each_run in (run, *others)]
    estimates = [estimate for each_run in (run, *others) for estimate in each_run.headlines()]
    open_slots = {e.data for e in estimates if is_open(e)}
    cards = list({c.get("name"): c for each_run in (run, *others) for c in each_run.meta.get("data") or []}.values())
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
            f"for every pair we computed which sentence the model finds more likely, {ways} ({', '.join(measures)}); a "
            "model without a preference would choose the stereotyping sentence about as often as the other"
        )
    if templates:
        sides = {slot_sides(each_run, str(card["name"])) for each_run in (run, *others) for card in templates}
        first, second = side_words(sides.pop()) if len(sides) == 1 else ("the first word", "the second")
        questions.append(f"{_data(templates)}: sentence templates with an open slot for {first} or {second}")
        noted.append(
            f"for every template we computed how much more likely the model finds {first} than {second}; without a "
            "preference the difference is 0"
        )
    explanation = "; ".join(noted)
    given = " and ".join(_model(model) for model in models)
    return f"We gave {given} {'; and '.join(questions)}.", f"{explanation[:1].upper()}{explanation[1:]}."


def meanings(run: AuditResult) -> list[dict[str, str]]:
    """Title, interpretation and source of every measure."""
    rows = []
    for name in dict.fromkeys(estimate.measure for estimate in run.headlines()):
        measure = run.measure(name)
        cited = source(measure.citation)
        rows.append({"name": name, "title": measure.title, "reads": measure.reads, "source": cited})
    return rows


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """One kind of check, why it matters, and its outcomes, named by dataset and model."""

    name: str
    why: str
    outcomes: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether it passed everywhere."""
        return all(outcome.ok for outcome in self.outcomes)


def summarize_checks(runs: Sequence[AuditResult], names: Sequence[str]) -> list[CheckSummary]:
    """Group the checks of all runs by kind, in their order; kinds with a failure first."""
    outcomes: dict[str, list[Check]] = {}
    for name, run in zip(names, runs, strict=True):
        for check in run.checks:
            data, _, kind = check.name.rpartition("/")
            where = " · ".join(part for part in ((name if len(runs) > 1 else ""), data) if part)
            outcomes.setdefault(kind, []).append(replace(check, name=where))
    summaries = [CheckSummary(kind, WHY.get(kind, ""), tuple(results)) for kind, results in outcomes.items()]
    return sorted(summaries, key=lambda summary: summary.ok)


def visible_words(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """How well each model reads visible words: training can damage that, which no score shows."""
    return [
        f"{name}, {check.name}: {check.detail.partition(';')[0]}"
        for name, result in zip(names, results, strict=True)
        for check in result.checks
        if check.name.rpartition("/")[2] == "unmasked-accuracy"
    ]


def lettered_names(names: Sequence[str]) -> list[str]:
    """The models' names prefixed with their letters, which order the legends."""
    return [f"{letter} {name}" for letter, name in zip(LETTERS, names, strict=False)]


def is_significant(comparison: Comparison) -> bool:
    """Whether the change is significant: by the Holm-corrected p-value, else by the interval; never if not tested."""
    if not comparison.tested:
        return False
    if comparison.p_holm is not None and math.isfinite(comparison.p_holm):
        return comparison.p_holm < ALPHA
    return comparison.difference.excludes(0)


def read_worsening(comparison: Comparison) -> str:
    """Whether a significant change is for the worse, as the gate says; empty if not, or if the distances do not say."""
    if comparison.is_worse:
        return WORSE
    if comparison.worsening <= 0 or comparison.has_turned:
        return ""
    return SMALL if comparison.worsening < comparison.least else UNSURE


def read_change(comparison: Comparison) -> str:
    """The change in plain words."""
    if not math.isfinite(comparison.change):
        return "not measured in both"
    if not is_significant(comparison):
        corrected = comparison.difference.excludes(0)
        return NOT_TESTED if not comparison.tested else f"{NO_CHANGE}{' after correction' if corrected else ''}"
    way, worse = "rose" if comparison.change > 0 else "fell", read_worsening(comparison)
    if comparison.statistic in ("lms", "icat"):
        return f"{way}: {worse or 'better'} by this statistic"
    if (null := comparison.null) is None:
        return way
    where = "further from its reference value"
    if comparison.has_turned:
        where = "to the other side of its reference value"
    elif abs(comparison.b_value - null) < abs(comparison.a_value - null):
        where = "nearer to its reference value"
    return f"{way}, {where}{f' ({worse})' if worse else ''}"


def change_row(comparison: Comparison, *, several: bool) -> dict[str, Any]:
    """One change as a row of the page's tables."""
    digits, signed = digits_of(comparison.statistic), numbers.signed_number
    ends = f"{signed(comparison.low, digits)} to {signed(comparison.high, digits)}"
    marked = is_significant(comparison)
    return {
        "label": change_label(comparison, several=several),
        **{name: getattr(comparison, name) for name in ("data", "measure", "statistic", "method")},
        "group": group_name(comparison.group),
        "letter": LETTERS[comparison.run],
        "before": numbers.number(comparison.a_value, digits),
        "after": numbers.number(comparison.b_value, digits),
        "change": signed(comparison.change, digits),
        "interval": ends if comparison.difference.has_interval else "none",
        "p_holm": numbers.p_value(comparison.p_holm),
        **{name: f"{getattr(comparison, name):,}" for name in ("n", "flips", "left_out")},
        "marked": marked,
        "lean": "" if not marked else "above" if comparison.change > 0 else "below",
        "reading": read_change(comparison),
    }


def change_label(comparison: Comparison, *, several: bool) -> str:
    """The name of the measure, with that of the dataset if there are several."""
    return f"{comparison.measure} · {comparison.data}" if several else comparison.measure


def change_estimate(comparison: Comparison) -> Estimate:
    """A change as an estimate with null 0, for the charts."""
    same = {name: getattr(comparison, name) for name in ("measure", "data", "group", "n", "p")}
    p_holm = comparison.p_holm if comparison.tested else 1.0  # grey
    return Estimate.of(
        comparison.difference, statistic=CHANGE, null=0.0, unscored=comparison.left_out, p_holm=p_holm, **same
    )


def _model(model: Mapping[str, Any]) -> str:
    size = model.get("parameters")
    kind = f"{model['kind']} language model" if model.get("kind") else "language model"
    parameters = f" with {size:,} parameters" if isinstance(size, int) else ""
    return f"{model.get('id', 'a model')}, a {kind}{parameters},"


def _data(cards: list[Mapping[str, Any]]) -> str:
    parts = [
        f"{count} of {title}" if (count := count_items(card)) else title
        for card, title in ((card, str(card.get("title") or card.get("name"))) for card in cards)
    ]
    return " and ".join(parts) or "a set of sentences"
