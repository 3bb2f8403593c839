"""Count the words of a corpus with Ray Data: parts of files on all machines, summed in file order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError
from unmask.corpus.counting import CorpusCounts, TermCounter, add_counts
from unmask.corpus.ranges import byte_ranges
from unmask.data.text_files import existing_files, is_plain_text
from unmask.studies.backends.ray import import_ray


def count_on_ray(paths: Iterable[str | Path], counter: TermCounter) -> CorpusCounts:
    """As `unmask.corpus.counting.count`, on a Ray cluster that can read the files."""
    ray = import_ray()
    parts = [dict(part) for part in file_parts(existing_files(paths))]
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    rows = ray.data.from_items(parts, override_num_blocks=len(parts)).map(
        lambda part: _count_part(part, counter)
    )
    total, last = counter.empty(), ""
    for row in rows.iter_rows():
        same = counter.layout.unit == "file" and row["path"] == last and is_plain_text(Path(last))
        total, last = add_counts(total, replace(row["counts"][0], rows=()), same_document=same), row["path"]
    if not total.words:
        raise DataError("no words in these files")
    return total


def file_parts(files: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    """Plain-text files in byte ranges, other files whole."""
    for path in files:
        name = str(path.resolve())
        if is_plain_text(path):
            yield from ({"path": name, "begin": a, "end": b} for a, b in byte_ranges(path.stat().st_size))
        else:
            yield {"path": name, "begin": 0, "end": -1}


def _count_part(part: Mapping[str, Any], counter: TermCounter) -> dict[str, Any]:
    path = Path(part["path"])
    whole = part["end"] < 0
    counts = counter.count_file(path) if whole else counter.count_range(path, part["begin"], part["end"])
    return {"path": part["path"], "counts": [counts]}
