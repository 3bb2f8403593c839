"""Real models' item scores in `paraphrase`: GEST's published scores of one sentence in four templates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unmask.diagnose.paraphrase.families import OWN, Family, FamilyVerdicts
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.stats.shares import wilson
from unmask.studies.steps.scores import PublishedScores

MEASURE = "published score"


def real_verdicts(published: PublishedScores, seed: int) -> list[FamilyVerdicts]:
    """Of every model: the families of GEST, a sentence in all templates."""
    found = []
    for model, scores in published.by_model().items():
        families = tuple(
            Family(item, category, values, tuple(range(values.size)))
            for item, category, values in zip(published.items, published.categories, scores, strict=True)
            if np.isfinite(values).all()
        )
        found.append(FamilyVerdicts(model, published.data, MEASURE, OWN, families, seed))
    return found


def real_models_section(verdicts: Sequence[FamilyVerdicts]) -> Section:
    """How many sentences every model decides alike in all templates, and how it decides in each of them."""
    templates = range(verdicts[0].families[0].differences.size)
    rows: list[tuple[Cell, ...]] = []
    towards: list[tuple[Cell, ...]] = []
    bars = []
    for each in verdicts:
        agreement = each.in_sign
        rows.append((each.model, agreement.share, agreement.chance, agreement.p, agreement.families))
        won = np.array([family.differences > 0 for family in each.families])
        towards.append((each.model, *(wilson(int(won[:, place].sum()), len(won)) for place in templates), len(won)))
        bars.append(charts.interval_row(each.model, agreement.share, "all templates agree"))
    lowest, highest = (pick(verdicts, key=lambda each: each.in_sign.share.value) for pick in (min, max))
    said = [
        f"{each.model} decides {each.in_sign.share.value:.0f}% of {each.in_sign.families:,} sentences alike in "
        f"all {len(templates)} templates ({each.in_sign.chance.value:.0f}% by chance)"
        for each in (lowest, highest)
    ]
    tables = (
        Table(
            "Sentences decided alike in all templates",
            ("model", "agree %", "by chance", "p", "sentences"),
            tuple(rows),
            "Wilson intervals. By chance: decisions shuffled among the sentences of a stereotype, so a preference for "
            "one gender whatever is said agrees by chance too.",
            digits=1,
        ),
        Table(
            "Decided towards the stereotype, % of sentences",
            ("model", *(f"template {place}" for place in templates), "sentences"),
            tuple(towards),
            "A model that says he whatever is said decides towards the stereotypes of men and against those of women.",
            digits=1,
        ),
    )
    alt = "Share of sentences of GEST that a model decides alike in all templates, a bar for every model."
    plot = Plot("real-models", "Decided alike in all templates, %", alt, charts.bars(bars, axis="% of sentences"))
    return Section(
        "real-models",
        "Real models' item scores",
        "Published scores of real models on GEST: one sentence, said by a man or by a woman in several templates.",
        Finding(tuple(said), tables, (plot,)),
        "The templates change the words around the sentence, not the characteristic itself as the paper's paraphrases "
        "do: they ask the same question of real models, on other data. Models of one family are no independent sample.",
    )
