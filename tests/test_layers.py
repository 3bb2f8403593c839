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


@pytest.fixture(scope="module")
def imports() -> dict[Path, set[str]]:
    """The other parts that each module imports."""
    return {path: imported(path) - {part(path)} for path in FILES}


def test_every_part_has_its_place() -> None:
    assert {part(path) for path in FILES} <= HEIGHT.keys(), "a new part of the package needs its place in LAYERS"


def test_a_module_imports_only_what_comes_before_it(imports: dict[Path, set[str]]) -> None:
    upward = {
        f"{path.relative_to(SOURCE)} imports {name}"
        for path, names in imports.items()
        for name in names
        if HEIGHT[name] > HEIGHT[part(path)]
    }
    assert upward == set()


def test_packages_of_one_layer_do_not_import_each_other(imports: dict[Path, set[str]]) -> None:
    sideways = {
        f"{path.relative_to(SOURCE)} imports {name}"
        for path, names in imports.items()
        for name in names
        if HEIGHT[name] == HEIGHT[part(path)]
    }
    assert sideways == set()


def test_the_architecture_page_names_files_that_exist() -> None:
    text = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|json))(?::\w+)?`", text))
    missing = {name for name in named if not (SOURCE / name).is_file() and not (SOURCE.parents[1] / name).is_file()}
    assert named
    assert not missing
