"""End the process on SIGINT, SIGTERM or SIGHUP, in one line that says what is kept.

The first signal raises `KeyboardInterrupt` in the main thread when the batch in flight is done, so that files are
closed and partial ones are removed. A second signal ends the process at once, as one does while a module is imported
(libraries abort if that is interrupted, as torch does): everything is written atomically, so nothing half written is
taken for complete.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from unmask.core.errors import one_line  # before a signal can come

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
NOTHING = "nothing was written"
AGAIN = "run the same command again to resume"
READINGS = "the readings so far, in the store"
LOST = "the readings from before the store failed"

_line = {"kept": "", "again": AGAIN}
_received: list[int] = []  # signals, in order
_shields: list[bool] = []  # not empty in a block that is not to be interrupted
_printed = threading.Lock()  # taken by who prints the line


def keep(what: str | None = None, *, again: str | None = None) -> None:
    """What an interrupted command keeps ("" for nothing), and how it is resumed: for the line at its end."""
    _line.update({name: text for name, text in (("kept", what), ("again", again)) if text is not None})


def lose_readings() -> None:
    """The store has failed: later readings are not kept."""
    if _line["kept"] == READINGS:
        keep(LOST)


def resume_in(folder: Path) -> str:
    """How a command is resumed whose default folder is new each time."""
    return f"to resume, run the same command with --out {folder}"


def install() -> None:
    """Handle signals from now on; those that are ignored (nohup) stay so."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)  # the number of each signal, at once
    threading.Thread(target=_end_at_second, args=(reader,), name="unmask-signals", daemon=True).start()
    sys.unraisablehook = _end_if_interrupted
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_uninstall)


def is_interrupted() -> bool:
    """Whether a signal has come that ends this process."""
    return bool(_received)


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Start processes in this block: it is interrupted at its end, and they get no Ctrl+C but end with their parent."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    _shields.append(True)
    try:
        yield
    finally:
        _shields.pop()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if _received:
        raise KeyboardInterrupt


def end() -> NoReturn:
    """Print the line and exit with 128 + the number of the signal."""
    number = _received[0] if _received else signal.SIGINT
    _print_line(number)
    raise SystemExit(128 + number)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt the main thread."""
    _received.append(number)
    if _shields:
        return
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _end_at_once(number)
        frame = frame.f_back
    if len(_received) == 1:
        raise KeyboardInterrupt


def _end_at_second(reader: socket.socket) -> None:
    """End the process at the second signal, also within a call that cannot be interrupted."""
    arrived: list[int] = []
    while len(arrived) < 2:
        if (number := reader.recv(1)[0]) in SIGNALS:
            arrived.append(number)
    _end_at_once(arrived[0])


def _end_if_interrupted(failure: sys.UnraisableHookArgs) -> None:
    """A callback, which cannot raise the interrupt, ends the process; other failures are printed as ever."""
    if isinstance(failure.exc_value, KeyboardInterrupt):
        _end_at_once(_received[0])
    sys.__unraisablehook__(failure)


def _end_at_once(number: int) -> NoReturn:
    _print_line(number)
    os._exit(128 + number)


def _print_line(number: int) -> None:
    """Print what happened, what is kept and how to resume, once."""
    if os.environ.get("RANK", "0") != "0" or not _printed.acquire(blocking=False):
        return
    cause = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    kept = f"kept: {_line['kept']}; {_line['again']}" if _line["kept"] else NOTHING
    show_cursor = "\r\x1b[J\x1b[?25h" if os.isatty(2) else ""  # a progress bar hides it
    with suppress(OSError):  # the terminal may be gone
        os.write(2, f"{show_cursor}unmask: {cause}; {one_line(kept)}\n".encode(errors="backslashreplace"))


def _uninstall() -> None:
    """A forked process ends as its parent wants it to."""
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_DFL)
