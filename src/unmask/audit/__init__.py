"""Audits: score items with measures, compute estimates and checks, write a result folder.

`unmask.audit(...)` is the public function. Importing any module of this package binds the name `unmask.audit`
to the package, so the package itself can be called like the function.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """A package that can be called: it forwards to `unmask.audit.run.audit`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from unmask.audit.run import audit

        return audit(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
