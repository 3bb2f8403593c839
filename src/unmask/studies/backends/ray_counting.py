"""Count the words of a corpus with Ray Data: parts of files on all machines, added up in their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError
from unmask.corpus.counting import Counter, Counts, added
from unmask.corpus.documents import existing, is_plain_text
from unmask.corpus.ranges import ranges
from unmask.studies.backends.ray import ray_or_refuse


def count_on_ray(paths: Iterable[str | Path], counter: Counter) -> Counts:
    """The sums `unmask.corpus.counting.count` gives, computed on a Ray cluster that sees the files."""
    ray = ray_or_refuse()
    parts = [dict(one) for one in parts_of(existing(paths))]
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    rows = ray.data.from_items(parts, override_num_blocks=len(parts)).map(
        lambda part: _counted(part, counter)
    )
    total, last = counter.nothing(), ""
    for row in rows.iter_rows():
        same = counter.layout.unit == "file" and row["path"] == last and is_plain_text(Path(last))
        total, last = added(total, replace(row["counts"][0], rows=()), same_document=same), row["path"]
    if not total.words:
        raise DataError("no words in these files: is there text in them?")
    return total


def parts_of(files: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    """Plain text in ranges of bytes, other files whole."""
    for path in files:
        name = str(path.resolve())
        if is_plain_text(path):
            yield from ({"path": name, "begin": a, "end": b} for a, b in ranges(path.stat().st_size))
        else:
            yield {"path": name, "begin": 0, "end": -1}


def _counted(part: Mapping[str, Any], counter: Counter) -> dict[str, Any]:
    path = Path(part["path"])
    whole = part["end"] < 0
    counts = counter.whole(path) if whole else counter.part(path, part["begin"], part["end"])
    return {"path": part["path"], "counts": [counts]}
