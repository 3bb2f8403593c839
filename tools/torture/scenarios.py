"""The commands that are tortured, their inputs, their undisturbed results, and the comparison with these."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.torture.processes import call, import_modules, run_command

OUT = "out"
LOOSE = (".html", ".svg", ".png", ".pdf")  # pages and figures hold times


@dataclass(frozen=True)
class Inputs:
    """Models and files of all commands."""

    model: Path
    corpus: Path
    train: Path
    data: Path  # data sets in the published formats


@dataclass
class Scenario:
    """A command, and what it writes when nothing disturbs it."""

    name: str
    words: list[str]
    folder: Path  # of the undisturbed runs
    seconds: float = 0.0
    volatile: set[str] = field(default_factory=set)  # fields that differ between undisturbed runs, such as times

    @property
    def undisturbed(self) -> Path:
        """The undisturbed result."""
        return self.folder / "a" / OUT

    @property
    def cache(self) -> Path:
        """The undisturbed cache."""
        return self.folder / "a" / "cache"

    def run(self, folder: Path, **options: Any) -> Any:
        """Start the command in a folder, which holds its cache too."""
        return run_command(self.words, folder, folder / "cache", **options)

    def prepare(self) -> None:
        """Run it twice undisturbed: what differs between these runs is not compared later."""
        for name in ("a", "b"):
            process = self.run(self.folder / name)
            if process.wait() != 0:
                raise RuntimeError(f"{self.name} fails undisturbed (code {process.code}):\n{process.stderr}")
            self.seconds = process.ended - process.began
            import_modules(self.folder / name)
        self.compare_undisturbed()

    def compare_undisturbed(self) -> None:
        """Find what differs between the undisturbed runs."""
        first, second = (_leaves(self.folder / name / OUT) for name in ("a", "b"))
        self.volatile = {key for key in {*first, *second} if first.get(key) != second.get(key)}

    def differences(self, out: Path, *, pages: bool = True) -> list[str]:
        """Names of what differs from the undisturbed result."""
        wanted, seen = _leaves(self.undisturbed), _leaves(out)
        keys = {key for key in {*wanted, *seen} if wanted.get(key) != seen.get(key)} - self.volatile
        return sorted(key for key in keys if pages or not key.endswith(LOOSE))


def scenarios(inputs: Inputs, folder: Path, only: str = "") -> list[Scenario]:
    """Every command, not prepared yet."""
    model, offline = str(inputs.model), ["--offline", "--quiet", "--out", OUT]
    miniature = ["--data-dir", str(inputs.data)]
    audit = ["audit", model, "--data", "crows-pairs", *miniature, "--tokens", "64", "--measure", "cps,aula"]
    train = ["--train", str(inputs.train), "--grid", "batch=8 rate=1e-3 epochs=2", "--length", "16"]
    corpus = [str(inputs.corpus), "--seed", "0"]
    training = ["--epochs", "1", "--batch", "8", "--length", "16", "--save-every", "3", "--limit", "12"]
    words = {
        "audit": [*audit, "--limit", "40", "--no-report", *offline],
        "audit with its page": [*audit, "--limit", "12", *offline],
        "mitigate": ["mitigate", "cda", model, "--corpus", *corpus, *training, "--no-report", *offline],
        "task": ["task", "biasbios", model, *train, "--save-every", "4", "--no-report", *offline],
        "study": ["study", "aul", "--models", model, *miniature, "--limit", "6", "--shard", "3"],
        "prompts": ["prompts", model, "--limit", "20", "--no-report", *offline],
        "corpus count": ["corpus", "count", *corpus, "--processes", "1", "--no-report", "--quiet", "--out", OUT],
        "corpus bias": ["corpus", "bias", *corpus, "--model", model, *training, "--no-report", *offline],
    }
    words["study"] += ["--threads", "1", "--no-report", *offline]
    return [Scenario(name, each, folder / name.replace(" ", "-")) for name, each in words.items() if only in name]


def check_folder(scenario: Scenario, folder: Path, *, readings: bool = True) -> list[str]:
    """What is wrong in the folder of a command that was killed: half results that load, damaged stores."""

    def problems() -> list[str]:
        return [*_half_results(scenario, folder / OUT), *(_wrong_readings(scenario, folder) if readings else ())]

    return list(call(problems, folder))


def check_finished(scenario: Scenario, folder: Path) -> list[str]:
    """What is wrong in the folder of a command that ended with success."""
    problems = [f"differs: {name}" for name in scenario.differences(folder / OUT)]
    left = [path.name for path in (folder / OUT).rglob("*.partial")]
    return [*problems, *(f"left: {name}" for name in left), *check_folder(scenario, folder)]


def _half_results(scenario: Scenario, out: Path) -> Iterator[str]:
    """Results that can be loaded but are not complete."""
    import unmask
    from unmask.core.errors import UnmaskError

    for path in sorted(out.rglob("result.json")):
        place = path.parent.relative_to(out)
        if any(part.endswith(".partial") for part in place.parts):
            continue
        try:
            result = unmask.load(path.parent)
            if (path.parent / "items.parquet").is_file():
                result.items.num_rows  # noqa: B018 - reads the table
        except UnmaskError:
            continue
        wanted = {key: value for key, value in _leaves(scenario.undisturbed).items() if not key.endswith(LOOSE)}
        seen = _leaves(out)
        names = [f"{place}/{name}".removeprefix("./") for name in ("result.json", "items.parquet", "tokens.parquet")]
        for key, value in wanted.items():
            if key.split("#")[0] in names and key not in scenario.volatile and seen.get(key) != value:
                yield f"a half result loads: {key}"


def _wrong_readings(scenario: Scenario, folder: Path) -> Iterator[str]:
    """Readings in the store of a run that are not those of the undisturbed run."""
    from unmask.models.store import Store

    for path in sorted((folder / "cache" / "store").glob("*.sqlite")):
        with tempfile.TemporaryDirectory(dir=folder) as copy:
            for suffix in ("", "-wal"):
                if Path(f"{path}{suffix}").exists():
                    shutil.copy(f"{path}{suffix}", copy)
            store, wanted = Store(Path(copy) / path.name), Store(scenario.cache / "store" / path.name)
            connection = sqlite3.connect(Path(copy) / path.name)
            (said,) = connection.execute("PRAGMA integrity_check").fetchone()
            if said != "ok":
                yield f"the store is damaged: {said}"
            keys = [key for (key,) in connection.execute("SELECT key FROM readings")]
            connection.close()
            true = wanted.fetch(keys)
            for key, stored in store.fetch(keys).items():
                if key not in true or not stored.answers.items() <= true[key].answers.items():
                    yield f"a wrong reading: {key.hex()}"
            store.close()
            wanted.close()


def _leaves(folder: Path) -> dict[str, Any]:
    """The content of all files by name; of JSON files every field by itself."""
    leaves: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            content = path.read_bytes()
            leaves[name] = True  # it is there
            if path.suffix == ".json":
                try:
                    leaves.update(_fields(json.loads(content), f"{name}#"))
                except ValueError:
                    leaves[name] = "no JSON"
            else:
                leaves[f"{name}#{path.suffix}"] = hashlib.sha256(content).hexdigest()
    return leaves


def _fields(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every field but the counts of what a run had to compute, which is less where it was resumed."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key != "sentences_run":
                yield from _fields(each, f"{name}/{key}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _fields(each, f"{name}/{number}")
    else:
        yield name, re.sub(r"[\d,]+ new sentences run", "", value) if isinstance(value, str) else value
