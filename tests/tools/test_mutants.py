"""Mutation testing on a toy package: what is edited, killed, survives, and is listed as equivalent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools.mutants.edits import find_mutants
from tools.mutants.report import HEAD

ROOT = Path(__file__).parents[2]
TOY = '''"""A toy."""

__all__ = ["larger"]
LIMIT = 3


def larger(a: int, b: int = 0) -> bool:
    """Is a the larger one?"""
    if a < -LIMIT:
        raise ValueError(f"{a - 1} is too small, by 1 or more")
    return a > b


def untested(a: int) -> int:
    return a * 2


def size(values: list[int]) -> int:
    return max(0, len(values))
'''
TEST = """
from toy.core import larger, size
import pytest


def test_larger():
    assert larger(2, 1)
    assert not larger(1, 2)
    assert larger(1) and not larger(0)


def test_too_small():
    larger(-3)
    with pytest.raises(ValueError):
        larger(-4)


def test_size():
    assert size([1, 2]) == 2
    assert size([]) == 0
"""


def edit_pairs(source: str) -> set[tuple[str, str]]:
    return {(one.original, one.mutated) for one in find_mutants(source, "toy")}


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("x = a + b", {"x = a - b"}),
        ("x = a // b", {"x = a * b"}),
        ("x += a", {"x -= a"}),
        ("x = a < b", {"x = a <= b", "x = a >= b"}),
        ("x = a == b", {"x = a != b"}),
        ("x = a is None", {"x = a is not None"}),
        ("x = a in b", {"x = a not in b"}),
        ("x = a and b", {"x = a or b"}),
        ("x = not a", {"x = a"}),
        ("x = -a", {"x = a"}),
        ("x = 3", {"x = 4"}),
        ("x = 0.25", {"x = 0.5"}),
        ("x = 0.0", {"x = 1.0"}),
        ("x = True", {"x = False"}),
        ("x = 'word'", {"x = 'XXword'"}),
        ("x = a if b else c", {"x = a if not b else c"}),
        ("x = [a for a in b if c]", {"x = [a for a in b if not c]"}),
        ("def f(a=2): pass", {"3"}),
        ("def f(): return a", {"return None"}),
    ],
)
def test_the_usual_edits_are_made(source: str, changed: set[str]) -> None:
    assert {mutated for _, mutated in edit_pairs(source)} == changed


@pytest.mark.parametrize(
    "source",
    [
        '"""A text of 2 words."""',
        "__all__ = ['a']",
        "Side = Literal['more', 'less']",
        "x: Literal['a']",
        "raise ValueError(f'{a + 1} is too much')",
        "assert a > 1",
        "x = 'two words'",
        "x = f'{a} of {b:.2f}'",
        "x = zip(a, b, strict=True)",
        "@cache(size=3)\ndef f(): pass",
        "def f(): return None",
    ],
)
def test_what_no_test_should_pin_is_left_alone(source: str) -> None:
    assert edit_pairs(source) == set()


def run(folder: Path, *entries: dict[str, str]) -> tuple[int, str, list[dict[str, Any]]]:
    """The command on the toy, with these mutants listed as equivalent."""
    (folder / "toy").mkdir()
    (folder / "toy" / "__init__.py").write_text("")
    (folder / "toy" / "core.py").write_text(TOY)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_core.py").write_text(TEST)
    (folder / "conftest.py").write_text("")
    listed = folder / "equivalent.toml"
    listed.write_text(
        "\n".join(
            "[[equivalent]]\n" + "\n".join(f"{name} = {json.dumps(text)}" for name, text in entry.items())
            for entry in entries
        )
    )
    words = ["--root", str(folder), "--source", "toy", "--tests", "tests", "--equivalent", str(listed)]
    words += ["core", "--json", str(folder / "found.json"), "--markdown", str(folder / "page.md")]
    done = subprocess.run(
        [sys.executable, "-m", "tools.mutants", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (folder / "found.json").exists(), done.stdout + done.stderr
    return done.returncode, done.stdout, json.loads((folder / "found.json").read_text())


SAME = {
    "module": "toy.core",
    "function": "size",
    "original": "return max(0, len(values))",
    "mutated": "return max(1, len(values))",
    "why": "no: an empty list has size 0",
}
UNTESTED = [
    {
        "module": "toy.core",
        "function": "untested",
        "original": "return a * 2",
        "mutated": mutated,
        "why": "nobody calls it",
    }
    for mutated in ("return None", "return a / 2", "return a * 3")
]


@pytest.mark.thorough
def test_killed_and_survived(tmp_path: Path) -> None:
    code, said, found = run(tmp_path)
    fates = {(one["mutant"]["function"], one["mutant"]["mutated"]): one["outcome"] for one in found}
    assert fates["larger", "return a >= b"] == "killed"
    assert fates["larger", "1"] == "killed"  # the default
    assert fates["<module>", "LIMIT = 4"] == "killed"
    assert fates["size", "return max(1, len(values))"] == "killed"
    assert [name for name, fate in fates.items() if fate == "survived"] == [
        ("untested", "return None"),
        ("untested", "return a / 2"),
        ("untested", "return a * 3"),
    ]
    assert code == 1
    assert "toy/core.py:15 untested\n    - return a * 2\n    + return a / 2" in said
    assert "Left to kill: 3 in toy.core." in (tmp_path / "page.md").read_text()


@pytest.mark.thorough
def test_listed_survivors_are_counted_apart(tmp_path: Path) -> None:
    code, said, found = run(tmp_path, *UNTESTED)
    assert code == 0, said
    assert sum(one["equivalent"] for one in found) == 3
    assert "0 survived    3 equivalent  100.0%" in said
    assert "| 0 | 3 | 100.0% |" in (tmp_path / "page.md").read_text()


@pytest.mark.thorough
def test_a_list_that_is_not_true_any_more_is_refused(tmp_path: Path) -> None:
    gone = {**SAME, "original": "return min(0, len(values))"}
    code, said, _ = run(tmp_path, *UNTESTED, SAME, gone)
    assert code == 1
    assert "no such mutant any more" in said
    assert "return min(0, len(values)) → return max(1, len(values))" in said
    assert "listed as equivalent, but killed" in said
    assert "test_size" in said


def test_the_page_of_the_docs_is_the_commands_own() -> None:
    assert (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8").startswith(HEAD)
