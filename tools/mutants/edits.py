"""The mutants of a module: every place at which one edit changes what it does.

Edited are operators, comparisons, connectives, signs and negations, conditions, numbers, words, argument
defaults and return values. Left alone is what no test should pin: docstrings, annotations, type aliases,
`__all__`, decorators, assertions, `strict=` of `zip`, error messages, texts for people (two words or more).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

LONGEST = 72  # characters of source shown around an edit
MODULE = "<module>"
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
PROSE = re.compile(r"[^\W\d_]{2,}\S*\s(.*\s)?\S*[^\W\d_]{2,}", re.DOTALL)
SEPARATOR = re.compile(r"[,;:…]\s|\s…")  # between the parts of a list for people
ALIAS = re.compile(r"_?[A-Z][a-z]\w*")
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "format_spec", "type_comment", "bases"}
TEXT_ARGUMENTS = {"title", "reads"}  # keyword arguments that are texts for people, even of one word
CONDITIONAL = (ast.If, ast.IfExp, ast.While)


@dataclass(frozen=True)
class Edit:
    """One replacement in a tree: `holder.field` (or `holder.field[at]`) becomes `new`."""

    holder: ast.AST
    field: str
    at: int | None
    new: ast.AST
    parents: tuple[ast.AST, ...]  # from the module down to the holder

    def apply(self) -> ast.AST:
        """Make the replacement; what was there before."""
        value = getattr(self.holder, self.field)
        if self.at is None:
            setattr(self.holder, self.field, self.new)
            return value
        old, value[self.at] = value[self.at], self.new
        return old

    def undo(self, old: ast.AST) -> None:
        """Put back what was there."""
        if self.at is None:
            setattr(self.holder, self.field, old)
        else:
            getattr(self.holder, self.field)[self.at] = old


@dataclass(frozen=True)
class Mutant:
    """One edit of one module, as text."""

    module: str  # unmask.stats.agreement
    number: int  # which of the module's edits
    function: str  # its qualified name, or `<module>`
    line: int
    lines: tuple[int, int]  # what a test must execute to notice; (0, 0): importing the module
    original: str
    mutated: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is called in the list of equivalent mutants."""
        return self.module, self.function, self.original, self.mutated


def find_mutants(source: str, module: str) -> list[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(source)
    return [_describe(edit, module, number) for number, edit in enumerate(edits(tree))]


def apply_mutant(source: str, number: int) -> ast.Module:
    """The module's tree with one of its edits made."""
    tree = ast.parse(source)
    edit = list(edits(tree))[number]
    edit.apply()
    return ast.fix_missing_locations(tree)


def edits(tree: ast.Module) -> Iterator[Edit]:
    """Every edit, in order of the source."""
    yield from _inside(tree, (tree,))


# ------------------------------------------------------------------------------------------- edits


def _inside(holder: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Edit]:
    for field, value in ast.iter_fields(holder):
        if field in SKIPPED_FIELDS:
            continue
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for at, child in children:
            if not isinstance(child, ast.AST) or _is_skipped(child, holder):
                continue
            for new in _replacements(child, holder, field):
                yield Edit(holder, field, at, ast.copy_location(new, child), parents)
            yield from _inside(child, (*parents, child))


def _is_skipped(node: ast.AST, holder: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant(value=str())):  # a docstring
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__all__" or (isinstance(holder, ast.Module) and bool(ALIAS.fullmatch(name)))
        case ast.keyword(arg=name):
            return name == "strict" or name in TEXT_ARGUMENTS
        case ast.Constant(value=str()):
            return isinstance(holder, ast.JoinedStr)
    return False


def _replacements(node: ast.AST, holder: ast.AST, field: str) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    if _is_condition(holder, field) and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)  # type: ignore[arg-type]
    match node:
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield _with_fields(node, op=ARITHMETIC[type(op)]())
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield _with_fields(node, op=ARITHMETIC[type(op)]())
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield _with_fields(node, ops=[*ops[:at], other(), *ops[at + 1 :]])
        case ast.BoolOp(op=op):
            yield _with_fields(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(operand=operand) if not isinstance(node.op, ast.UAdd):
            yield operand
        case ast.Constant(value=value):
            yield from _constants(value)
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield ast.Return(ast.Constant(None))


def _constants(value: Any) -> Iterator[ast.Constant]:
    match value:
        case bool():
            yield ast.Constant(not value)
        case int():
            yield ast.Constant(value + 1)
        case float():
            yield ast.Constant(2 * value if value else 1.0)
        case str() if not (PROSE.search(value) or SEPARATOR.fullmatch(value)):
            yield ast.Constant(f"XX{value}")


def _with_fields(node: ast.AST, **fields: Any) -> ast.AST:
    new = copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _is_condition(holder: ast.AST, field: str) -> bool:
    return (isinstance(holder, CONDITIONAL) and field == "test") or (
        isinstance(holder, ast.comprehension) and field == "ifs"
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# ------------------------------------------------------------------------------------- description


def _describe(edit: Edit, module: str, number: int) -> Mutant:
    old = edit.apply()
    edit.undo(old)
    shown = _context(edit, old)
    original = _text(shown)
    if shown is old:
        changed = _text(edit.new)
    else:
        edit.apply()
        changed = _text(shown)
        edit.undo(old)
    functions = [node for node in edit.parents if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    name = ".".join(node.name for node in functions) or MODULE
    return Mutant(module, number, name, old.lineno, _lines(edit, old), original, changed)  # type: ignore[attr-defined]


def _context(edit: Edit, old: ast.AST) -> ast.AST:
    """The largest piece of source around the edit that is still short."""
    shown = old
    for node in reversed(edit.parents):
        if not isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.comprehension):
            continue
        if hasattr(node, "body") and isinstance(node, ast.stmt):
            break
        if len(ast.unparse(node)) > LONGEST:
            break
        shown = node
    return shown


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 2 * LONGEST else f"{text[: 2 * LONGEST]} …"


def _lines(edit: Edit, old: ast.AST) -> tuple[int, int]:
    """First and last line of the statement; of a function's signature, those of its body."""
    inside = (*edit.parents, old)
    functions = [at for at, node in enumerate(inside) if isinstance(node, ast.FunctionDef)]
    if not functions:
        return 0, 0
    function = inside[functions[-1]]
    statement: Any = [node for node in inside if isinstance(node, ast.stmt)][-1]
    if statement is function:
        return function.body[0].lineno, function.end_lineno or 0  # type: ignore[attr-defined]
    if hasattr(statement, "body"):
        return statement.lineno, max(statement.lineno, statement.body[0].lineno - 1)
    return statement.lineno, statement.end_lineno
