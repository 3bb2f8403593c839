"""Option groups: dataclasses whose fields are keyword arguments in Python and options on the command line."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from unmask.core.errors import DataError, UnknownName, quote
from unmask.core.progress import Progress
from unmask.core.request import note_groups

MAX_SEED = 2**32 - 1  # of numpy's and transformers' generators


def option(  # noqa: PLR0913 - the facts about an option
    default: Any = MISSING,
    help: str = "",
    *,
    flag: str = "",
    shown: str = "",
    least: float | None = None,
    most: float | None = None,
    factory: Any = MISSING,
    common: bool = False,
    verbatim: bool = False,
) -> Any:
    """A field of an option group.

    Args:
        default: the default value; or give `factory`.
        help: one line; without it the field is no option of the command line.
        flag: its name there if it differs from the field's, such as `--lr`, or several, separated by spaces;
            `--no-…` sets a field to False.
        shown: what the help shows as the default, if the value itself says too little.
        least: the smallest value allowed.
        most: the largest value allowed.
        factory: makes the default value.
        common: an option of many commands, which `unmask list options` describes instead of the help of each.
        verbatim: text of which no comma separates values; several are given by repeating the option.
    """
    metadata = {
        "help": help,
        "flag": flag,
        "shown": shown,
        "least": least,
        "most": most,
        "common": common,
        "verbatim": verbatim,
    }
    if factory is not MISSING:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


common = partial(option, common=True)


@dataclass(frozen=True)
class OptionGroup:
    """The options of one thing: a task, a method, a diagnosis, a study, or of what several of them share.

    A group is a frozen dataclass without slots whose fields are made by `option`. One that checks more in its own
    `__post_init__` calls that of its base first.
    """

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        check_values(self)


def check_values(group: Any) -> None:
    """Refuse numbers that are not finite or out of range, and values that are no choice of a `Literal`."""
    hints = get_type_hints(type(group))
    for member in fields(group):
        value = getattr(group, member.name)
        if value is None:
            continue
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int | float):
                check_number(member.name, number, least=member.metadata.get("least"), most=member.metadata.get("most"))
        choices = literal_choices(hints[member.name])
        if choices and value not in choices:
            listed = f"{', '.join(choices[:-1])} or {choices[-1]}" if choices[1:] else choices[0]
            raise DataError(f"{member.name} is {value!r}, expected {listed}")


def check_number(name: str, value: float, *, least: float | None = None, most: float | None = None) -> None:
    """Refuse a number that is NaN, infinite, below the smallest or above the largest value allowed."""
    if least is not None and not value >= least:
        raise DataError(f"{name} is {quote(value)}, expected at least {least:g}")
    if most is not None and not value <= most:
        raise DataError(f"{name} is {quote(value)}, expected at most {most:,}")
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{name} is {quote(value)}, expected a finite number")


def literal_choices(hint: Any) -> tuple[str, ...]:
    """The choices of a `Literal`, also of an optional one; empty for other types."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        return next((get_args(part) for part in get_args(hint) if get_origin(part) is Literal), ())
    return ()


def fill_groups(given: Mapping[str, Any], **groups: type) -> tuple[Any, ...]:
    """Build option groups from keyword arguments, each a whole group by its name or a field of one.

    A field that several groups have, such as `offline`, is set in all of them; a path may be text. An unknown name is
    an error.
    """
    names = {name: {member.name for member in fields(group)} for name, group in groups.items()}
    known = set(groups).union(*names.values())
    for name in given:
        if name not in known:
            raise UnknownName("option", name, known)
    built = []
    for name, group in groups.items():
        whole = given.get(name)
        base = group() if whole is None else whole
        paths = {key for key, hint in get_type_hints(group).items() if Path in get_args(hint)}
        values = {key: given[key] for key in names[name] if key in given}
        values |= {key: Path(value) for key, value in values.items() if key in paths and isinstance(value, str)}
        built.append(replace(base, **values))
    note_groups(built)
    return tuple(built)


@dataclass(frozen=True)
class Opening(OptionGroup):
    """How to open a model; the defaults are the safe ones."""

    kind: Literal["masked", "causal"] | None = common(None, "Kind of model: masked or causal.", shown="from its config")
    device: str | None = common(None, "cpu, cuda, cuda:1, …", shown="a GPU if available")
    dtype: Literal["fp32", "bf16", "fp16", "int8", "int4"] = common(
        "fp32", "fp32, bf16, fp16, or weights quantised to int8 or int4."
    )
    tf32: bool = common(False, "Allow TF32 for fp32 matrix products on a GPU.")
    offline: bool = common(False, "Never use the network.")
    allow_pickle: bool = common(False, "Load pickled weights (can run code).")
    trust_remote_code: bool = common(False, "Run the model repository's own code.")


@dataclass(frozen=True)
class Options(OptionGroup):
    """How to run: on how much data, with which seed, how fast."""

    limit: int | None = option(
        None, "Only N items, sampled by category and direction; of a corpus, the first N documents.", least=1
    )
    seed: int = option(0, "Random seed (samples, data order, initialisation, bootstrap).", least=0, most=MAX_SEED)
    tokens: int | None = common(None, "Maximum padded tokens per batch.", shown="by device", least=1)
    store: bool = common(True, "Do not use the cache of model outputs.", flag="--no-store")
    data_dir: Path | None = common(None, "Folder of datasets.")
    mapping: Path | None = common(
        None, "YAML of the columns of hub data or your own files: `more: sent_more`, …", shown="columns by usual names"
    )
    offline: bool = common(False, "Never use the network.")
    store_file: Path | None = None  # instead of the user's cache of model outputs
    progress: Progress | None = None


@dataclass(frozen=True)
class Serving(OptionGroup):
    """How to ask an endpoint, a model that is served over HTTP; the key is `$UNMASK_API_KEY`."""

    served_model: str | None = common(
        None, "Endpoint: name of the model to ask.", flag="--model", shown="the only one that is served"
    )
    parallel: int = common(4, "Endpoint: requests at once.", least=1, most=256)
    timeout: float = common(120.0, "Endpoint: seconds to wait for an answer.", least=0.01, most=86_400)
    retries: int = common(6, "Endpoint: how often a failed request is repeated.", least=0, most=1000)
    request_log: Path | None = common(None, "Endpoint: file of the request log.", shown="in the cache")
    allow_http: bool = common(False, "Endpoint: allow http, unencrypted, to another machine.")


Precision = Literal["plain", "certified"]  # of an audit: `audit.certified`
Unit = Literal["line", "block", "file"]


@dataclass(frozen=True)
class TextLayout(OptionGroup):
    """Where the text is in files of a corpus, and what a document is."""

    column: str | tuple[str, ...] = option(
        (), "Column or key with the text; several are joined into one document.", shown="text, sentence, …"
    )
    header: bool = option(True, "Tables have no header: columns are numbered from 1.", flag="--no-header")
    unit: Unit = option(
        "line",
        "Unit of a document in text files: line, block (up to an empty line) or file.",
        flag="--unit --documents",
    )

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        super().__post_init__()
        if not self.header and not all(name.isdigit() and int(name) for name in self.columns):
            raise DataError("without a header a column must be a number from 1, such as 1 or 2")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns; none: one of a usual name."""
        return (self.column,) if isinstance(self.column, str) else tuple(self.column)
