"""What was found, as tables and as JSON."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from tools.figures.english import EXPECTED, FRAMES
from tools.figures.held import HIDDEN, LENGTH, LONGEST, SHORTEST
from tools.figures.intervals import SEED
from tools.figures.types import Job, Measurements
from unmask.core.files import plain
from unmask.models import Lm

PACKAGES = ("unmask", "torch", "transformers", "tokenizers", "numpy", "scipy")


@dataclass(frozen=True, slots=True)
class Table:
    """A title, column names, and rows of words; `note` says how to read it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def page(job: Job, found: Measurements, *, markdown: bool) -> str:
    """All that was found, as tables to read or to put into a card."""
    facts = job.lm.facts
    head = f"{facts.id}: {facts.architecture}, {facts.parameters:,} parameters, {facts.dtype} on {facts.device}"
    tables = [_figures_table(job.lm, found), _estimates_table(found), _examples_table(job.lm, found)]
    shown = [_render_table(table, markdown=markdown) for table in tables if table.rows]
    failed = [f"check failed: {one.name}: {one.detail}" for one in found.checks if not one.ok]
    lacking = [f"left out: {line}" for line in found.left_out]
    return "\n\n".join([head, *shown, *(["\n".join([*failed, *lacking])] if failed or lacking else [])])


def as_text(job: Job, found: Measurements) -> str:
    """All that was found, as JSON in full precision."""
    whole = {
        "model": asdict(job.lm.facts),
        "seed": SEED,
        "rows": job.rows,
        "limit": job.limit,
        "figures": [_plain(asdict(one)) for one in found.figures],
        "estimates": [plain(one) for one in found.estimates],
        "checks": [plain(one) for one in found.checks],
        "examples": [asdict(one) for one in found.examples],
        "left_out": found.left_out,
        "seconds": found.seconds,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _figures_table(lm: Lm, found: Measurements) -> Table:
    rows = tuple(
        (one.name, one.data, *_numbers(one.value, one.low, one.high), f"{one.n:,}", one.of, one.method)
        for one in found.figures
    )
    read = f"rows of at most {LENGTH} tokens" if lm.kind == "masked" else f"rows of {LENGTH} tokens"
    note = (
        f"Held-out documents: {read}; sentences of {SHORTEST} to {LONGEST}. For masked accuracy "
        f"{HIDDEN:.0%} of a row's tokens are masked together. Wilson intervals treat tokens as independent; "
        "the others resample rows, sentences or occupations. She/he: correlation of log P(she) - log P(he), "
        f"over {len(FRAMES)} frames, with the share of women; expected at least {EXPECTED}."
    )
    return Table("Figures", ("figure", "data", "value", "95% interval", "n", "of", "method"), rows, note)


def _estimates_table(found: Measurements) -> Table:
    rows = tuple(
        (
            one.data,
            one.measure,
            one.statistic,
            *_numbers(one.value, one.low, one.high),
            "" if one.null is None else f"{one.null:g}",
            f"{one.n:,}",
            str(one.ties),
            str(one.unscored),
        )
        for one in found.estimates
    )
    columns = ("data", "measure", "statistic", "value", "95% interval", "null", "n", "ties", "unscored")
    return Table("Bias measures", columns, rows)


def _examples_table(lm: Lm, found: Measurements) -> Table:
    columns = ("sentence", "likeliest words") if lm.kind == "masked" else ("prompt", "greedy continuation")
    rows = tuple((one.text, ", ".join(f"{word} {share:.2g}" for word, share in one.answers)) for one in found.examples)
    return Table("Examples", columns, rows, "With probabilities.")


def _numbers(value: float, low: float, high: float) -> tuple[str, str]:
    return f"{value:.2f}", "" if np.isnan(low) else f"{low:.2f} to {high:.2f}"


def _render_table(table: Table, *, markdown: bool) -> str:
    note = [table.note] if table.note else []
    if markdown:
        lines = [f"| {' | '.join(row)} |" for row in (table.columns, ("---",) * len(table.columns), *table.rows)]
        return "\n".join([f"## {table.title}", "", *lines, *(["", *note] if note else [])])
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    lines = [
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in (table.columns, *table.rows)
    ]
    return "\n".join([table.title, *lines, *note])


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """The record with null for NaN."""
    return {key: None if one != one else one for key, one in record.items()}  # noqa: PLR0124
