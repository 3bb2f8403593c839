"""Names say what a thing is: modules are nouns, class names exist once, functions are no participles."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "unmask"
MODULES = sorted(SOURCE.rglob("*.py"))
SCRIPTS = [path for folder in ("tools", "bench") for path in sorted((ROOT / folder).rglob("*.py"))]
TERMS_OF_ART = re.compile(  # gerunds that the field uses as nouns
    "counting|debiasing|finetuning|loading|matching|meaning|pairing|ray_counting|scoring|training|wording|worsening"
)
IRREGULAR = re.compile(
    "begun|bound|built|chosen|cut|done|drawn|fed|found|given|held|kept|known|laid|learnt|left|made|met|put|read|"
    "said|seen|sent|set|shown|split|spread|taken|taught|thrown|told|won|worn|written"
)
PLAIN = {"read", "signed", "undisturbed"}  # a verb; the key `signed` of result files; an adjective
DIALECT = re.compile(r"(?i)_*(pupil|lesson|taught|chief|dice|foreseen|seen|found|looked|told)s?")  # as names of things


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_modules_are_nouns() -> None:
    names = {part.removesuffix(".py") for path in MODULES for part in path.relative_to(SOURCE).parts}
    assert not {name for name in names if name.endswith("ing") and not TERMS_OF_ART.fullmatch(name)}


def test_a_class_name_exists_once() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def is_participle(name: str) -> bool:
    if name.startswith("_") or "_" in name or name in PLAIN:
        return False
    return bool(IRREGULAR.fullmatch(name)) or bool(re.search(r"[^e]ed$", name))


def test_no_public_function_is_a_bare_participle() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in [*MODULES, *SCRIPTS]
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef) and is_participle(node.name)
    ]
    assert found == []


def test_no_class_or_function_has_a_name_of_our_own_dialect() -> None:
    """A reader who knows the field must not need a glossary; the tests' helpers count as well."""
    paths = [*MODULES, *SCRIPTS, *sorted((ROOT / "tests").rglob("*.py"))]
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in paths
        for name in re.findall(r"^ *(?:def|class) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if DIALECT.fullmatch(name)
    ]
    assert found == []
