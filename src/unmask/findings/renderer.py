"""Run vl-convert in a process of its own: if it crashes or hangs, a figure is lost and not the run.

vl-convert embeds V8, which ends its process where memory is limited (`ulimit -v`).
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from threading import Lock, Timer
from typing import Any

PATIENCE = 120.0  # seconds for one drawing
_PROGRAM = """
import json, sys, vl_convert
for line in sys.stdin.buffer:
    function, argument, options = json.loads(line)
    made = getattr(vl_convert, function)(argument, **options)
    content = made.encode() if isinstance(made, str) else made
    sys.stdout.buffer.write(b"%d\\n" % len(content) + content)
    sys.stdout.buffer.flush()
"""


class Renderer:
    """A process that draws one chart after the other; it is started when needed, and again after a crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def call(self, function: str, argument: Any, **options: Any) -> bytes | None:
        """What a function of vl-convert returns; None if the process ended or took too long."""
        request = json.dumps([function, argument, options]).encode() + b"\n"
        with self._lock:
            process = self._process = self._process or _start()
            timer = Timer(PATIENCE, process.kill)
            timer.start()
            answer = None
            try:
                answer = _ask(process, request)
            finally:
                timer.cancel()
                if answer is None:
                    self.close()
            return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _start() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)


def _ask(process: subprocess.Popen[bytes], request: bytes) -> bytes | None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(request)
        process.stdin.flush()
        size = int(process.stdout.readline())
        content = process.stdout.read(size)
    except (OSError, ValueError):  # a closed pipe, or no size: it ended
        return None
    return content if len(content) == size else None


RENDERER = Renderer()
atexit.register(RENDERER.close)
