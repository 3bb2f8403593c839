"""The size of the source: statements, files, functions that return text, by package.

    python -m tools.size

Statements are those of the syntax tree, without docstrings and imports, so that wrapping and comments do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "unmask"


@dataclass
class Size:
    """Counts of one package."""

    files: int = 0
    statements: int = 0
    functions: int = 0
    texts: int = 0  # functions that return `str`
    caches: int = 0  # `lru_cache(maxsize=1)`


def sizes(source: Path = SOURCE) -> dict[str, Size]:
    """The counts by package; modules at the top count as the package `unmask`."""
    counts: dict[str, Size] = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).parts
        size = counts.setdefault(parts[0] if len(parts) > 1 else "unmask", Size())
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        size.files += 1
        size.statements += sum(1 for _ in statements(tree))
        size.caches += text.count("lru_cache(maxsize=1)")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size.functions += 1
                size.texts += isinstance(node.returns, ast.Name) and node.returns.id == "str"
    return counts


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a module that are neither imports nor docstrings."""
    for node in ast.walk(tree):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Import | ast.ImportFrom) and not is_text:
            yield node


def main() -> None:
    counts = sizes()
    print(f"{'package':<14}{'files':>6}{'statements':>12}{'functions':>11}{'returning str':>15}{'caches':>8}")
    total = Size()
    for name, size in sorted(counts.items(), key=lambda pair: -pair[1].statements):
        print(f"{name:<14}{size.files:6}{size.statements:12}{size.functions:11}{size.texts:15}{size.caches:8}")
        for field in vars(total):
            setattr(total, field, getattr(total, field) + getattr(size, field))
    print(f"{'all':<14}{total.files:6}{total.statements:12}{total.functions:11}{total.texts:15}{total.caches:8}")


if __name__ == "__main__":
    main()
