"""Natural language inference: premise, hypothesis and label (MNLI, SNLI and similar)."""

from __future__ import annotations

from unmask.core.errors import DataError, quote
from unmask.data.examples import Example, Source, column, rows_of, text_column
from unmask.data.items import DataSource, read_card

LABELS = ("entailment", "neutral", "contradiction")
CARD = read_card("nli-counterfactual")
SOURCE = DataSource(CARD)
MNLI_DEV = "mnli_dev_matched/dev_matched.tsv"


def load(source: Source) -> tuple[Example, ...]:
    """A table with sentence1 (or premise), sentence2 (or hypothesis) and gold_label (or label).

    Pairs without an agreed label (`-` or `-1`) are left out, as is usual; 0, 1 and 2 stand for entailment,
    neutral and contradiction, as on the hub.
    """
    rows = rows_of(source)
    first = text_column(rows, ("sentence1", "premise"))
    second = text_column(rows, ("sentence2", "hypothesis"))
    label = column(rows, ("gold_label", "label"))
    examples = []
    for at, row in enumerate(rows):
        if (text := str(row[label]).strip().lower()) in ("-", "-1"):
            continue
        name = LABELS[int(text)] if text in ("0", "1", "2") else text
        if name not in LABELS:
            raise DataError(f"{rows.at(at)}: label {quote(row[label])}, expected one of {', '.join(LABELS)}")
        examples.append(Example(row[first], row[second], name))
    return tuple(examples)
