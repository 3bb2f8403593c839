"""Shared by the commands: messages, and options that take several values."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

RUNS = Path("unmask-runs")
# The vector measures, listed here to avoid importing them.
VECTORS = ("weat", "seat", "cseat", "ceat", "direct-bias", "ripa", "knn-bias")
_QUESTION = re.compile(r"(weat|seat)-\d+b?(-sentences)?|(sent|religion)-\S+")
_SUFFIXES = {".csv", ".tsv", ".json", ".jsonl", ".parquet", ".yaml", ".yml"}


def repeat_options(argv: list[str]) -> list[str]:
    """Rewrite `--measure cps aul` as `--measure cps --measure aul`; also --data, --questions, --corpus.

    A further word belongs to the option only if it is a known name or a data file, else it is an argument.
    """
    out: list[str] = []
    option = ""
    for word in argv:
        if word in ("--measure", "--data", "--questions", "--corpus"):
            option = word
        elif word.startswith("-"):
            option = ""
        elif option and out[-1] != option:
            if not _is_value_of(option, word):
                option = ""
            else:
                out.append(option)
        out.append(word)
    return out


def _is_value_of(option: str, word: str) -> bool:
    if option == "--questions":
        return bool(_QUESTION.fullmatch(word)) or Path(word).suffix.lower() in _SUFFIXES
    if option == "--corpus":
        return Path(word).is_file()
    if option == "--measure":
        from unmask.measures import MEASURES

        return all(part in MEASURES or part in VECTORS for part in word.split(","))
    from unmask import data

    return word in data.names() or Path(word).suffix.lower() in _SUFFIXES


def split_names(values: list[str] | None) -> list[str]:
    """Repeated options and comma-separated lists as one list."""
    return [part for value in values or [] for part in value.split(",") if part]


def stderr_printer(quiet: bool) -> Callable[[str], None]:
    """A function that prints a line to stderr, or does nothing if `quiet`."""
    import typer

    return (lambda _: None) if quiet else (lambda line: typer.echo(line, err=True))


def new_folder(name: str) -> Path:
    """The default result folder of a run: its name and the time."""
    plain = Path(name).resolve().name if Path(name).is_dir() else name
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", plain)
    return RUNS / f"{slug}-{datetime.now():%Y%m%d-%H%M%S}"
