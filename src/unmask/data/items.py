"""The output of a dataset loader: items, and warnings about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from unmask.core.types import Pair

SHOWN = 5  # ids listed in a warning


class LoadedItems(NamedTuple):
    """The items of one file, and warnings about them (skipped rows, identical sentences)."""

    items: tuple[Pair, ...]
    warnings: tuple[str, ...] = ()


def with_warnings(items: Sequence[Pair], warnings: Sequence[str] = ()) -> LoadedItems:
    """The items with the given warnings, and warnings about identical or ragged pairs."""
    same = [item.id for item in items if item.more == item.less]
    ragged = [item.id for item in items if _margins(item.more) != _margins(item.less)]
    all_warnings = [
        *warnings,
        *_list_warning(same, "two identical sentences and can only tie"),
        *_list_warning(ragged, "white space around only one of the sentences; they are scored unchanged"),
    ]
    return LoadedItems(tuple(items), tuple(all_warnings))


def _margins(text: str) -> tuple[str, str]:
    """The white space before and after a text."""
    body = text.strip()
    start = text.index(body)
    return text[:start], text[start + len(body) :]


def _list_warning(ids: Sequence[str], what: str) -> list[str]:
    """One warning that lists the first few items; none if there are no items."""
    if not ids:
        return []
    named = ", ".join(ids[:SHOWN]) + (", …" if len(ids) > SHOWN else "")
    return [f"{len(ids)} {'pair has' if len(ids) == 1 else 'pairs have'} {what} ({named})"]
