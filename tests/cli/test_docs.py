"""The documentation that a test keeps true."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def tool(name: str) -> ModuleType:
    """A script of `tools`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.thorough
def test_cli_page_is_what_the_commands_say() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == tool("cli_docs").page(), "run tools/cli_docs.py"


def test_the_table_of_measures_is_what_their_pages_say() -> None:
    page = (ROOT / "docs" / "measures" / "README.md").read_text(encoding="utf-8")
    assert page == tool("measure_docs").page(), "run tools/measure_docs.py"
