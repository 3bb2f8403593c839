"""Packages that can be called: `unmask.task(...)` is the package `unmask.task` and its public function.

Importing a module of a package binds the package to its name in `unmask`, so a function of the same name
would be hidden. The package therefore forwards a call to its function, which is imported on first use.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


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
