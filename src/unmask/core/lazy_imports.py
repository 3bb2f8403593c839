"""Imports that wait until they are needed: torch alone takes longer than most commands.

A package names what its modules define; the modules are imported at the first use. Type checkers see ordinary imports,
under `if TYPE_CHECKING`. A package can be called, too: `unmask.task(...)` is the package `unmask.task` and its public
function. Importing a module of a package binds the package to its name in `unmask`, so a function of the same name
would be hidden; the package therefore forwards a call to its function.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `homes` has the module (of the package) that defines each name."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return get


def make_callable(package: str, module: str, function: str) -> None:
    """Make `package` callable: it forwards to `function` of `module`."""

    class CallablePackage(ModuleType):
        """A package that forwards a call to its public function."""

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return getattr(import_module(module), function)(*args, **kwargs)

        @property
        def __signature__(self) -> inspect.Signature:
            """That of the function, for help in notebooks and editors."""
            return inspect.signature(getattr(import_module(module), function))

    sys.modules[package].__class__ = CallablePackage
