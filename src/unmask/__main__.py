"""The process of the command line: `unmask`, `python -m unmask`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Handle signals from the first moment on, then import and run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback during the next import
    from unmask.core import signals

    try:
        signals.install()
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        from unmask.cli import main as run

        run()
    except KeyboardInterrupt:
        signals.end()


if __name__ == "__main__":
    main()
