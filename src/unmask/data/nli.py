"""Natural language inference: premise, hypothesis and label (MNLI, SNLI and similar)."""

from __future__ import annotations

from unmask.core.errors import DataError, quote
from unmask.core.types import Card
from unmask.data.examples import Example, Source, column, rows_of, text_column
from unmask.data.items import DataSource, github_files

LABELS = ("entailment", "neutral", "contradiction")
CARD = Card(
    name="nli-counterfactual",
    title="Counterfactually augmented NLI",
    folder="cad_nli/all_combined",
    files=github_files(
        "acmi-lab/counterfactually-augmented-data/6f232a1d2a11462a30ce08fb4825b734ab30828e/NLI/all_combined/",
        {
            "train.tsv": "b04c0e249b71949345afc20f8c31c355533a705a68805492f21cddc49d27234f",
            "dev.tsv": "35c585cef5fc68e3713ee4bac83242aa7c4bfc6b51f16e9745b674c358ebd500",
            "test.tsv": "585ea3630ed64f6976d5ce1fd8c519c46c102659a012b7e9cbe48ec03503d977",
        },
    ),
    licence="Apache-2.0; its sentences are SNLI's, CC BY-SA 4.0",
    languages=("en",),
    citation="""\
@inproceedings{kaushik-etal-2020-learning,
  title = {Learning the Difference That Makes a Difference with Counterfactually-Augmented Data},
  author = {Kaushik, Divyansh and Hovy, Eduard and Lipton, Zachary C.},
  booktitle = {International Conference on Learning Representations},
  year = {2020},
}""",
    source="acmi-lab/counterfactually-augmented-data@6f232a1:NLI/all_combined/",
    size=11330,
    problems=(
        "1,666 + 200 + 400 pairs of SNLI, each with four revisions that differ in a few words: lines of one "
        "family are not independent, and families are whole within a part. Captions of photographs."
    ),
)
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
