"""Shared by the commands: messages, and options that take several values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

RUNS = Path("unmask-runs")


def repeat_options(argv: list[str], valued: Collection[str] = ()) -> list[str]:
    """Rewrite `--measure cps aul` as `--measure cps --measure aul`; also --data, --questions, --corpus, --baseline.

    A further word belongs to the option only if it is a known name or a data file, else it is an argument. Without
    another argument the last of several baselines is the run that is judged. `valued`: the options that take a value.
    """
    out: list[str] = []
    option, arguments = "", 0
    baselines: list[int] = []  # where the option was added
    for word in argv:
        is_value = bool(out) and out[-1] in valued
        if word.startswith("-") and not is_value:
            option = word if word in _IS_VALUE else ""
        elif option and out[-1] != option:
            option = option if _IS_VALUE[option](word) else ""
            if option == "--baseline":
                baselines.append(len(out))
            out += [option] if option else []
            arguments += not option
        else:
            arguments += not is_value
        out.append(word)
    if baselines and arguments == 1:  # the command
        del out[baselines[-1]]
    return out


def find_command(command: Any, words: Sequence[str]) -> tuple[Any, int]:
    """The innermost command that the first words name, such as `corpus count`, and how many words that are."""
    used = 0
    for word in words:
        if not hasattr(command, "get_command") or (inner := command.get_command(None, word)) is None:
            break
        command, used = inner, used + 1
    return command, used


def valued_options(command: Any) -> set[str]:
    """The options of a command that take a value."""
    options = [parameter for parameter in command.params if not getattr(parameter, "is_flag", True)]
    return {flag for option in options for flag in option.opts}


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
