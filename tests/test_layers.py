"""Imports point one way: from what comes later in the flow to what comes earlier."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "unmask"
LAYERS = (
    ("core",),
    ("data", "models", "stats"),
    ("measures", "findings"),
    ("prompts", "training", "vectors"),
    ("audit",),
    ("diagnose",),
    ("mitigate",),
    ("corpus", "tasks"),
    ("interchange", "report"),
    ("explorer", "studies"),
    ("cli", "pytest_plugin"),
    ("__main__",),
)
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def part(path: Path) -> str:
    """The part of the package a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The parts a module imports when it is imported itself; what only type checkers see does not count."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "unmask":
            inner = (node.module or "").split(".")[1:]
            found |= {inner[0]} if inner else {alias.name for alias in node.names}
    return found & HEIGHT.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_comes_before_it(path: Path) -> None:
    here = part(path)
    assert here in HEIGHT, "a new part of the package needs its place in LAYERS"
    upward = {name for name in imported(path) if name != here and HEIGHT[name] > HEIGHT[here]}
    assert not upward


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_packages_of_one_layer_do_not_import_each_other(path: Path) -> None:
    here = part(path)
    assert not {name for name in imported(path) if name != here and HEIGHT[name] == HEIGHT[here]}


def test_the_architecture_page_names_files_that_exist() -> None:
    text = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|json))(?::\w+)?`", text))
    missing = {name for name in named if not (SOURCE / name).is_file() and not (SOURCE.parents[1] / name).is_file()}
    assert named
    assert not missing
