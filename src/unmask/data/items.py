"""What a dataset module declares (its card and its loader), the output of a loader, and samples (`--limit`)."""

from __future__ import annotations

import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from unmask.core.boundary import validate
from unmask.core.types import SAME, Card, DataFile, Dataset, Pair

if TYPE_CHECKING:
    from unmask.data.matrices import ScoreMatrix


SHOWN = 5  # ids listed in a warning
STRATA = ("category", "direction", "goal")
FAMILY = "original"  # paraphrases of one sentence are drawn together


class LoadedItems(NamedTuple):
    """The items of one file, and warnings about them (skipped rows, identical sentences)."""

    items: tuple[Pair, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DataSource:
    """Files with a card: can be listed and downloaded by name; what is in them only their task knows."""

    kind: ClassVar = "task"
    what: ClassVar = "data of a task, not a dataset of pairs: get the files with `unmask data get {name}`"
    card: Card

    @property
    def name(self) -> str:
        """Its name."""
        return self.card.name


@dataclass(frozen=True, slots=True)
class DatasetSource(DataSource):
    """A dataset of pairs; `load` gets the path of its first file, the others are beside it.

    `labels`, where the file has them, are the labels that the annotators of each item gave.
    """

    kind: ClassVar = "pairs"
    what: ClassVar = "a dataset of pairs: use unmask.data.load({name!r})"
    load: Callable[[Path], LoadedItems]
    labels: Callable[[Path], list[tuple[str, ...]]] | None = None


@dataclass(frozen=True, slots=True)
class TableSource(DataSource):
    """A table of records other than pairs; `load` gets the path of its file."""

    kind: ClassVar = "table"
    what: ClassVar = (
        "a table, not a dataset of pairs: use unmask.data.read({name!r}), or show it with `unmask data show {name}`"
    )
    load: Callable[[Path], Any]


@dataclass(frozen=True, slots=True)
class ScoreSource(DataSource):
    """Published scores of models; `load` gets the path of its first file, and the card with its checksums."""

    kind: ClassVar = "scores"
    what: ClassVar = (
        "scores of models, not a dataset of pairs: use unmask.data.scores({name!r}), or "
        "`unmask diagnose reliability --data {name}`"
    )
    load: Callable[[Path, Dataset], ScoreMatrix]


@cache
def read_card(name: str) -> Card:
    """The card of a dataset of this package, from `cards/<name>.toml`.

    Its `files` are checksums by name: a file is at the address `base` and its name, or at that in `urls`; one without
    an address ships with the package.
    """
    content = tomllib.loads((resources.files("unmask.data") / "cards" / f"{name}.toml").read_text(encoding="utf-8"))
    base, urls, sums = content.pop("base", ""), content.pop("urls", {}), content.pop("files")
    files = [DataFile(file, urls.get(file, base and base + file), sha256) for file, sha256 in sums.items()]
    return validate(Card, {"name": name, **content, "files": files}, f"the card of {name}")


def with_warnings(items: Sequence[Pair], warnings: Sequence[str] = ()) -> LoadedItems:
    """The items with the given warnings, and warnings about repeated, identical or ragged pairs."""
    repeated = _repeat_warnings(find_repeats(items), "as published, each counts")
    return LoadedItems(tuple(items), (*_sentence_warnings(items, warnings), *repeated))


def _sentence_warnings(items: Sequence[Pair], warnings: Sequence[str]) -> list[str]:
    """The given warnings, and those about the two sentences of a pair and their direction."""
    same = [item.id for item in items if item.more == item.less]
    mixed = [item.id for item in items if _is_composed(item.more) != _is_composed(item.less)]
    ragged = [item.id for item in items if _margins(item.more) != _margins(item.less)]
    return [
        *warnings,
        *list_warning(same, "two identical sentences and can only tie"),
        *list_warning(mixed, "sentences in different Unicode normal forms (NFC, NFD): equal words may differ"),
        *list_warning(ragged, "white space around only one of the sentences; they are scored unchanged"),
        *_direction_warnings(items),
    ]


def _direction_warnings(items: Sequence[Pair]) -> list[str]:
    """Warnings where the mean of both directions leaves pairs out, or cannot be had."""
    directions = [item.groups.get("direction", "") for item in items]
    counts = Counter(name for name in directions if name)
    without = [item.id for item, name in zip(items, directions, strict=True) if not name]
    warnings = list_warning(without, "no direction: the mean of both directions leaves them out") if counts else []
    for most, number in counts.most_common(1):
        if number < max(2, sum(counts.values()) - 1):
            continue
        warnings.append(
            f"{number:,} of {sum(counts.values()):,} pairs have the direction {most}: a model that always prefers one "
            "group seems to prefer stereotypes here, or to avoid them, whatever is said of it"
        )
    return warnings


def _repeat_warnings(repeats: Repeats, counted: str) -> list[str]:
    """Warnings about pairs that are there again, the same way round or exchanged; `counted`: what comes of it."""
    exchanged = set(repeats.exchanged)
    plain = [item for item in repeats.first if item not in exchanged]
    return [
        *list_warning(plain, f"the sentences of an earlier pair: {counted}"),
        *list_warning(repeats.exchanged, f"the sentences of an earlier pair with the sides exchanged: {counted}"),
    ]


def own_items(items: Sequence[Pair], warnings: Sequence[str] = ()) -> LoadedItems:
    """The same for data of the user's own, whose equal pairs are marked by the group `SAME`.

    They are then one unit of intervals and tests: a file that repeats a pair is worth no more than that pair.
    """
    repeats = find_repeats(items)
    if not repeats.first:
        return with_warnings(items, warnings)
    repeated = _repeat_warnings(repeats, "intervals and tests count equal pairs once")
    marked = [replace(item, groups={**item.groups, SAME: repeats.first.get(item.id, item.id)}) for item in items]
    return LoadedItems(tuple(marked), (*_sentence_warnings(items, warnings), *repeated))


class Repeats(NamedTuple):
    """The pairs with the sentences of an earlier one."""

    first: dict[str, str]  # by its id, the id of the first such pair
    exchanged: tuple[str, ...]  # ids of those whose sides are exchanged


def find_repeats(items: Iterable[Pair]) -> Repeats:
    """The pairs whose sentences are those of an earlier one, in either order, but for white space and Unicode forms."""
    seen: dict[tuple[str, ...], tuple[str, str]] = {}
    first, exchanged = {}, []
    for item in items:
        more, less = _letters(item.more), _letters(item.less)
        earlier, side = seen.setdefault((_letters(item.context or ""), *sorted((more, less))), (item.id, more))
        if earlier != item.id:
            first[item.id] = earlier
            exchanged += [item.id] if side != more else []
    return Repeats(first, tuple(exchanged))


def user_dataset(loaded: LoadedItems, name: str, title: str, file: str, sha256: str) -> Dataset:
    """The items of user data, with a card that marks them as such."""
    card = Card(
        name=name,
        title=title,
        folder="",
        files=(DataFile(file, url="", sha256=sha256),),
        licence="not stated",
        languages=(),
        citation="",
        source=file,
        size=len(loaded.items),
        problems="User data: not reviewed.",
    )
    return Dataset(card, loaded.items, sha256, verified=False, warnings=loaded.warnings)


def _letters(text: str) -> str:
    """A text by which equal sentences are found: in one Unicode form, words one space apart."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFKC", text)).split())


def _is_composed(text: str) -> bool:
    return text.isascii() or unicodedata.is_normalized("NFC", text)


def _margins(text: str) -> tuple[str, str]:
    """The white space before and after a text."""
    body = text.strip()
    start = text.index(body)
    return text[:start], text[start + len(body) :]


def list_warning(ids: Sequence[str], what: str) -> list[str]:
    """One warning that lists the first few items; none if there are no items."""
    if not ids:
        return []
    named = ", ".join(ids[:SHOWN]) + (", …" if len(ids) > SHOWN else "")
    return [f"{len(ids)} {'pair has' if len(ids) == 1 else 'pairs have'} {what} ({named})"]


def sample_dataset(data: Dataset, limit: int, seed: int) -> Dataset:
    """At most `limit` items of a dataset, which keep their order: a random sample with the shares of the whole.

    Files are often sorted, so that the first rows are of one category or direction, and their score is not that of
    the dataset.
    """
    if len(data.items) <= limit:
        return data
    strata = [tuple(item.groups.get(name, "") for name in STRATA) for item in data.items]
    families = [item.groups.get(FAMILY, item.id) for item in data.items]
    drawn = sample_positions(strata, limit, seed, families=families)
    return replace(data, items=tuple(data.items[position] for position in drawn), total=data.whole_size)


def sample_positions(
    strata: Sequence[Hashable], limit: int, seed: int, *, families: Sequence[Hashable] = ()
) -> list[int]:
    """Positions of a sample, in order: every stratum in proportion to its size, families drawn whole."""
    from unmask.core.seeds import generator  # needs numpy

    grouped: dict[Hashable, dict[Hashable, list[int]]] = {}
    for position, (stratum, family) in enumerate(zip(strata, families or range(len(strata)), strict=True)):
        grouped.setdefault(stratum, {}).setdefault(family, []).append(position)
    rng = generator(seed, "subset")
    queues = [
        [list(families.values())[place] for place in rng.permutation(len(families))] for families in grouped.values()
    ]
    lacking = [limit * sum(map(len, queue)) / len(strata) for queue in queues]  # of each stratum's share
    drawn: list[int] = []
    while fitting := [at for at, queue in enumerate(queues) if queue and len(drawn) + len(queue[-1]) <= limit]:
        most = max(fitting, key=lacking.__getitem__)
        members = queues[most].pop()
        drawn += members
        lacking[most] -= len(members)
    return sorted(drawn or queues[0][-1][:limit])  # a part of a family if none fits
