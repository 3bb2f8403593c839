"""The command: python -m tools.mutants [MODULES …] [--jobs 2] [--json F] [--markdown F]."""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tools.mutants import execution
from tools.mutants.edits import Mutant, find_mutants
from tools.mutants.report import LEAST, Equivalents, Tally, page, tally_by_module

ROOT = Path(__file__).parents[2]
SOURCE = "src/unmask"
MODULES = ("measures", "stats", "audit.scoring", "audit.checks", "core.estimate", "core.types")
TESTS = (
    "tests/stats",
    "tests/measures",
    "tests/audit/test_checks.py",
    "tests/audit/test_score_items.py",
    "tests/core/test_estimate.py",
    "tests/core/test_types.py",
    "tests/models/test_finite.py",
)
EQUIVALENT = Path(__file__).parent / "equivalent.toml"


def main(arguments: Sequence[str] | None = None) -> int:
    """Zero where enough mutants are killed and every survivor is listed as equivalent; else one."""
    options = _parser().parse_args(arguments)
    project = execution.Project(options.root, _modules(options), tuple(options.tests))
    if not project.modules:
        sys.exit(f"no module of that name below {options.source}: {' '.join(options.modules)}")
    execution.prepare(project)
    with tempfile.TemporaryDirectory(prefix="mutants-zoo-") as zoo:
        os.environ["UNMASK_TEST_ZOO"] = zoo  # the tests' models, shared by all mutants
        return _run(project, options)


def _run(project: execution.Project, options: argparse.Namespace) -> int:
    begun = time.monotonic()
    known = Equivalents.read(options.equivalent)
    plain = execution.trace(project, options.jobs)
    if plain.failed:
        _say("tests fail without a mutant, so no mutant can be tested:", *plain.failed)
        return 1
    every = [one for name, path in project.modules.items() for one in find_mutants(path.read_text("utf-8"), name)]
    importers = _importers(project)
    plan = {mutant: plain.covering(mutant, importers) for mutant in every}
    for mutant in every:  # for a listed mutant the quick tests are enough to see that the list is true
        if mutant in known:
            plan[mutant] = plan[mutant][: execution.FIRST_TESTS]
    _say(f"{len(every)} mutants, {len(plain.seconds)} tests, {time.monotonic() - begun:.0f} s so far")
    results = []
    for result in execution.run_mutants(project, plan, plain.seconds, options.jobs):
        results.append(result)
        if result.outcome != "killed" and result.mutant not in known:
            _say(_line(result, project))
        if len(results) % 100 == 0:
            _say(f"{len(results)} of {len(every)}, {time.monotonic() - begun:.0f} s")
    tallies = tally_by_module(results, known)
    stale = known.stale(every, project.modules)
    wrong = [one for one in results if one.mutant in known and one.outcome != "survived"]
    for tally in (*tallies, Tally.sum(tallies)):
        print(tally.line())
    for one in stale:
        print(f"no such mutant any more, remove it from the list: {one.text()}")
    for one in wrong:
        print(f"listed as equivalent, but {one.outcome}: {_line(one, project)} ({one.by})")
    print(f"{time.monotonic() - begun:.0f} s")
    if options.json:
        rows = [{**asdict(one), "equivalent": one.mutant in known} for one in results]
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(page(tallies, results, known), encoding="utf-8")
    whole = Tally.sum(tallies)
    return int(whole.share < LEAST or whole.survived > 0 or bool(stale) or bool(wrong))


def _modules(options: argparse.Namespace) -> dict[str, Path]:
    """Dotted names and files of the modules named: `stats`, `stats.agreement`, or a path."""
    top = options.root / options.source
    found = {}
    for path in sorted(top.rglob("*.py")):
        inner = path.relative_to(top).with_suffix("").parts
        inner = inner[:-1] if inner[-1] == "__init__" else inner
        name = ".".join((top.name, *inner))
        wanted = options.modules or MODULES
        if any(_names(one, name, path, top.name) for one in wanted):
            found[name] = path
    return found


def _names(wanted: str, name: str, path: Path, package: str) -> bool:
    if wanted.endswith(".py"):
        return path == Path(wanted).resolve()
    whole = wanted if wanted.partition(".")[0] == package else f"{package}.{wanted}"
    return name == whole or name.startswith(f"{whole}.")


def _importers(project: execution.Project) -> dict[str, set[str]]:
    """For every module those of ours that import it."""
    found: dict[str, set[str]] = {name: set() for name in project.modules}
    for name, path in project.modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for one in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    if one in found:
                        found[one].add(name)
    return found


def _line(result: execution.MutantResult, project: execution.Project) -> str:
    mutant: Mutant = result.mutant
    path = project.modules[mutant.module].relative_to(project.root)
    head = f"{result.outcome} ({result.tests} tests): {path}:{mutant.line} {mutant.function}"
    return f"{head}\n    - {mutant.original}\n    + {mutant.mutated}"


def _say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", help=f"{', '.join(MODULES)} by default; or such as stats.agreement")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (2)")
    parser.add_argument("--json", type=Path, help="write what became of every mutant")
    parser.add_argument("--markdown", type=Path, help="write the table as a page")
    parser.add_argument("--tests", nargs="+", default=TESTS, help=f"{' '.join(TESTS)} by default")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    parser.add_argument("--source", default=SOURCE, help=argparse.SUPPRESS)
    parser.add_argument("--equivalent", type=Path, default=EQUIVALENT, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
