"""Audits: score items with measures, compute estimates and checks, write a result folder."""

from __future__ import annotations

from unmask.core.lazy_imports import make_callable

make_callable(__name__, "unmask.audit.run", "audit")
