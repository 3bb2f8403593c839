"""Damage valid inputs and read them: accepted or refused in one line, never anything else.

A `Boundary` is one place where files from outside enter: valid examples of them, and the function that reads
them. `mutations()` is a Hypothesis strategy of damages; `fuzz` applies them to the examples and counts what happens.
Each `test_*.py` of this folder has a list `BOUNDARIES` and one test with a small budget; `python -m tests.fuzz`
(`make fuzz`) runs all boundaries with a large one and prints the table.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from unmask.core.errors import MAX_MESSAGE, UnmaskError

BUDGET = int(os.environ.get("UNMASK_FUZZ", "40"))  # damaged inputs of each boundary in `make test`
PATIENCE = 20.0  # seconds of processor time; longer is a hang
WAITING = 180.0  # seconds on the clock, which other programs on the machine prolong: it waits for nothing
Files = Mapping[str, bytes]  # name in the folder → content
Damage = tuple[int, int, int]  # three large numbers: which file, which kind of damage, where and with what

# what a JSON, YAML or CSV value may be replaced by
HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf")),
    *("", " ", "x", "\x00", "\x1b[31mred\x1b[0m", "\x0b", "\ufffe", "\u202egnol", "\ud800", "😀" * 40, "é" * 300),
    *("=HYPERLINK(1)", "../../etc/passwd", "/dev/zero", "{slot}", "{", "%s", "<script>alert(1)</script>", "a" * 70_000),
    *("2024-99-99", "1e999", "nan", "-", "null", "!!python/object:os.system"),
    *([], {}, [[]], [None], [1, "x"], {"": ""}, {"x": None}, [{}] * 3),
)
BYTES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b'"',
    b",",
    b"\t",
    b"{",
    b"[",
    b"\\ud800",
    b"\x80",
    b"NaN",
    b"9" * 5000,
)


class Hang(BaseException):
    """A boundary takes too long; no handler of errors catches it."""


@dataclass(frozen=True)
class Boundary:
    """A place where files from outside are read."""

    name: str
    examples: Callable[[], Sequence[Files]]  # valid inputs
    read: Callable[[Path], object]  # reads a folder that holds the files; `UnmaskError`: refused
    share: int = 1  # its part of a large budget: cheap boundaries can have more


@dataclass
class Tally:
    """What happened to the inputs of one boundary."""

    tried: int = 0
    accepted: int = 0
    refused: int = 0
    other: list[str] = field(default_factory=list)  # tracebacks, each with the damage that led to it
    kinds: Counter[str] = field(default_factory=Counter)


def mutations() -> st.SearchStrategy[list[Damage]]:
    """One to four damages."""
    number = st.integers(0, 2**32 - 1)
    return st.lists(st.tuples(number, number, number), min_size=1, max_size=4)


def fuzz(boundary: Boundary, inputs: int, *, seed_of_run: int = 0, stop: bool = True) -> Tally:
    """Try damaged inputs; with `stop`, anything but acceptance or refusal is raised with its smallest damage."""
    tally, examples = Tally(), boundary.examples()
    assert examples, "a boundary needs a valid example"
    for example in examples:  # what is valid must be accepted, or the fuzzing shows nothing
        with write_folder(example) as folder:
            boundary.read(folder)

    @seed(seed_of_run)
    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink] if stop else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet if not stop else Verbosity.normal,
    )
    @given(st.integers(0, len(examples) - 1), mutations())
    def attempt(which: int, damages: list[Damage]) -> None:
        files = damage(examples[which], damages)
        tally.tried += 1
        try:
            with write_folder(files) as folder, time_limit():
                boundary.read(folder)
        except UnmaskError as error:
            check_message(error)
            tally.refused += 1
        except (Exception, Hang) as error:
            tally.kinds[type(error).__name__] += 1
            tally.other.append(f"{damages}\n{traceback.format_exc(limit=-6)}")
            if stop:
                raise
        else:
            tally.accepted += 1

    attempt()
    return tally


def boundaries() -> list[Boundary]:
    """All boundaries of the test files of this folder."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))
    return [each for name in names for each in importlib.import_module(f"tests.fuzz.{name}").BOUNDARIES]


def fuzz_boundary(name: str, inputs: int, seed: int) -> tuple[str, Tally, float]:
    """Fuzz one boundary in a process of its own: its name, what happened, and the seconds."""
    warnings.simplefilter("ignore")
    (boundary,) = (each for each in boundaries() if each.name == name)
    began = time.monotonic()
    return name, fuzz(boundary, inputs, seed_of_run=seed, stop=False), time.monotonic() - began


