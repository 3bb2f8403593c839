"""What was asked: the command, the thing that it is about, on what, and how. Every result records it.

A public function `with_request` makes a request of its arguments, and `fill_groups` adds the options.
`unmask run` repeats the request of a result, or of a run file, which is a request as YAML.
"""

from __future__ import annotations

import inspect
import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
FLAGS = {  # options that are not written as their names
    "measures": "--measure",
    "served_model": "--model",
    "file": "--prompts",
    "k": "--neighbours",
    "settings": "--set",
}
OF_MACHINE = ("data_dir", "request_log")  # folders that no result records
NOT_ASKED = ("out", "progress", "store_file", "places")  # where it goes and how it is shown, not what was asked


@dataclass(frozen=True)
class Request:
    """A command that can be repeated. Values are those of JSON; None stands for an object of Python without a name."""

    command: str  # "audit", "corpus count"
    target: str = ""  # the method, task, diagnosis or study; several with commas
    on: dict[str, Any] = field(default_factory=dict)  # the arguments, by their names: models, files
    options: dict[str, Any] = field(default_factory=dict)  # those that were set, by their names in Python
    defaults: dict[str, Any] = field(default_factory=dict)  # the values of the others

    @property
    def has_names(self) -> bool:
        """Whether all that it is about can be named, so that it can be repeated."""
        values = [*self.on.values(), *self.options.values()]
        return all(part is not None for value in values for part in (value if isinstance(value, list) else [value]))

    def without_paths(self) -> Request:
        """The same with paths relative to the working folder; of what lies outside only the name stands in it."""
        kept = {name: _relative(value) for name, value in self.options.items() if name not in OF_MACHINE}
        return replace(self, on={name: _relative(value) for name, value in self.on.items()}, options=kept)

    def command_line(self) -> str:
        """The command line that repeats it; defaults are left out."""
        words = ["unmask", *self.command.split(), *filter(None, [self.target])]
        arguments = [str(part) for value in self.on.values() for part in _listed(value)]
        options = [word for name, value in self.options.items() for word in _option_words(name, value)]
        return shlex.join([*words, *arguments, *options])


def _option_words(name: str, value: Any) -> list[str]:
    flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    if isinstance(value, dict):
        return [word for assignment in assignments(name, value) for word in ("--set", assignment)]
    return [word for part in _listed(value) for word in (flag, str(part))]


def assignments(name: str, value: Any) -> list[str]:
    """A setting as it is written after `--set`; of a group of settings, all of them: `train.epochs=1`."""
    if not isinstance(value, Mapping):
        return [f"{name}={json.dumps(value)}"]
    return [assignment for key, inner in value.items() for assignment in assignments(f"{name}.{key}", inner)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _relative(value: Any) -> Any:
    """A folder or file by its path from the working folder, or if it lies outside by its name; others as given."""
    if isinstance(value, list):
        return [_relative(part) for part in value]
    if not isinstance(value, str) or not (os.path.isabs(value) or os.path.exists(value)):  # noqa: PTH110, PTH117
        return value
    path, here = (Path(os.path.abspath(name)) for name in (value, "."))  # noqa: PTH100 - links stay as they were given
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


# ------------------------------------------------------------------------------------------- record requests


@dataclass
class _Draft:
    """A request whose options may not be known yet."""

    request: Request
    has_groups: bool = False


_draft: ContextVar[_Draft | None] = ContextVar("draft", default=None)  # of the public function that runs
_latest: ContextVar[Request | None] = ContextVar("latest", default=None)


def with_request(command: str, *arguments: str, target: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a public function so that its results record the request.

    Args:
        command: the command of the function, such as "corpus count".
        arguments: the parameters that are arguments on the command line; the others are options.
        target: the parameter that names the thing, such as a method.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        known = {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if parameter.kind != parameter.VAR_KEYWORD
        }

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            given = signature.bind(*args, **kwargs).arguments
            values = {name: given.get(name, default) for name, default in known.items() if name not in NOT_ASKED}
            on = {name: _plain(given[name]) for name in arguments if given.get(name) not in (None, (), [])}
            options = [pair for pair in values.items() if pair[0] not in (*arguments, target)]
            options += [pair for pair in kwargs.items() if pair[0] not in known and not is_dataclass(pair[1])]
            request = _with_options(Request(command, _named(values.get(target)), on), options, known)
            token = _draft.set(_Draft(request))
            try:
                return function(*args, **kwargs)
            finally:
                _latest.set(current_request())
                _draft.reset(token)

        return call

    return decorate


def note_groups(groups: Iterable[Any]) -> None:
    """Add the option groups of the public function that runs to its request, the first time that they are filled."""
    draft = _draft.get()
    if draft is None or draft.has_groups:
        return
    draft.has_groups = True
    for group in groups:
        of_group = {
            member.name: getattr(group, member.name) for member in fields(group) if member.name not in NOT_ASKED
        }
        defaults = {member.name: _default(member) for member in fields(group)}
        draft.request = _with_options(draft.request, of_group.items(), defaults)


def current_request() -> Request | None:
    """The request of the public function that runs."""
    draft = _draft.get()
    return None if draft is None else draft.request


def latest_request() -> Request | None:
    """The request of the public function that ended last."""
    return _latest.get()


def _with_options(request: Request, values: Iterable[tuple[str, Any]], defaults: Mapping[str, Any]) -> Request:
    """The request with further options; what was set before stays."""
    options, others = dict(request.options), dict(request.defaults)
    for name, value in values:
        if name in defaults and (value is defaults[name] or value == defaults[name]):
            others.setdefault(name, _plain(value))
        elif name not in NOT_ASKED:
            options.setdefault(name, _plain(value))
    defaults_left = {key: each for key, each in others.items() if key not in options and each not in (None, [])}
    return replace(request, options=options, defaults=defaults_left)


def _default(member: Any) -> Any:
    return member.default if member.default_factory is MISSING else member.default_factory()


def _named(value: Any) -> str:
    """The name of a thing, or of several."""
    several = [value] if isinstance(value, str) or not isinstance(value, Iterable) else [*value]
    return ",".join(str(getattr(thing, "name", thing)) for thing in several if thing)


def _plain(value: Any) -> Any:
    """A value in the types of JSON; a thing of a registry by its name, any other object as None."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path) or hasattr(value, "parse"):
        return str(value)
    if isinstance(value, list | tuple | set | frozenset | range):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else None
