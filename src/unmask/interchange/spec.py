"""What an export is: its name, and the function that writes a result in a format of another tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format of another tool; `write` gets the result and where to write it, and says what it wrote."""

    name: str
    about: str
    write: Callable[[Any, str], str]
    library: str = ""  # the Python package it is written by, of the extra `trackers`
    audits_only: bool = False
