"""The registry of measures, datasets, mitigations, tasks and diagnoses.

A thing is found by being there: every module-level object of the right type in a module of the package, and every
object that another installed package offers through an entry point, belongs to the registry. Nothing is imported before
the first look-up; a module that makes a thing imports what is slow in functions.
"""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from unmask.core.errors import DataError, UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """The things of one type by name; built-in ones first, in the order of their names."""

    def __init__(
        self,
        kind: str,
        type_: type[T],
        *,
        home: str,
        group: str,
        order: Callable[[T], Any] = lambda _: 0,
        constructor: str = "",
    ) -> None:
        """Create it.

        Args:
            kind: what a thing is called in messages, such as "measure".
            type_: the type of the things.
            home: the package whose modules are searched, such as "unmask.measures", or one module.
            group: the entry point group of other packages, such as "unmask.measures".
            order: sort key that comes before the name.
            constructor: the call that makes a thing, such as "Task("; modules of the package without it are not
                imported, because they may import what is slow.
        """
        self._constructor = constructor
        self.kind, self.group = kind, group
        self._type, self._home, self._name_of, self._order = type_, home, attrgetter("name"), order

    def find(self, wanted: str | T) -> T:
        """The thing called `wanted`, or `wanted` itself if it is one."""
        if isinstance(wanted, self._type):
            return wanted
        if wanted not in self._things:
            raise UnknownName(self.kind, str(wanted), self._things)
        return self._things[str(wanted)]

    def find_all(self, wanted: str | T | Iterable[str | T]) -> list[T]:
        """One or several names or objects as a list of objects without duplicates."""
        several: list[Any] = [wanted] if isinstance(wanted, str | self._type) else list(wanted)  # type: ignore[arg-type]
        by_name: dict[str, T] = {}
        for thing in map(self.find, several):
            name = self._name_of(thing)
            if by_name.setdefault(name, thing) is not thing:
                raise DataError(f"two different {self.kind}s are named {name!r}: rename one")
        return list(by_name.values())

    def __getitem__(self, name: str) -> T:
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def origin(self, name: str) -> str:
        """The installed package a thing comes from; empty for a built-in one."""
        return self._entries[name][1]

    @cached_property
    def _things(self) -> dict[str, T]:
        return {name: thing for name, (thing, _) in self._entries.items()}

    @cached_property
    def _entries(self) -> dict[str, tuple[T, str]]:
        """Every thing with its origin, by name."""
        from importlib.metadata import entry_points

        entries = {name: (thing, "") for name, thing in self._built_in().items()}
        for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            source = point.dist.name if point.dist else "another package"
            described = f"entry point {point.name!r} of {source}"
            for thing in self._load(point, described):
                name = self._name_of(thing)
                if name in entries:
                    _warn(f"{described} offers a {self.kind} named {name!r}, which exists: not used")
                else:
                    entries[name] = (thing, source)
        return entries

    def _built_in(self) -> dict[str, T]:
        """The things of the package itself, sorted."""
        home = import_module(self._home)
        names = [module.name for module in pkgutil.walk_packages(getattr(home, "__path__", ()), f"{self._home}.")]
        modules = [import_module(name) for name in names if self._makes_one(name)] if names else [home]
        things = {self._name_of(thing): thing for module in modules for thing in self._things_in(vars(module))}
        return dict(sorted(things.items(), key=lambda pair: (self._order(pair[1]), pair[0])))

    def _makes_one(self, module: str) -> bool:
        """Whether the source of a module has the constructor."""
        spec = find_spec(module)
        return spec is not None and self._constructor in Path(str(spec.origin)).read_text(encoding="utf-8")

    def _load(self, point: EntryPoint, described: str) -> Iterable[T]:
        """The things of an entry point: an object, a sequence of them, or a module that has some."""
        try:
            loaded = point.load()
        except Exception as error:  # another package's mistake must not stop this one
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            _warn(f"{described} cannot be loaded ({reason}): not used")
            return ()
        inside = vars(loaded) if isinstance(loaded, ModuleType) else {}
        things = list({id(thing): thing for thing in self._things_in({"": loaded, **inside})}.values())
        if not things:
            _warn(f"{described} is {loaded!r}, expected a {self._type.__name__}: not used")
        return things

    def _things_in(self, names: Mapping[str, Any]) -> Iterator[T]:
        """The things among some objects, also those in tuples and lists."""
        for value in names.values():
            for thing in value if isinstance(value, tuple | list) else (value,):
                if isinstance(thing, self._type):
                    yield thing


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=2)
