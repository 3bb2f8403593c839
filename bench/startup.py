"""Start-up: processor seconds of short commands, and the time until an audit shows its first line of progress."""

from __future__ import annotations

import argparse
import os
import pty
import subprocess
import sys
import tempfile
import time

KINDS = ("measures", "vectors", "data", "models", "diagnoses", "mitigations", "tasks", "studies")
COMMANDS = (
    *("--help", "--version", "audit --help"),
    *(f"list {kind}" for kind in KINDS),
    *("--nope", "audit --nope", "audit --measure nope", "audit --data nope", "task nope"),
)
UNMASK = (sys.executable, "-m", "unmask")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each command, of which the quickest counts")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compiled = {"PYTHONPYCACHEPREFIX": f"{folder}/compiled", "UNMASK_CACHE_DIR": f"{folder}/cache"}
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment |= compiled | {"TERM": "xterm"}
        print("| unmask … | processor time, s | asked |\n| --- | --- | --- |")
        for command in COMMANDS:
            runs = [processor_seconds(command.split(), environment, folder) for _ in range(args.repeats + 1)]
            asked = "≤ 0.3" if command == "--help" or command.startswith("list") else ""
            print(f"| `{command}` | {min(runs[1:]):.2f} | {asked} |")  # the first run compiles
        seconds_to_progress(environment, folder)
        shown = min(seconds_to_progress(environment, folder) for _ in range(args.repeats))
        print(f"\nunmask audit, built-in model: first line of progress after {shown:.2f} s (asked ≤ 3)")


def processor_seconds(words: list[str], environment: dict[str, str], folder: str) -> float:
    """User and system time of one command."""
    process = subprocess.Popen(
        [*UNMASK, *words], env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def seconds_to_progress(environment: dict[str, str], folder: str) -> float:
    """Wall time until an audit has written to its terminal; it is ended then."""
    terminal, screen = pty.openpty()
    begin = time.perf_counter()
    process = subprocess.Popen(
        [*UNMASK, "audit", "--limit", "2"], env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=screen
    )
    os.close(screen)
    said = b""
    while b"prepare" not in said:
        said += os.read(terminal, 1024)
    seconds = time.perf_counter() - begin
    process.kill()
    process.wait()
    os.close(terminal)
    return seconds


if __name__ == "__main__":
    main()
