"""Count the words of a corpus with Ray Data: parts of files on all machines, summed in file order."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from unmask.corpus.counting import CorpusCounts, TermCounter, sum_parts
from unmask.corpus.ranges import file_parts
from unmask.data.documents import existing_files
from unmask.studies.backends.ray import import_ray


def count_on_ray(paths: Iterable[str | Path], counter: TermCounter) -> CorpusCounts:
    """As `unmask.corpus.counting.count_files`, on a Ray cluster that can read the files."""
    ray = import_ray()
    parts = list(file_parts(path.resolve() for path in existing_files(paths)))
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    rows = ray.data.from_items(parts, override_num_blocks=len(parts)).map(
        lambda row: {"counts": [counter.count_part(row["item"])]}
    )
    return sum_parts(parts, (row["counts"][0] for row in rows.iter_rows()), counter)
