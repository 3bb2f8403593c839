"""The plots of the diagnosis `paraphrase`."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.diagnose.paraphrase.tables import cells
from unmask.diagnose.paraphrase.verdicts import FamilyVerdicts
from unmask.diagnose.spec import DiagnosisSettings
from unmask.findings import Plot, charts


def histogram_plot(main: Sequence[FamilyVerdicts], settings: DiagnosisSettings) -> Plot:
    """The distribution of M_DIFF (Fig. 4 of the paper), for originals and for paraphrases."""
    rows = [
        {"value": float(value), "series": f"{_label(verdicts, main)}{kind}, {inside.value:.0f}% within"}
        for verdicts in main
        for kind, groups in (("originals", verdicts.originals), ("paraphrases", verdicts.paraphrases))
        for inside in (verdicts.share_within(groups, settings.band, kind),)
        for group in groups
        for value in group
    ]
    alt = (
        "Histograms of the difference in score between the two sentences of a pair, for originals and for "
        f"paraphrases; dashed lines mark ±{settings.band:g}, and each title gives the share within."
    )
    units = " or ".join(dict.fromkeys(verdicts.unit for verdicts in main))
    chart = charts.histograms(rows, axis=f"difference, {units}", band=settings.band)
    return Plot("paraphrase-differences", "Differences of originals and paraphrases", alt, chart)


def type_plots(main: Sequence[FamilyVerdicts]) -> tuple[Plot, ...]:
    """Agreement by bias type, observed and by chance; empty if the data have no types."""
    rows = []
    for verdicts in main:
        for name in verdicts.categories:
            _, agree, chance = cells(verdicts.agreement(0.0, name))
            for series, cell in (("seen", agree), ("by chance", chance)):
                ends = {"value": cell.value, "low": cell.low, "high": cell.high}
                rows.append({"label": f"{_label(verdicts, main)}{name}", "series": series, **ends})
    if not rows:
        return ()
    alt = "Share of originals in agreement with all their paraphrases by bias type, observed and by chance."
    chart = charts.intervals(rows, axis="originals in agreement, %")
    return (Plot("paraphrase-agreement", "Agreement by bias type", alt, chart),)


def _label(verdicts: FamilyVerdicts, main: Sequence[FamilyVerdicts]) -> str:
    """The key cells that differ between the verdicts; empty for a single one."""
    parts = [
        part
        for column, part in enumerate(verdicts.key_cells)
        if len({other.key_cells[column] for other in main}) > 1
    ]
    return "".join(f"{part} · " for part in parts)
