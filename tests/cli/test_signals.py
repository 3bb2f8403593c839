"""A signal ends a command in one line that says what is kept and how to resume; a second ends it at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import zoo
from explorer import samples
from tasks.tiny_models import biographies, untrained_model
from unmask.cli import main

READINGS = "kept: the readings so far, in the store; "
# Runs the command line; when a function of it is called, says so, and then goes on, or stays in a call that nothing
# interrupts, as a batch of torch, for about as long as many rounds take.
SCRIPT = """
import hashlib, pkgutil, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
place, rounds, *words = sys.argv[1:]
owner, _, name = place.rpartition(".")
owner = pkgutil.resolve_name(owner)
function = getattr(owner, name)
def called(*args, **keywords):
    result = function(*args, **keywords)
    print("here", flush=True)
    if int(rounds):
        hashlib.pbkdf2_hmac("sha256", b"", b"", int(rounds))
    return result
setattr(owner, name, called)
sys.argv[1:] = words
from unmask.__main__ import main
main()
"""
BATCH, FOR_EVER = 3_000_000, 1_000_000_000  # rounds: of a second or two, of many minutes


class Command:
    """A command in a process of its own, which has reached a place in its work."""

    def __init__(self, words: list[str | Path], place: str, cache: Path, *, rounds: int = 0) -> None:
        """`rounds`: it stays there for so long."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, place, str(rounds), *map(str, words)],
            env={**os.environ, "UNMASK_CACHE_DIR": str(cache)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cache.parent,
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line == "here\n":
                return
        pytest.fail(f"it never came to {place}: {self.process.communicate()[1]}")

    def end(self, *signals: signal.Signals) -> tuple[int, str]:
        """Send signals; the exit code, and what it said on stderr."""
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.05)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


def audit(folder: Path) -> list[str | Path]:
    data = ["--data", "crows-pairs", "--data-dir", zoo.MINIATURE, "--tokens", "64", "--measure", "cps"]
    return ["audit", zoo.folder("bert-uncased"), *data, "--no-report", "--offline", "--quiet", "--out", folder / "out"]


def corpus(folder: Path) -> list[str | Path]:
    text = folder / "text.txt"
    text.write_text("She is a nurse and he is a cook.\n" * 1_200_000, encoding="utf-8")
    return ["corpus", "count", text, "--processes", "2", "--quiet"]


def task(folder: Path) -> list[str | Path]:
    train = biographies(folder / "bios.jsonl", planted=True, n=400)
    words = [
        "--grid",
        "batch=8 rate=1e-3 epochs=50",
        "--length",
        "16",
        "--save-every",
        "5",
        "--out",
        folder / "out",
        "--quiet",
    ]
    return ["task", "biasbios", untrained_model(), "--train", train, *words]


def mitigate(folder: Path) -> list[str | Path]:
    text = folder / "text.txt"
    text.write_text("".join(f"The nurse said that she was late on day {day}.\n" for day in range(400)))
    words = ["--corpus", text, "--out", folder / "out", "--quiet", "--offline"]
    return ["mitigate", "cds", zoo.folder("bert-uncased"), *words]


def study(folder: Path) -> list[str | Path]:
    models = f"{zoo.folder('bert-uncased')},{zoo.folder('bert-cased')}"
    words = ["--models", models, "--limit", "20", "--offline", "--threads", "1", "--quiet"]
    return ["study", "paraphrase", *words, "--out", folder / "out"]


def explore(folder: Path) -> list[str | Path]:
    return ["explore", samples.run(folder / "run", "tiny"), "--no-live", "--no-browser", "--port", "0"]


def report(folder: Path) -> list[str | Path]:
    return ["report", samples.run(folder / "run", "tiny"), "--out", folder / "page.html"]


