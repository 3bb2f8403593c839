"""What a number says is said in one place: a sentence written elsewhere would not obey the rule of verdict."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "unmask"
FORMS = ("core/statistic.py", "findings/sentences.py")
VERDICTS = re.compile(r"\b(leans|rose|fell|(is|are) expected (of|before|after)|(higher|lower) than before)\b")
WORD_LISTS = ("diagnose/words.py",)  # words that models are asked about


def texts(tree: ast.AST) -> list[str]:
    """The texts of a module that are not docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented) and node.body]
    docs = {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_other_module_says_that_something_leans_rose_or_fell() -> None:
    saying = {
        name
        for path in SOURCE.rglob("*.py")
        if (name := path.relative_to(SOURCE).as_posix()) not in (*FORMS, *WORD_LISTS)
        if any(VERDICTS.search(text) for text in texts(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert saying == set(), "use a form of findings/sentences.py"
