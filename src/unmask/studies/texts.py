"""Text corpora for training and counting: files, by path or within the data folder, or built-in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask import data as datasets
from unmask.core import environment
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name
from unmask.core.options import TextLayout
from unmask.core.seeds import generator
from unmask.data.documents import read_documents
from unmask.data.formats import is_file, read_table, user_path
from unmask.data.texts import TrainingCorpus, build_corpus, file_facts
from unmask.studies.spec import PACKAGE


def find_text_file(name: str, data_dir: Path | None) -> Path | None:
    """A file by its path, else within a data folder; None if it is not on this machine."""
    folders = [data_dir, environment.data_dir()]
    paths = [user_path(name), *(folder / name for folder in folders if folder)]
    return next((path for path in paths if is_file(path)), None)


def count_lines(path: Path) -> int:
    """The number of lines of a file."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


def select_corpus(names: str | Sequence[str], selection: Mapping[str, Any], data_dir: Path | None) -> TrainingCorpus:
    """A corpus from one or several files; every key of `selection` is optional.

    `column` holds the text of a table, `field` is the index in tab-separated lines, `only` is a column and its
    required value. `sentences` makes every sentence a document of its own. `limit` is the number of documents,
    `as_many_as` an `only` whose number of documents is the limit; `draw` (numbers) samples them, independently for
    every draw and limit, else they are the first ones. Equal texts count once.
    """
    names = [names] if isinstance(names, str) else names
    paths = [_text_file(name, data_dir) for name in names]
    limit, draw, sentences = (selection.get(name) for name in ("limit", "draw", "sentences"))
    if selection.get("as_many_as"):
        others = {"only": selection["as_many_as"], "as_many_as": None, "draw": None}
        limit = len(select_corpus(names, {**selection, **others}, data_dir).documents)
    given = (
        text
        for name, path in zip(names, paths, strict=True)
        for text in (_builtin_sentences(name) if path is None else _texts(path, selection))
    )
    texts = list(dict.fromkeys(text for text in given if text.strip()))
    facts = [{"name": name} if path is None else file_facts(path) for name, path in zip(names, paths, strict=True)]
    if not sentences and draw is None:
        return build_corpus(texts, files=facts, limit=limit)
    corpus = build_corpus(texts, files=facts)
    documents = [(sentence,) for sentence in corpus.sentences] if sentences else list(corpus.documents)
    if draw is not None:
        if limit is not None and limit > len(documents):
            what = "sentences" if sentences else "documents"
            raise DataError(
                f"a sample of {limit:,} {what} was asked for, but {', '.join(fact['name'] for fact in facts)} has "
                f"{len(documents):,} to train on: give more text or smaller samples"
            )
        order = generator(*draw, limit or 0).permutation(len(documents))
        documents = [documents[number] for number in order]
    return replace(corpus, documents=tuple(documents[:limit]))


def _text_file(name: str, data_dir: Path | None) -> Path | None:
    """The file of a text; None for the built-in sentences."""
    builtin = name == PACKAGE or name in datasets.names()
    path = None if builtin else find_text_file(name, data_dir)
    if path is None and not builtin:
        raise DataError(f"{name} is not on this machine: put it into the data folder (data_dir or UNMASK_DATA_DIR)")
    return path


def _builtin_sentences(name: str) -> Iterator[str]:
    """The sentences of a dataset of pairs, or of nine-axes and its paraphrases.

    Not the reminders, whose effect studies measure.
    """
    for dataset in ("nine-axes", "paraphrases") if name == PACKAGE else (name,):
        for item in datasets.load(dataset).items:
            yield from (item.more, item.less)


def _texts(path: Path, selection: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a file; with `only`, of the table rows in which the column has the required value."""
    if selection.get("only"):
        column, value = selection["only"]
        rows = read_table(path, "a table of texts")
        for name in (column, selection["column"]):
            if rows and name not in rows[0]:
                raise DataError(f"{file_name(path)} has no column {name}; found {quote(list(rows[0]))}")
        yield from (row[selection["column"]] for row in rows if row[column] == value)
        return
    columns = (selection["column"],) if selection.get("column") else ()
    field = selection.get("field")
    for document in read_documents([path], TextLayout(columns)):
        cells = [document.text] if field is None else document.text.split("\t")[field:]
        if not cells:
            raise DataError(f"{document.file}, row {document.row} (from 0): no field {field} (from 0)")
        yield cells[0]