CASES = {  # command, where it is, what it says
    "importing": (audit, "unmask.core.signals.install", "nothing was written"),
    "audit": (audit, "unmask.models.engine.Engine._run", f"{READINGS}run the same command again to resume"),
    "corpus": (corpus, "unmask.corpus.counting.ProcessPoolExecutor.submit", "nothing was written"),
    "report": (report, "unmask.report.run.load", "nothing was written"),
    "explore": (explore, "unmask.explorer.server.NotifyingServer.startup", "the explorer is closed"),
    "mitigate": (mitigate, "unmask.models.engine.Engine._run", f"{READINGS}run the same command again to resume"),
    "task": (task, "unmask.training.trainer._StepCallback.on_save", "kept: the training up to step 5; to resume, run"),
    "study": (study, "unmask.studies.run.keep", "kept: 1 of 2 steps; to resume, run the same command with"),
}
SLOW = {"task", "study", "explore", "report"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] if name in SLOW else []) for name in CASES]
)
def test_a_signal_ends_a_command_in_one_line_that_says_what_is_kept(name: str, tmp_path: Path) -> None:
    words, place, said = CASES[name]
    number = signal.SIGTERM if name in ("corpus", "mitigate") else signal.SIGINT
    code, err = Command(words(tmp_path), place, tmp_path / "cache").end(number)
    assert code == 128 + number, err
    assert err.count("\n") == 1, err
    line = err.rstrip()
    assert line.startswith("unmask: interrupted; " if number == signal.SIGINT else "unmask: ended by SIGTERM; ")
    assert said in line
    assert not [path for path in tmp_path.rglob("*.partial") if path.is_file()]


def test_a_batch_in_flight_ends_before_the_command(tmp_path: Path) -> None:
    code, err = Command(audit(tmp_path), "unmask.cli.repeat_options", tmp_path / "cache", rounds=BATCH).end(
        signal.SIGINT
    )
    assert (code, err) == (130, "unmask: interrupted; nothing was written\n")


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    running = Command(audit(tmp_path), "unmask.cli.repeat_options", tmp_path / "cache", rounds=FOR_EVER)
    code, err = running.end(signal.SIGINT, signal.SIGTERM)
    assert (code, err.count("\n")) == (130, 1), err


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_worker_processes_end_without_a_word(seconds: float, tmp_path: Path) -> None:
    """The resource tracker of multiprocessing named semaphores, and workers printed tracebacks."""
    running = Command(corpus(tmp_path), CASES["corpus"][1], tmp_path / "cache")
    time.sleep(seconds)
    assert running.end(signal.SIGTERM) == (143, "unmask: ended by SIGTERM; nothing was written\n")


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_behind(number: signal.Signals, tmp_path: Path) -> None:
    running = Command(corpus(tmp_path), "unmask.corpus.counting.ProcessPoolExecutor.submit", tmp_path / "cache")
    workers = children(running.process.pid)
    assert workers
    running.end(number)
    until = time.monotonic() + 20  # a worker that is still importing ends when it has
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert [pid for pid in workers if Path(f"/proc/{pid}").exists()] == []


def children(parent: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found


def test_signals_that_are_ignored_stay_ignored() -> None:
    """As `nohup` and shell scripts with `&` start a command."""
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from unmask.core import signals; "
        "signals.install(); signal.raise_signal(signal.SIGHUP); print('alive')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "alive\n"


def test_the_signals_of_a_forked_process_are_its_own() -> None:
    """A pool ends its workers with SIGTERM: its parent must not take that for its own."""
    code = (
        "import os, signal, time; from unmask.core import signals; signals.install(); r, w = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0: os.write(w, b'x'); time.sleep(20); os._exit(0)\n"
        "os.read(r, 1); os.kill(pid, signal.SIGTERM); print(os.waitpid(pid, 0)[1]); time.sleep(1); print('alive')"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{int(signal.SIGTERM)}\nalive\n"


def test_an_interrupted_function_call_raises_the_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a process of its own, the command line does not end the process."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("unmask.cli.repeat_options", interrupt)
    with pytest.raises(SystemExit) as left:
        main(["list", "data"])
    assert left.value.code == 130


def test_a_signal_within_a_callback_is_one_line_too() -> None:
    """Python prints a traceback of what a callback raises, and goes on; imports have such callbacks."""
    script = """
import os, signal, time, weakref
from unmask.core import signals
signals.install()
class Thing: pass
thing = Thing()
reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM) or time.sleep(5))
del thing
time.sleep(5)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 128 + signal.SIGTERM
    assert ended.stderr == "unmask: ended by SIGTERM; nothing was written\n"


def test_a_signal_while_a_library_is_imported_is_one_line_too(tmp_path: Path) -> None:
    """What a library makes of an interrupted import is not known: torch aborts the process."""
    (tmp_path / "library.py").write_text(
        "import os, signal, time\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(0)\n"
        "except BaseException:\n    os.abort()\n"
    )
    script = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from unmask.core import signals
signals.install()
sys.path.insert(0, sys.argv[1])
import library
"""
    words = [sys.executable, "-c", script, str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (130, "unmask: interrupted; nothing was written\n")
