"""Shared by the commands: messages, and options that take several values."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path

RUNS = Path("unmask-runs")
invoked: ContextVar[tuple[str, ...]] = ContextVar("invoked", default=())  # the words of the running command


def repeat_options(argv: list[str]) -> list[str]:
    """Rewrite `--measure cps aul` as `--measure cps --measure aul`; also --data, --questions, --corpus, --baseline.

    A further word belongs to the option only if it is a known name or a data file, else it is an argument.
    """
    out: list[str] = []
    option = ""
    for word in argv:
        if word.startswith("-"):
            option = word if word in _IS_VALUE else ""
            if option == "--baseline" and not any(not each.startswith("-") for each in out[1:]):
                option = ""  # the run that is judged is still to come
        elif option and out[-1] != option:
            option = option if _IS_VALUE[option](word) else ""
            out += [option] if option else []
        out.append(word)
    return out


def _is_measure(word: str) -> bool:
    """Whether it names measures, of sentences or of vectors."""
    from unmask.measures import MEASURES

    unknown = {*word.split(",")} - {*MEASURES}
    if not unknown:
        return True
    from unmask.vectors import VECTOR_MEASURES

    return unknown <= {*VECTOR_MEASURES}


def _is_data(word: str) -> bool:
    """Whether it is the name of a dataset, of hub data, or of a file that can be one."""
    from unmask import data
    from unmask.data.formats import SUFFIXES
    from unmask.data.hub import is_hub_name
    from unmask.data.templates import YAML

    return word in data.names() or is_hub_name(word) or Path(word).suffix.lower() in (*SUFFIXES, *YAML)


def _is_question(word: str) -> bool:
    """Whether it names a question of association tests, or a file of them."""
    from unmask.vectors.questions import is_question

    return is_question(word)


_IS_VALUE: dict[str, Callable[[str], bool]] = {
    "--measure": _is_measure,
    "--data": _is_data,
    "--questions": _is_question,
    "--corpus": lambda word: Path(word).is_file(),
    "--baseline": lambda word: (Path(word) / "result.json").is_file(),
}


def split_names(values: list[str] | None) -> list[str]:
    """Repeated options and comma-separated lists as one list."""
    return [part for value in values or [] for part in value.split(",") if part]


def new_folder(name: str) -> Path:
    """Create the default result folder of a run: its name and the time, and a number if another run has that."""
    from unmask.findings.folder import create_new

    plain = Path(name).resolve().name if Path(name).exists() else name
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", plain)[:100]
    return create_new(RUNS / f"{slug}-{datetime.now():%Y%m%d-%H%M%S}")
