"""What a loader hands back: the items, and what a reader of the numbers should know about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from unmask.core.types import Pair

SHOWN = 5  # ids named in a warning before it is cut short


class LoadedItems(NamedTuple):
    """The items of one file, and warnings about them (rows left out, pairs that cannot differ)."""

    items: tuple[Pair, ...]
    warnings: tuple[str, ...] = ()


def with_warnings(items: Sequence[Pair], warnings: Sequence[str] = ()) -> LoadedItems:
    """The items with the given warnings and those the items themselves call for."""
    same = [item.id for item in items if item.more == item.less]
    ragged = [item.id for item in items if _margins(item.more) != _margins(item.less)]
    found = [
        *warnings,
        *_remark(same, "two identical sentences and can only tie"),
        *_remark(ragged, "white space around one sentence that the other has not; it is scored as it stands"),
    ]
    return LoadedItems(tuple(items), tuple(found))


def _margins(text: str) -> tuple[str, str]:
    """The white space before and after a text."""
    body = text.strip()
    start = text.index(body)
    return text[:start], text[start + len(body) :]


def _remark(ids: Sequence[str], what: str) -> list[str]:
    """One sentence naming the first few items it is about; nothing when there are none."""
    if not ids:
        return []
    named = ", ".join(ids[:SHOWN]) + (", …" if len(ids) > SHOWN else "")
    return [f"{len(ids)} {'pair has' if len(ids) == 1 else 'pairs have'} {what} ({named})"]
