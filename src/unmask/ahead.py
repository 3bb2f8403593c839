"""Run an iterator one step ahead of whoever reads it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Stopped(Exception):  # noqa: N818 - tells a worker to end, not that anything went wrong
    """The reader has gone: work for it can end."""


def ahead(source: Iterable[T], stop: threading.Event) -> Iterator[T]:
    """Yield what `source` yields, computed in a thread of its own and at most one step early.

    Order and errors are those of the source. Set `stop` and the thread ends after its current step.
    """
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(maxsize=1)

    def work() -> None:
        try:
            for one in source:
                if not _put(ready, (one, None), stop):
                    return
            _put(ready, (None, StopIteration()), stop)
        except BaseException as error:
            _put(ready, (None, error), stop)

    threading.Thread(target=work, daemon=True).start()
    while True:
        value, error = ready.get()
        if isinstance(error, StopIteration):
            return
        if error is not None:
            raise error
        yield value  # type: ignore[misc]


def _put(ready: queue.Queue[tuple[T | None, BaseException | None]], what: tuple[T | None, BaseException | None], stop: threading.Event) -> bool:
    """Hand over, unless the reader has gone."""
    while not stop.is_set():
        try:
            ready.put(what, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False
