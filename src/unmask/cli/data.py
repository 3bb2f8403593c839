"""`unmask data`: fetch and verify datasets, show their cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.core.signals import keep
from unmask.findings.terminal import console, print_json

if TYPE_CHECKING:
    from unmask.core.types import Card, Dataset
    from unmask.data.matrices import ScoreMatrix

app = typer.Typer(help="Fetch and verify datasets; show a card and a sample.", no_args_is_help=True)


@app.command("get")
def get(
    name: Annotated[
        str, typer.Argument(help="Dataset (see `unmask list data`), or hf:owner/name@revision:config/split.")
    ],
    data_dir: Annotated[Path | None, typer.Option(help="Folder of datasets.", show_default="the cache")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace existing files that differ from the published ones.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the paths as JSON.")] = False,
) -> None:
    """Download a dataset's files and check their sha256."""
    from unmask import data

    keep("files that are complete")
    paths = data.get(name, data_dir=data_dir, force=force)
    if as_json:
        print_json({"name": name, "files": [str(path) for path in paths]})
        return
    for path in paths:
        console().print(f"{name}: {path}", soft_wrap=True)


@app.command("show")
def show(
    name: Annotated[
        str, typer.Argument(help="Dataset, file of pairs or scores, or hf:owner/name@revision:config/split.")
    ],
    data_dir: Annotated[Path | None, typer.Option(help="Folder of datasets.")] = None,
    mapping: Annotated[Path | None, typer.Option(help="YAML of the columns of hub data or your own pairs.")] = None,
    sample: Annotated[int, typer.Option(help="Number of items to show.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print the card as JSON, without items.")] = False,
) -> None:
    """Print a dataset's card, what was measured about it, and some of its items if it is on this machine."""
    from unmask import data
    from unmask.core.errors import DataError
    from unmask.core.options import check_number

    check_number("--sample", sample, least=0)
    loaded: Any = None
    missing = ""
    try:
        loaded = _load(name, data_dir, mapping)
    except DataError as error:
        if name not in data.SOURCES:
            raise
        missing = str(error)
    card = loaded.card if hasattr(loaded, "card") else data.card(name)
    facts = [*_facts(card), *_agreement(card, data_dir if not missing else None, missing)]
    if as_json:
        print_json({**asdict(card), "sha256": _checksum(loaded, card), "facts": facts})
        return
    _print_card(card, _checksum(loaded, card), facts)
    if missing:
        console().print(f"items: {missing}", soft_wrap=True)
    elif hasattr(loaded, "wordings"):
        _print_scores(loaded, sample)
    elif hasattr(loaded, "items"):
        _print_items(loaded, sample)
    else:
        _records(loaded, sample)


def _load(name: str, data_dir: Path | None, mapping: Path | None) -> Any:
    """A table, scores of models, or a dataset of pairs."""
    from unmask import data

    if name in data.tables():
        return data.read(name)
    if mapping is None and data.is_scores(name):
        return data.scores(name, data_dir=data_dir)
    return data.load(name, data_dir=data_dir, mapping=mapping)


def _facts(card: Card) -> list[dict[str, str]]:
    """What commands printed about the data."""
    from unmask import data

    return [asdict(fact) for fact in data.facts(card.name)] if card.name in data.SOURCES else []


def _agreement(card: Card, data_dir: Path | None, missing: str) -> list[dict[str, str]]:
    """The agreement of the annotators of the items, from the file, if it is here and has their labels."""
    from unmask import data

    labels = data.labels(card.name, data_dir=data_dir) if not missing and card.name in data.SOURCES else []
    if not labels:
        return []
    from unmask.core.seeds import generator
    from unmask.stats.agreement import fleiss, label_counts, resampled_agreement

    value = resampled_agreement(fleiss, label_counts(labels), rng=generator(0, "annotators"), unit="items")
    text = f"Fleiss' κ {value.value:.2f} ({value.low:.2f} to {value.high:.2f}), {len(labels[0])} annotators"
    command = f"unmask data show {card.name}"
    return [{"about": "agreement of annotators", "value": text, "command": command, "date": "from its file"}]


def _checksum(loaded: Any, card: Card) -> str:
    """The sha256 of the files that were read; empty if they are missing."""
    if loaded is None:
        return ""
    known = getattr(loaded, "data", loaded)
    if not hasattr(known, "sha256"):
        return f"{card.files[0].sha256} (verified)"
    return f"{known.sha256} ({'verified' if known.verified else 'unverified'})"


def _print_items(loaded: Dataset, sample: int) -> None:
    screen = console()
    for item in loaded.items[:sample]:
        groups = ", ".join(f"{key}={value}" for key, value in item.groups.items())
        screen.print(f"\n{item.id}  {groups}", soft_wrap=True)
        for side, text in item.sides().items():
            screen.print(f"  {side}: {text}", soft_wrap=True)


def _print_scores(matrix: ScoreMatrix, sample: int) -> None:
    """Print what scores of models are scores of, and some of them."""
    import numpy as np

    screen = console()
    groups = ", ".join(dict.fromkeys(matrix.groups))
    screen.print(f"models: {len(matrix.models)}{f' ({groups})' if groups else ''}", soft_wrap=True)
    screen.print(f"wordings: {len(matrix.wordings)}", soft_wrap=True)
    screen.print(f"not scored: {int(np.isnan(matrix.scores).sum()):,} of {matrix.scores.size:,}", soft_wrap=True)
    for model, scores in list(zip(matrix.models, matrix.scores, strict=True))[:sample]:
        first = ", ".join(f"{score:.3f}" for score in scores[0])
        screen.print(f"\n{model}\n  {matrix.items[0]}: {first}", soft_wrap=True)


def _records(table: Any, sample: int) -> None:
    """Print some records of a table field by field; if it has several kinds of record, some of each."""
    screen = console()
    for kind, records in _kinds(table):
        for record in records[:sample]:
            screen.print(f"\n{kind}" if kind else "")
            for field, value in record.items():
                if value not in ("", None):
                    screen.print(f"  {field}: {_field_text(value)}", soft_wrap=True)


def _field_text(value: Any) -> str:
    """A field of a record as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={text}" for key, text in value.items())
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _kinds(table: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The kinds of record in a table, each with its records as mappings."""
    if isinstance(table, tuple):
        yield "", [asdict(record) for record in table]
        return
    for field in fields(table):
        records = getattr(table, field.name)
        if isinstance(records, Mapping):
            yield field.name, [{key: value} for key, value in records.items()]
        else:
            yield field.name, [asdict(record) for record in records]


def _print_card(card: Card, checksum: str, facts: Sequence[Mapping[str, str]]) -> None:
    for label, value in (
        ("name", card.name),
        ("title", card.title),
        ("items", f"{card.size:,}" if card.size else "number not known"),
        ("languages", ", ".join(card.languages)),
        ("licence", card.licence),
        ("source", card.source),
        ("known problems", card.problems),
        *((fact["about"], f"{fact['value']} [{fact['command']}; {fact['date']}]") for fact in facts),
        ("cite", card.citation),
        *([("sha256", checksum)] if checksum else []),
    ):
        console().print(f"{label}: {value}", soft_wrap=True)
