"""The tests: each returns how often something was tried, and what failed."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tools.torture.processes import Process, call, environment, run_command
from tools.torture.scenarios import OUT, Scenario, check_finished, check_folder

PATIENCE = 20.0  # seconds in which the batch in flight is done
SIGNALS = (signal.SIGINT, signal.SIGTERM)
DISK = 64  # MiB of the small disk
FREE = (0.0, 0.02, 0.1, 0.3, 0.6, 0.9)  # of what a command writes


@dataclass
class Row:
    """A row of the table."""

    test: str
    tries: int = 0
    failures: list[str] = field(default_factory=list)

    def check(self, problems: Sequence[str], where: object = "") -> None:
        """Count a try, and a failure if there are problems."""
        self.tries += 1
        if problems:
            self.failures.append(f"{self.test} {where}: {'; '.join(problems[:4])}")


def one_line(process: Process, code: int | None = 2) -> list[str]:
    """What is wrong with how a command refused: one line, no traceback, this exit code."""
    lines = process.stderr.splitlines()
    problems = []
    if code is not None and process.code != code:
        problems.append(f"exit code {process.code}, not {code}: {process.stderr[-600:]!r}")
    errors = [line for line in lines if "continuing without a store" not in line]
    if len(errors) != 1 or not errors[0].startswith("unmask: "):
        problems.append(f"not one line: {process.stderr[-600:]!r}")
    return problems


# --------------------------------------------------------------------------------------- signals


def kill(scenario: Scenario, folder: Path, kills: int, seed: int) -> Row:
    """Kill a command at random moments, up to three times, and run it to its end; the result must be the same."""
    row, chance = Row(f"SIGKILL {scenario.name}"), random.Random(f"{seed}/{scenario.name}")
    number, seconds = 0, scenario.seconds
    while row.tries < kills and number < 4 * kills:
        number += 1
        place = folder / f"{scenario.name.replace(' ', '-')}-{number}"
        for attempt in range(min(chance.randint(1, 3), kills - row.tries)):
            at, process = chance.uniform(0, 1.05 * seconds), scenario.run(place)
            if process.kill_after(at):
                row.check(check_folder(scenario, place), f"after {at:.2f} s")
            elif attempt == 0:
                seconds = process.ended - process.began  # the machine has less to do than before
        process = scenario.run(place)
        problems = [f"resumed: code {process.code}, {process.stderr[-800:]}"] if process.wait() != 0 else []
        problems = problems or check_finished(scenario, place)
        if problems:
            row.failures.append(f"{row.test} resumed: {'; '.join(problems[:4])}")
        else:
            shutil.rmtree(place)
    return row


def kill_explorer(answers: Path, folder: Path, kills: int, seed: int) -> Row:
    """Kill the server while annotations are saved: what it has confirmed is kept."""
    row, chance = Row("SIGKILL explore, saving annotations"), random.Random(f"{seed}/explore")
    shutil.copytree(answers, folder / OUT)
    confirmed: dict[str, str] = {}
    while row.tries < kills:
        server = run_command(["explore", OUT, "--no-live", "--no-browser", "--port", "0"], folder, folder / "cache")
        url, token = _address(server)
        timer = threading.Timer(chance.uniform(0.0, 0.5), os.kill, (server.pid, signal.SIGKILL))
        timer.start()
        pending: dict[str, str] = {}
        try:
            prompts = [each["prompt"] for each in _ask(f"{url}/api/judge?judge=anna", token)["answers"]]
            while True:
                prompt, verdict = chance.choice(prompts), chance.choice(["biased", "not biased"])
                pending = {prompt: verdict}
                _ask(f"{url}/api/judge", token, {"prompt": prompt, "judge": "anna", "verdict": verdict})
                confirmed[prompt] = verdict
        except (OSError, urllib.error.URLError, ValueError):
            timer.join()
        server.wait()
        kept = call(partial(_annotations, folder / OUT), folder)
        for prompt, verdict in pending.items():  # saved or not, both are right
            if kept.get(prompt) == verdict:
                confirmed[prompt] = verdict
        lost = [prompt for prompt, verdict in confirmed.items() if kept.get(prompt) != verdict]
        row.check([f"lost: {prompt}" for prompt in lost], server.stderr)
    return row


def interrupt(scenario: Scenario, folder: Path, tries: int, seed: int) -> Row:
    """Send SIGINT or SIGTERM to a command that was started as users start it."""
    row, chance = (
        Row("SIGINT and SIGTERM: one line, after the batch in flight"),
        random.Random(f"{seed}/{scenario.name}"),
    )
    for number in range(3 * tries):
        if row.tries == tries:
            break
        place, sent = folder / f"{scenario.name.replace(' ', '-')}-{number}", chance.choice(SIGNALS)
        place.mkdir(parents=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "unmask", *scenario.words],
            cwd=place,
            env=environment(place / "cache"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - perhaps ignored here
        )
        time.sleep(at := chance.uniform(0.3, 6.0 + scenario.seconds))
        process.send_signal(sent)
        began = time.monotonic()
        _, said = process.communicate(timeout=120)
        took = time.monotonic() - began
        where = f"{scenario.name}, {sent.name} after {at:.2f} s"
        if process.returncode == 0:
            continue  # it had ended
        if process.returncode == -sent and not said:
            row.check([])  # Python itself had not started
            continue
        problems = [] if process.returncode == 128 + sent else [f"exit code {process.returncode}: {said[-600:]!r}"]
        problems += [] if said.count("\n") == 1 and said.startswith("unmask: ") else [f"not one line: {said[:900]!r}"]
        problems += [f"took {took:.1f} s"] if took > PATIENCE else []
        row.check([*problems, *check_folder(scenario, place, readings=False)], where)  # it evaluates other items
    return row


# ----------------------------------------------------------------------------- several processes


def share_store(scenario: Scenario, folder: Path, rounds: int) -> Row:
    """Four processes use one store at the same time, with folders of their own."""
    row = Row("four processes, one store")
    for number in range(rounds):
        cache = folder / f"{number}-cache"
        running = [run_command(scenario.words, folder / f"{number}-{each}", cache) for each in range(4)]
        for process in running:
            process.wait()
            (process.folder / "cache").symlink_to(cache)
        for process in running:
            problems = [] if process.code == 0 and not process.stderr else [f"{process.code}: {process.stderr[-600:]}"]
            row.check(problems or check_finished(scenario, process.folder))
    return row


def share_folder(scenario: Scenario, folder: Path, rounds: int) -> Row:
    """Four processes write to one folder: one works, the others say so in one line."""
    row = Row("four processes, one output folder")
    for number in range(rounds):
        place = folder / f"{number}"
        words = [str(place / OUT) if word == OUT else word for word in scenario.words]
        running = [run_command(words, place / f"{each}", place / "cache") for each in range(4)]
        codes = sorted(process.wait() for process in running)
        problems = [] if codes == [0, 2, 2, 2] else [f"exit codes {codes}"]
        for process in running:
            problems += one_line(process) if process.code else []
        row.check(problems or check_finished(scenario, place))
    return row


def share_default_folder(scenario: Scenario, folder: Path, rounds: int) -> Row:
    """Two audits of different data start in the same second without a folder named: each has its own."""
    row = Row("two processes, default output folder")
    words = scenario.words[: scenario.words.index("--out")]
    fewer = ["5" if previous == "--limit" else word for previous, word in zip(["", *words], words, strict=False)]
    for number in range(rounds):
        place = folder / f"{number}"
        running = [
            Process(partial(_run_in, place, chosen), place / f"{each}", place / "cache")
            for each, chosen in enumerate((words, fewer))
        ]
        codes = [process.wait() for process in running]
        sizes = call(partial(_all_rows, place / "unmask-runs"), place / "check")
        wanted = call(partial(_rows, scenario.undisturbed), place / "check")
        whole = codes == [0, 0] and len(sizes) == 2 and sizes[1] == wanted and sizes[0] < wanted
        row.check([] if whole else [f"codes {codes}, rows {sizes}, {[each.stderr[-300:] for each in running]}"])
    return row


# ---------------------------------------------------------------------------------------- stores


def damage_stores(tries: int, seed: int) -> Row:
    """Damage stores of readings; a reading is the true one or missing."""
    from tests.fuzz.harness import fuzz
    from tests.fuzz.test_store import BOUNDARIES

    row = Row("damaged store")
    for boundary in BOUNDARIES:
        tally = fuzz(boundary, tries // len(BOUNDARIES), seed_of_run=seed, stop=False)
        row.tries += tally.tried
        row.failures += tally.other
    return row


# ------------------------------------------------------------------------------------------ disks


def fill_disk(scenario: Scenario, folder: Path, sizes: Sequence[float]) -> Row:
    """Run a command on a disk with too little room, in a new folder and over an earlier result."""
    row = Row(f"full disk, {scenario.name}")
    size = sum(path.stat().st_size for path in scenario.undisturbed.rglob("*") if path.is_file())
    for share in sizes:
        for earlier in (False, True):
            with small_disk(folder / "disk") as limited:
                place = folder / "disk" / "run"
                if earlier:
                    shutil.copytree(scenario.undisturbed, place / OUT)
                else:
                    place.mkdir()
                shutil.rmtree(folder / "log", ignore_errors=True)
                words = [str(place / OUT) if word == OUT else word for word in scenario.words]
                words = [*words, "--seed", "1"] if earlier else words
                room = int(share * size)
                if not limited:
                    leave_free(folder / "disk", room)
                cache = place / "cache" if share in (0.0, 0.3) else folder / "log" / "cache"
                process = run_command(words, folder / "log", cache, file_size=max(room, 1) if limited else 0)
                process.wait()
                problems = check_full(scenario, process, place / OUT, earlier=earlier)
            row.check(problems, f"with room for {share:.0%}, {'over an earlier result' if earlier else 'new'}")
    return row


def check_full(scenario: Scenario, process: Process, out: Path, *, earlier: bool) -> list[str]:
    """What is wrong after a command on a full disk."""
    if process.code == 0:
        return [] if earlier else [f"differs: {name}" for name in scenario.differences(out)]
    problems = one_line(process)
    if earlier:
        files = {name: name.split("#")[0] for name in scenario.differences(out)}
        lost = [name for name, file in files.items() if (scenario.undisturbed / file).exists() and file != "study.json"]
        problems += [f"the earlier result is changed: {name}" for name in lost]
    else:
        loads = call(partial(_loads, out), process.folder)
        problems += ["a half result loads"] if loads and scenario.differences(out, pages=False) else []
    return problems


def fill_disk_of_report(run: Path, folder: Path) -> Row:
    """Write a page and a model card to a full disk: what was there stays."""
    row = Row("full disk, report and card")
    card = "---\nlicense: mit\n---\n" + "".join(f"My own line {number}.\n" for number in range(2000))
    for words in (["-o"], ["--card"], ["--figures"]):
        for room in (0, 2_000, 60_000):
            with small_disk(folder / "disk") as limited:
                target = folder / "disk" / {"-o": "page.html", "--card": "README.md", "--figures": "figures"}[words[0]]
                if words[0] != "--figures":
                    target.write_text(card, encoding="utf-8")
                if not limited:
                    leave_free(folder / "disk", room)
                shutil.rmtree(folder / "log", ignore_errors=True)
                process = run_command(
                    ["report", str(run), *words, str(target)],
                    folder / "log",
                    folder / "cache",
                    file_size=max(room, 1) if limited else 0,
                )
                if process.wait() == 0:
                    text = target.read_text("utf-8") if words == ["--card"] else "My own line 1999."
                    problems = [] if "My own line 1999." in text else ["lines are lost"]
                else:
                    problems = one_line(process)
                    if words[0] != "--figures" and target.read_text("utf-8") != card:
                        problems.append("the earlier file is changed")
                    problems += [f"left: {path.name}" for path in (folder / "disk").rglob("*.partial")]
            row.check(problems, f"{words[0]} with room for {room:,} bytes")
    return row


def write_protected(scenario: Scenario, folder: Path) -> Row:
    """A read-only place for the result is refused in one line; a read-only store is not used, with a warning."""
    row = Row(f"read-only, {scenario.name}")
    place = folder / "protected"
    shutil.copytree(scenario.undisturbed, place / "old" / OUT)
    with read_only(place):
        for out in (place / OUT, place / "old" / OUT):
            shutil.rmtree(folder / "log", ignore_errors=True)
            words = [str(out) if word == OUT else word for word in scenario.words]
            process = run_command(words, folder / "log", folder / "log" / "cache")
            process.wait()
            row.check(one_line(process), out.parent.name)
        process = run_command(scenario.words, folder / "store", place / "cache")
        problems = [] if process.wait() == 0 else [f"code {process.code}"]
        problems += [] if process.stderr.count("\n") <= 1 else [f"more than one line: {process.stderr[-600:]!r}"]
        row.check(problems or [f"differs: {name}" for name in scenario.differences(folder / "store" / OUT)], "store")
    return row


def can_mount() -> bool:
    """Whether this process may mount file systems."""
    return os.environ.get("UNMASK_TORTURE_MOUNTS") == "1"


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A small disk; where none can be mounted, a plain folder and True: limit the size of files instead."""
    folder.mkdir(parents=True, exist_ok=True)
    if not can_mount():
        yield True
        shutil.rmtree(folder)
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", str(folder)], check=True)
    try:
        yield False
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def leave_free(folder: Path, room: int) -> None:
    """Fill a disk but for so many bytes, in whole blocks."""
    status = os.statvfs(folder)
    with (folder / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, status.f_bavail * status.f_bsize - room))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that nobody can write to."""
    subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


# ---------------------------------------------------------------------------------------- details


def _run_in(folder: Path, words: Sequence[str]) -> None:
    os.chdir(folder)
    sys.argv = ["unmask", *words]
    from unmask.__main__ import main

    main()


def _all_rows(folder: Path) -> list[int]:
    return sorted(map(_rows, folder.iterdir()))


def _rows(folder: Path) -> int:
    """The rows of a whole result; -1 if it does not load or its tables are of another run."""
    import unmask
    from unmask.core.errors import UnmaskError

    try:
        result = unmask.load(folder)
        rows = result.items.num_rows
    except UnmaskError:
        return -1
    measures = {estimate["measure"] for estimate in result.meta["estimates"]}
    return rows if rows == result.meta["data"][0]["n"] * len(measures) else -1


def _loads(folder: Path) -> bool:
    import unmask
    from unmask.core.errors import UnmaskError

    try:
        unmask.load(folder)
    except UnmaskError:
        return False
    return True


def _annotations(folder: Path) -> dict[str, str]:
    from unmask.prompts.annotations import latest_verdicts, open_folder

    verdicts = latest_verdicts(open_folder(folder).read_annotations())
    return {prompt: by_judge["anna"] for prompt, by_judge in verdicts.items()}


def _address(server: Process) -> tuple[str, str]:
    """The address and token that the explorer prints."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        said = (server.folder / "stdout").read_text() if (server.folder / "stdout").exists() else ""
        if (found := re.search(r"open (http://[^/\s]+)/\S*?[?#&]token=([\w-]+)", said)) and "reachable" in said:
            return found[1], found[2]
        time.sleep(0.01)
    raise RuntimeError(f"the explorer does not start: {server.stderr}")


def _ask(url: str, token: str, body: Any = None) -> Any:
    headers = {"x-unmask-token": token, "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data, headers), timeout=10) as answer:
        return json.loads(answer.read())
