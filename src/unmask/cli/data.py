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
    from unmask.core.types import Card
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
    screen = console()
    if missing:
        screen.print(f"items: {missing}", soft_wrap=True)
        return
    for heading, record in _samples(loaded, sample):
        screen.print(f"\n{heading}", soft_wrap=True)
        for field, value in record.items():
            if value not in ("", None):
                screen.print(f"  {field}: {_field_text(value)}", soft_wrap=True)


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


def _samples(loaded: Any, sample: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Some items of the data as headings with their fields; of several kinds of record, some of each."""
    if hasattr(loaded, "wordings"):
        yield from _sample_scores(loaded, sample)
    elif hasattr(loaded, "items"):
        for item in loaded.items[:sample]:
            yield f"{item.id}  {_field_text(item.groups)}", item.sides()
    else:
        kinds = (
            {"": loaded}
            if isinstance(loaded, tuple)
            else {field.name: getattr(loaded, field.name) for field in fields(loaded)}
        )
        for kind, records in kinds.items():
            listed = [{key: value} for key, value in records.items()] if isinstance(records, Mapping) else records
            for record in listed[:sample]:
                yield kind, record if isinstance(record, Mapping) else asdict(record)


def _sample_scores(matrix: ScoreMatrix, sample: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What scores of models are scores of, and some of them."""
    import numpy as np

    missing = f"{int(np.isnan(matrix.scores).sum()):,} of {matrix.scores.size:,}"
    groups = dict.fromkeys(matrix.groups)
    models = f"{len(matrix.models)} ({', '.join(groups)})" if groups else len(matrix.models)
    yield "scores", {"models": models, "wordings": len(matrix.wordings), "not scored": missing}
    for model, scores in list(zip(matrix.models, matrix.scores, strict=True))[:sample]:
        yield model, {matrix.items[0]: tuple(f"{score:.3f}" for score in scores[0])}


def _field_text(value: Any) -> str:
    """A field of a record as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={text}" for key, text in value.items())
    return ", ".join(value) if isinstance(value, tuple) else str(value)


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
