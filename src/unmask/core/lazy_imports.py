"""Imports that wait until they are needed: torch alone takes longer than most commands.

A package names what its modules define (`lazy_names`), a catalogue names functions (`lazy_modules`); the modules are
imported at the first use. Type checkers see ordinary imports, under `if TYPE_CHECKING`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `homes` has the module (of the package) that defines each name."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return get


def lazy_modules(package: str, *names: str) -> Iterator[LazyModule]:
    """Modules of a package that are imported when one of their functions is called."""
    return (LazyModule(f"{package}.{name}") for name in names)


class LazyModule:
    """A module whose functions can be named before it is imported."""

    def __init__(self, name: str) -> None:
        """Create it with its full name."""
        self._name = name

    def __getattr__(self, function: str) -> LazyFunction:
        return LazyFunction(self._name, function)


@dataclass(frozen=True, slots=True)
class LazyFunction:
    """A function whose module is imported when it is called."""

    module: str
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Import and call it."""
        return getattr(import_module(self.module), self.name)(*args, **kwargs)
