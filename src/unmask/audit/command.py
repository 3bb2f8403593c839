"""The command line that repeats an audit, which its result records."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unmask.core.options import Opening, Options, Precision, Serving, option_words
from unmask.core.types import Dataset, Measure
from unmask.measures import MEASURES

if TYPE_CHECKING:  # these import torch, and pages read `COMMAND` alone
    from unmask.audit.plan import Data
    from unmask.models import Model

COMMAND = "command"  # key of the details of a result


def command_line(
    model: Model | None, data: Data | Sequence[Data] | None, measures: Sequence[Measure], words: Sequence[str]
) -> str | None:
    """The command that repeats an audit with these options; `data` is None for the default data.

    Paths in it are relative to the working folder; of what lies outside only the name stands in it: a result does not
    say where on a machine it was made.
    None if the model, a dataset or a measure is an object of Python that has no name on the command line.
    """
    every = [] if data is None else [data] if isinstance(data, str | Path | Dataset) else [*data]
    registered = all(MEASURES.get(measure.name) is measure for measure in measures)
    files = [each for each in every if not isinstance(each, Dataset)]
    if not isinstance(model, str | Path | None) or len(files) < len(every) or not registered:
        return None
    given = [word for each in files for word in ("--data", _name(each))]
    given += [word for measure in measures for word in ("--measure", measure.name)]
    return shlex.join(["unmask", "audit", *([] if model is None else [_name(model)]), *given, *words])


def _name(given: str | Path) -> str:
    """A folder or file by its path from the working folder, or if it lies outside by its name; other names as given."""
    if not (Path(given).is_absolute() or Path(given).exists()):
        return str(given)
    path, here = (Path(os.path.abspath(each)) for each in (given, "."))  # noqa: PTH100 - links stay as they were given
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


def audit_words(
    opening: Opening, serving: Serving, options: Options, precision: Precision, *, independent: bool
) -> list[str]:
    """The options of an audit as words of the command line, without the folders of a machine."""
    words = option_words(opening) + option_words(replace(serving, request_log=None))
    mapping = None if options.mapping is None else Path(_name(options.mapping))
    both = option_words(replace(options, data_dir=None, mapping=mapping))
    words += [word for word in both if word != "--offline" or word not in words]  # both groups have it
    words += [] if precision == "plain" else ["--precision", precision]
    return words + (["--independent"] if independent else [])
