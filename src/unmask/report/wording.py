"""The sentences of the pages: what was measured, what the measures mean, the limits.

Say "mitigate", not "remove bias"; a score near its null is "no preference found by this measure".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unmask.audit.result import AuditResult
from unmask.report.citations import source
from unmask.report.selection import is_open

UNKNOWN = "a measure unknown to this version of unmask"
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


def introduction(run: AuditResult, *others: AuditResult) -> tuple[str, str]:
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


def meanings(run: AuditResult) -> list[dict[str, str]]:
    """Title, interpretation and source of every measure; only the name if this version does not know it."""
    rows = []
    for name in dict.fromkeys(estimate.measure for estimate in run.headlines()):
        measure = run.find_measure(name)
        title, reads = (measure.title, measure.reads) if measure else ("", UNKNOWN)
        cited = source(measure.citation) if measure else ""
        rows.append({"name": name, "title": title, "reads": reads, "source": cited})
    return rows


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
