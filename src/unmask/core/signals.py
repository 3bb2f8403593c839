"""End the process on SIGINT, SIGTERM or SIGHUP: within a second, in one line that says what is kept.

The main thread gets a `KeyboardInterrupt`, so that files are closed and partial ones are removed. If that takes
longer than `PATIENCE` (a call of a library cannot be interrupted, a pool waits for its work), or if a second signal
comes, a thread ends the process: everything is written atomically, so nothing half written is taken for complete.
While a module is imported the process ends at once: libraries abort if their start is interrupted, as torch does.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from unmask.core.errors import one_line  # before a signal can come

PATIENCE = 0.5  # seconds
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
NOTHING = "nothing was written"
AGAIN = "run the same command again to resume"
READINGS = "the readings so far, in the store"
LOST = "the readings from before the store failed"

unfinished: set[Path] = set()  # files that are being written: removed when the process is ended
_line = {"kept": "", "again": AGAIN}
_received: list[int] = []  # signals, in order
_interrupts = [True]  # empty once the main thread was interrupted
_waiting: list[bool] = []  # not empty in a block that is not to be interrupted
_printing = threading.Lock()
_printed: list[bool] = []  # not empty once the line is printed
_wakeup: list[socket.socket] = []  # where the interpreter writes the number of a signal


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
    _wakeup.append(writer)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), name="unmask-signals", daemon=True).start()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_uninstall)


def is_interrupted() -> bool:
    """Whether a signal has come that ends this process."""
    return bool(_received)


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Start processes in this block: it is not interrupted, and they do not get Ctrl+C but end with their parent."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    _waiting.append(True)
    try:
        yield
    finally:
        _waiting.pop()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if _received:
        _interrupt(_received[0], None)


def end() -> NoReturn:
    """Print the line and exit with 128 + the number of the signal, once the main thread has cleaned up."""
    _interrupts.clear()  # a signal that comes now changes nothing
    number = _received[0] if _received else signal.SIGINT
    _print_line(number)
    if not _wakeup:  # the command line was called as a function
        raise SystemExit(128 + number)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(128 + number)  # freeing the memory of a model can take seconds


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt the main thread, once."""
    _record(number)
    if _interrupts and not _waiting:
        _interrupts.pop()
        if _is_import(frame):
            _end_at_once(number)
        sys.unraisablehook = lambda _: None  # no traceback where it comes within a callback, which cannot raise it
        raise KeyboardInterrupt


def _is_import(frame: FrameType | None) -> bool:
    """Whether a module is being imported where this frame is."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def _record(number: int) -> None:
    if number not in _received:
        _received.append(number)


def _watch(reader: socket.socket) -> None:
    """Wait for a signal; end the process after `PATIENCE`, or at the next signal."""
    while (number := reader.recv(1)[0]) not in SIGNALS:
        pass
    _record(number)  # also where a library has replaced the handler
    until = time.monotonic() + PATIENCE
    while (left := until - time.monotonic()) > 0:
        reader.settimeout(left)
        try:
            if reader.recv(1)[0] in SIGNALS:
                break
        except TimeoutError:
            break
    while _waiting and time.monotonic() < until + PATIENCE:  # a process that is being started would print an error
        time.sleep(0.01)
    _end_at_once(number)


def _end_at_once(number: int) -> NoReturn:
    """Remove partial files, print the line and exit, whatever the main thread does."""
    for path in list(unfinished):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    _print_line(number)
    _end_workers()
    os._exit(128 + number)


def _end_workers() -> None:
    """End the worker processes and remove their semaphores: otherwise Python complains of them on stderr."""
    process, util, synchronize = (
        sys.modules.get(f"multiprocessing.{name}") for name in ("process", "util", "synchronize")
    )
    if synchronize is None or process is None or util is None:  # there are none
        return
    for finalizer in list(util._finalizer_registry.values()):
        if finalizer._callback is synchronize.SemLock._cleanup:
            with suppress(OSError, ValueError, RuntimeError):
                finalizer()
    for child in process.active_children():
        child.kill()


def _print_line(number: int) -> None:
    """Print what happened, what is kept and how to resume, once; who comes second waits for the line."""
    if os.environ.get("RANK", "0") == "0" and _printing.acquire(timeout=PATIENCE):
        if not _printed:
            _printed.append(True)
            _write_line(number)
        _printing.release()


def _write_line(number: int) -> None:
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