def check_message(error: UnmaskError) -> None:
    """A refusal is one line that a terminal can print."""
    text = str(error)
    assert text, "an empty message"
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) <= MAX_MESSAGE + 3


def damage(files: Files, damages: Sequence[Damage]) -> dict[str, bytes]:
    """The files after the damages."""
    changed = dict(files)
    for which, kind, where in damages:
        name = sorted(changed)[which % len(changed)]
        changed[name] = _damage(name, changed[name], kind, random.Random(where))
    return changed


def _damage(name: str, content: bytes, kind: int, rng: random.Random) -> bytes:
    suffix = Path(name).suffix
    structured: list[Callable[[bytes, random.Random], bytes]] = []
    if suffix == ".json":
        structured = [_json] * 6
    elif suffix in (".jsonl", ".ndjson"):
        structured = [_json_lines] * 6
    elif suffix in (".csv", ".tsv"):
        structured = [_cells] * 6
    elif suffix in (".yaml", ".yml"):
        structured = [_yaml] * 6
    ways = [*structured, _flip, _cut, _insert, _repeat, _swap, _drop_line]
    return ways[kind % len(ways)](content, rng)


def _flip(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 16))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _insert(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(BYTES) + content[at:]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[at : at + 200] * rng.choice((2, 50)) + content[at:]


def _swap(content: bytes, rng: random.Random) -> bytes:
    if len(content) < 4:
        return content
    a, b = sorted(rng.randrange(len(content)) for _ in range(2))
    return content[b:] + content[a:b] + content[:a]


def _drop_line(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if lines:
        del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def _json(content: bytes, rng: random.Random) -> bytes:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return _flip(content, rng)
    return _dump(_replace_part(value, rng))


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def _json_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines()
    if lines:
        at = rng.randrange(len(lines))
        lines[at] = _json(lines[at], rng)
    return b"\n".join(lines) + b"\n"


def _yaml(content: bytes, rng: random.Random) -> bytes:
    import yaml

    try:
        value = yaml.safe_load(content)
    except Exception:
        return _flip(content, rng)
    return _dump(_replace_part(value, rng))  # JSON is YAML


def _cells(content: bytes, rng: random.Random) -> bytes:
    import csv
    import io

    try:
        rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    except (ValueError, csv.Error):
        return _flip(content, rng)
    if not rows:
        return content
    row = rng.choice(rows)
    what = rng.randrange(4)
    if what == 0 and row:
        row[rng.randrange(len(row))] = str(rng.choice(HOSTILE))
    elif what == 1 and row:
        del row[rng.randrange(len(row))]
    elif what == 2:
        row.insert(rng.randrange(len(row) + 1), str(rng.choice(HOSTILE)))
    else:
        rows.insert(rng.randrange(len(rows) + 1), list(rng.choice(rows)))
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(rows)
    return stream.getvalue().encode("utf-8", errors="surrogatepass")


def _replace_part(value: Any, rng: random.Random) -> Any:  # noqa: PLR0911 - one way to damage per line
    """The value with one part replaced, removed, renamed or wrapped; the deeper the rarer to stop."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value, key=str))
        what = rng.randrange(8)
        if what == 0:
            return {name: each for name, each in value.items() if name != key}
        if what == 1:
            return {(str(rng.choice(HOSTILE)) if name == key else name): each for name, each in value.items()}
        return {name: _replace_part(each, rng) if name == key else each for name, each in value.items()}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        if rng.random() < 0.1:
            return value[:at] + value[at + 1 :]
        return [_replace_part(each, rng) if number == at else each for number, each in enumerate(value)]
    if rng.random() < 0.1:
        return [value]
    return rng.choice(HOSTILE)


@contextmanager
def write_folder(files: Files) -> Iterator[Path]:
    """A temporary folder that holds the files."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise `Hang` if the block computes longer than `PATIENCE`, or takes longer than `WAITING` on the clock."""
    begin, computed = time.monotonic(), time.process_time()

    def check(*_: object) -> None:
        if time.process_time() - computed > PATIENCE:
            raise Hang(f"not finished after {PATIENCE:g} s of processor time")
        if time.monotonic() - begin > WAITING:
            raise Hang(f"not finished after {WAITING:g} s")

    before = signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
