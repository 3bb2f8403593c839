"""Text corpora for training and counting: files, by path or within the data folder, or built-in sentences."""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.core.options import TextLayout
from unmask.data.documents import read_documents
from unmask.data.texts import TrainingCorpus, build_corpus, file_facts

PACKAGE = "package"  # the built-in sentences


def find_text_file(name: str, data_dir: Path | None) -> Path | None:
    """A file by its path, else within a data folder; None if it is not on this machine."""
    folders = [data_dir, os.environ.get("UNMASK_DATA_DIR")]
    paths = [Path(name).expanduser(), *(Path(folder) / name for folder in folders if folder)]
    return next((path for path in paths if path.is_file()), None)


def select_corpus(name: str, selection: Mapping[str, Any], data_dir: Path | None) -> TrainingCorpus:
    """A corpus from one file; `selection` has `column`, `field`, `only`, `limit` and `draw`, all optional.

    `field` is the index in tab-separated lines; `only` is a column and its required value; `draw` is the
    seed of a shuffle before `limit` is applied. Equal texts count once.
    """
    path = None if name == PACKAGE else find_text_file(name, data_dir)
    if path is None and name != PACKAGE:
        raise DataError(f"{name} is not on this machine: put it into the data folder (data_dir or UNMASK_DATA_DIR)")
    given = _builtin_sentences() if path is None else _texts(path, selection)
    texts = list(dict.fromkeys(text for text in given if text.strip()))
    if selection.get("draw") is not None:
        random.Random(selection["draw"]).shuffle(texts)
    facts = {"name": name} if path is None else file_facts(path)
    return build_corpus(texts, files=[facts], limit=selection.get("limit"))


def _builtin_sentences() -> Iterator[str]:
    """The sentences of nine-axes and its paraphrases, and the reminders."""
    for dataset in ("nine-axes", "paraphrases"):
        for item in datasets.load(dataset).items:
            yield from (item.more, item.less)
    yield from (reminder.sentence for reminder in datasets.read("reminders"))


def _texts(path: Path, selection: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a file; with `only`, of the table rows in which the column has the required value."""
    if selection.get("only"):
        column, value = selection["only"]
        with path.open(encoding="utf-8", newline="") as file:
            yield from (row[selection["column"]] for row in csv.DictReader(file) if row.get(column) == value)
        return
    columns = (selection["column"],) if selection.get("column") else ()
    field = selection.get("field")
    for document in read_documents([path], TextLayout(columns)):
        yield document.text if field is None else document.text.split("\t")[field]
