"""Commands of unmask in processes forked from this one, which has imported everything and done nothing."""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

MODULES = "modules.json"
ENVIRONMENT = {
    **{"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    **{"MKL_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
}


class Process:
    """A function in a forked process, in a folder of its own; its output goes to `stdout` and `stderr` there."""

    def __init__(self, function: Callable[[], object], folder: Path, cache: Path, *, file_size: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.code = folder, 0
        self.began, self.ended = time.monotonic(), 0.0
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(_enter(function, folder, cache, file_size))

    @property
    def stderr(self) -> str:
        """What it printed for the user."""
        return (self.folder / "stderr").read_text("utf-8", errors="replace")

    def wait(self, seconds: float = 300.0) -> int:
        """Its exit code, negative for a signal; it is killed after so many seconds."""
        until = time.monotonic() + seconds
        while not self._has_ended():
            if time.monotonic() > until:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.005)
        return self.code

    def kill_after(self, seconds: float) -> bool:
        """Kill it at this time after its start; whether that ended it."""
        while time.monotonic() < self.began + seconds and not self._has_ended():
            time.sleep(0.002)
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)  # it was not waited for yet, so the number is its own
        return self.wait() == -signal.SIGKILL

    def _has_ended(self) -> bool:
        if not self.ended:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self.ended = time.monotonic()
        return bool(self.ended)


def run_command(words: Sequence[str], folder: Path, cache: Path, **options: Any) -> Process:
    """Start a command of unmask."""

    def command() -> None:
        sys.argv = ["unmask", *words]
        from unmask.__main__ import main

        main()

    return Process(command, folder, cache, **options)


def call(function: Callable[[], Any], folder: Path) -> Any:
    """What a function returns, as JSON, computed in a forked process so that this one stays as it is."""
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    process = Process(lambda: answer.write_text(json.dumps(function())), folder, folder / "cache")
    if process.wait() != 0:
        raise RuntimeError(f"a check ended with code {process.code}:\n{process.stderr}")
    return json.loads(answer.read_text())


def import_modules(folder: Path) -> None:
    """Import what a finished command had imported, so that commands forked from now on need not."""
    warnings.simplefilter("ignore")
    for name in json.loads((folder / MODULES).read_text()):
        try:
            importlib.import_module(name)
        except BaseException:  # some modules are made by others, or refuse to be imported alone
            continue


def _enter(function: Callable[[], object], folder: Path, cache: Path, file_size: int) -> int:
    """Be the new process; its exit code."""
    os.chdir(folder)
    for number, name in ((1, "stdout"), (2, "stderr")):
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
    os.environ.update({"UNMASK_CACHE_DIR": str(cache)})
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if file_size:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    code = 0
    try:
        function()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        if not file_size:
            names = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None)]
            Path(MODULES).write_text(json.dumps(names))
    except OSError:
        pass
    return code


def environment(cache: Path) -> Mapping[str, str]:
    """The environment of a command that is not forked."""
    return {**os.environ, **ENVIRONMENT, "UNMASK_CACHE_DIR": str(cache)}
