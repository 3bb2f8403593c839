"""Steps that score paraphrases made of a benchmark by exchanging phrases: the paper's examples, or those of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.audit.plan import load_datasets
from unmask.core.errors import DataError, quote
from unmask.core.types import Dataset, Pair
from unmask.data.formats import read_table
from unmask.data.pairs import ITSELF, NUMBER, ORIGINAL
from unmask.diagnose import DiagnosisSettings
from unmask.diagnose.run import diagnose
from unmask.findings import Finding, Section
from unmask.findings.envelope import build
from unmask.findings.folder import create
from unmask.studies.durations import TOKENS
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import open_cached
from unmask.studies.texts import find_text_file

DIAGNOSIS = "paraphrase"
NAME = "examples of the paper"
COLUMNS = ("item", "phrase", "paraphrase")  # of a file of rewordings
Exchanges = Mapping[str, Sequence[Sequence[str]]]  # by item: a phrase of both sentences, and what stands in its place


def score_examples(context: StepContext) -> None:
    """Score the originals and paraphrases of `examples`, or of a file; a note if the data have none of the examples."""
    out, options = context.folder / DIAGNOSIS, context.options(store=False)
    (data,) = load_datasets(context.data, options)
    name, exchanges = NAME, context.parameters["examples"]
    if context.step.data[1:]:
        name, exchanges = f"{data.card.name}, reworded", _user_exchanges(context, data)
    items = reword(data.items, exchanges)
    if not items:
        note = Finding((), (), (), (f"{data.card.name} has none of the paper's examples",))
        create(build("diagnosis", findings=[Section(DIAGNOSIS, "", "", note)]), out)
        return
    lm = open_cached(context.model, context.opening)
    lm = replace(lm, facts=replace(lm.facts, id=context.parameters["shown"]))
    worded = replace(data, items=items, card=replace(data.card, name=name))
    settings = DiagnosisSettings(seed=context.parameters["seed"], measures=context.parameters["measures"])
    diagnose(DIAGNOSIS, lm, data=worded, out=out, settings=settings, options=options)


def reword(items: Sequence[Pair], exchanges: Exchanges) -> tuple[Pair, ...]:
    """Every original in the data and its paraphrases, each with one phrase exchanged in both sentences."""
    reworded = []
    for item in items:
        fitting = [(old, new) for old, new in exchanges.get(item.id, ()) if old in item.more and old in item.less]
        for number, (old, new) in enumerate((("", ""), *fitting) if fitting else ()):
            name = item.id if number == int(ITSELF) else f"{item.id}/{number}"
            groups = {**item.groups, ORIGINAL: item.id, NUMBER: str(number)}
            more, less = (text.replace(old, new) if old else text for text in (item.more, item.less))
            reworded.append(Pair(name, more, less, groups=groups))
    return tuple(reworded)


def read_rewordings(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The exchanges of a table with a paraphrase in every row, by item."""
    rows = read_table(path, f"a table with the columns {', '.join(COLUMNS)}")
    if not rows or not set(COLUMNS) <= rows[0].keys():
        found = quote(list(rows[0])) if rows else "no row"
        raise DataError(f"{rows.where}: {found}, expected the columns {', '.join(COLUMNS)}")
    exchanges: dict[str, list[tuple[str, str]]] = {}
    for number, row in enumerate(rows):
        item, old, new = ((row[name] or "").strip() for name in COLUMNS)
        if not item or not old or not new or old == new:
            raise DataError(f"{rows.at(number)}: expected an item, a phrase and another phrase in its place")
        exchanges.setdefault(item, []).append((old, new))
    return exchanges


def _user_exchanges(context: StepContext, data: Dataset) -> Exchanges:
    """The exchanges of the user's file, all of which must apply."""
    name = context.step.data[1]
    place = context.runtime.place(name)
    exchanges = read_rewordings(find_text_file(place, context.runtime.data_dir) or Path(place))
    by_id = {item.id: item for item in data.items}
    for item, given in exchanges.items():
        if item not in by_id:
            raise DataError(f"{name} has {quote(item)}, expected ids of {data.card.name}, such as {data.items[0].id}")
        for old, _ in given:
            if old not in by_id[item].more or old not in by_id[item].less:
                raise DataError(f"{name}: {quote(old)} is not in both sentences of {item}: give words that they share")
    return exchanges


def step(name: str, source: str, examples: Mapping[str, Sequence[str]], file: str | None, **parameters: Any) -> Step:
    """A step that scores the phrases of `examples` (the first is in the data), or a file's; `parameters`: its others.

    These are `model`, `measures`, `seed`, `dtype` and `shown`, the name of the model on the page.
    """
    model = parameters.pop("model")
    exchanges = {item: [[first, other] for other in others] for item, (first, *others) in examples.items()}
    planned = Step.of(name, f"{__name__}:EXAMPLES", {"examples": exchanges, **parameters}, model=model, data=source)
    return replace(planned, data=(*planned.data, file)) if file else planned


def work_estimate(step: Step) -> WorkEstimate:
    """One pass for every token of the pairs, of which a file has one in every line."""
    pairs = sum(1 + len(exchanges) for exchanges in step.parameters["examples"].values())
    if step.data[1:] and (path := find_text_file(step.data[1], None)):
        with path.open("rb") as file:
            pairs = sum(1 for _ in file)
    return WorkEstimate(2.0 * pairs * TOKENS * TOKENS)


EXAMPLES = StepKind(score_examples, version=2, estimate_work=work_estimate)
