"""The worked numbers of `gbef`, sections 4.1.2 and 4.2.2 of the thesis: a check without training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unmask.core.estimate import Estimate
from unmask.findings import Finding
from unmask.studies.collect import Columns, compare, comparison_table
from unmask.studies.results.gbef_curves import scored_rows
from unmask.studies.results.gbef_words import Results
from unmask.studies.spec import PaperComparison


def worked_numbers(worked: Results, model: str) -> list[PaperComparison]:
    """The numbers of the thesis' examples beside the printed ones."""
    found: list[tuple[str, str, str, float]] = []  # item, measure, group, value
    if "sld" in worked:
        pairs = scored_rows(worked["sld"])[2]
        for name, row in zip(("programmer", "doctor"), pairs, strict=False):
            found += [
                ("section-4.1.2", "pll", f"{name}: {word}", score)
                for word, score in (("his", row.scores["more"]), ("her", row.scores["less"]))
            ]
        sizes = [abs(row.difference) for row in pairs]
        found.append(("section-4.1.2", "asld", "programmer and doctor", float(np.mean(sizes[:2]))))
        found.append(("section-4.1.2", "asld", "actuary", sizes[2]))
    if "ppd" in worked:
        by_word: dict[str, list[float]] = {}
        for row in scored_rows(worked["ppd"])[2]:
            by_word.setdefault(row.groups["word"], []).append(row.difference)
        for word, values in by_word.items():
            found += [("section-4.2.2", "ppd", f"{word}: template {n}", value) for n, value in enumerate(values, 1)]
            found.append(("section-4.2.2", "appd", word, float(np.mean(values))))
    return [
        compare(
            *("gbef", item, Estimate(value, measure=measure, data="worked example", group=group, statistic=measure)),
            model,
            measure=measure,
            group=group,
        )
        for item, measure, group, value in found
    ]


def worked_finding(examples: Sequence[PaperComparison]) -> Finding:
    """The table of the examples."""
    columns: Columns = {"model": "model", "measure": "measure", "of": "group", "ours": "value"}
    return Finding((), (comparison_table("Worked numbers", columns, examples),) if examples else ())
