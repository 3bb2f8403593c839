"""Run tests on mutants: one process imports the libraries and forks a child for every mutant.

No module of the package under test is imported before the fork, so a child needs only to put its own version
of one module in the way of the import.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import importlib
import importlib.util
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

from tools.mutants.edits import Mutant, apply_mutant

FIRST_TESTS = 40  # tests run on a mutant before the others
BASE_SECONDS, TIME_FACTOR = 10.0, 5.0  # time limit: this, plus this many times the duration of the tests
MAX_TEST_SECONDS = 5.0  # longer tests (simulations) are not used
MEMORY = 4 << 30  # bytes a mutant may allocate beyond the imported libraries


@dataclass(frozen=True)
class Project:
    """What is mutated, and what is run."""

    root: Path
    modules: Mapping[str, Path]  # dotted name → file
    tests: tuple[str, ...]  # folders and files of tests, relative to the root

    @functools.cached_property
    def package(self) -> str:
        """The package's top name; nothing of it may be imported by the parent process."""
        return next(iter(self.modules)).partition(".")[0]


@dataclass
class Trace:
    """What a run without mutants showed: seconds of every test, and who executes which line."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)  # module → line → tests; none: on import
    libraries: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def covering(self, mutant: Mutant, importers: Mapping[str, set[str]]) -> list[str]:
        """The tests that can notice a mutant, quickest first.

        What happens while a module is imported concerns the tests of all that the module and the modules that
        import it hold, and those of its package, which may find the module by a registry. Tests mirror the source.
        """
        first, last = mutant.lines
        mine = {line: tests for line, tests in self.lines.get(mutant.module, {}).items() if first <= line <= last}
        found = {test for tests in mine.values() for test in tests}
        if not last or (mine and not found):
            modules = {mutant.module, *importers.get(mutant.module, ())}
            found = {test for one in modules for tests in self.lines.get(one, {}).values() for test in tests}
            parts = mutant.module.split(".")[1:]
            packages = tuple(f"tests/{'/'.join(each)}/" for each in (parts, parts[:-1]) if each)
            found |= {test for test in self.seconds if test.startswith(packages)}
        return sorted(
            (test for test in found if self.seconds[test] <= MAX_TEST_SECONDS), key=lambda test: self.seconds[test]
        )


@dataclass(frozen=True)
class MutantResult:
    """The outcome of running the tests on a mutant."""

    mutant: Mutant
    outcome: str  # killed, survived, timed out
    by: str = ""  # the test that failed
    tests: int = 0  # how many could have


# ------------------------------------------------------------------------------------------ a child


class _MutantLoader(SourceFileLoader):
    """Loads a module from the mutated syntax tree instead of its file."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname: str) -> types.CodeType:
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _MutantFinder:
    """A finder, ahead of all others, for the mutated module."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        loader = _MutantLoader(name, str(self.path), self.tree)
        folder = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, self.path, loader=loader, submodule_search_locations=folder)


class _SelectedTests:
    """Runs the tests chosen, quickest first, and remembers what failed."""

    def __init__(self, order: Mapping[str, int]) -> None:
        self.order = order
        self.failed = ""
        self.ran = 0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.ran += report.when == "call"
        if report.failed and not self.failed:
            self.failed = report.nodeid


def _run_pytest(arguments: Sequence[str], plugin: object, scratch: Path) -> int:
    with contextlib.suppress(ImportError):  # the same examples every time, none kept, none made smaller
        import hypothesis

        hypothesis.settings.register_profile(
            "mutants",
            database=None,
            derandomize=True,
            deadline=None,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        )
        hypothesis.settings.load_profile("mutants")
    usual = ["-x", "-q", "-m", "not slow", "--assert=plain", "--tb=short"]
    usual += ["-p", "no:cacheprovider", "-p", "no:unraisableexception", "-p", "no:threadexception"]
    return int(pytest.main([*usual, f"--basetemp={scratch}/tmp", *arguments], plugins=[plugin]))


def _run_tests(project: Project, mutant: Mutant, tests: Sequence[str], scratch: Path) -> tuple[int, str, int]:
    path = project.modules[mutant.module]
    tree = apply_mutant(path.read_text(encoding="utf-8"), mutant.number)
    sys.meta_path.insert(0, _MutantFinder(mutant.module, path, tree))  # type: ignore[arg-type]
    plugin = _SelectedTests({test: at for at, test in enumerate(tests)})
    code = _run_pytest(sorted({test.partition("::")[0] for test in tests}), plugin, scratch)
    return code, plugin.failed, plugin.ran


# ------------------------------------------------------------------------------- the run that traces


class _TracePlugin:
    """Tells coverage which test is running, and which fixture of several tests is being set up."""

    def __init__(self, project: Project, coverage: Any) -> None:
        self.project, self.coverage = project, coverage
        self.trace = Trace()
        self.users: dict[str, set[str]] = {}  # fixture → tests
        self.now = ""

    def pytest_collection_finish(self, session: Any) -> None:
        for item in session.items:
            for name in getattr(item, "fixturenames", ()):
                self.users.setdefault(name, set()).add(item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> None:
        for name in self.project.modules:  # a test must not profit from what another has cached
            for one in vars(sys.modules.get(name, sys)).values():
                if callable(getattr(one, "cache_clear", None)):
                    one.cache_clear()
        self.now = item.nodeid
        self.coverage.switch_context(self.now)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        several = fixturedef.scope != "function"
        if several:
            self.coverage.switch_context(f"fixture {fixturedef.argname}")
        yield
        if several:
            self.coverage.switch_context(self.now)

    def pytest_runtest_logreport(self, report: Any) -> None:
        seconds = self.trace.seconds
        seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.trace.failed.append(report.nodeid)

    def finish(self) -> Trace:
        data = self.coverage.get_data()
        for name, path in self.project.modules.items():
            lines = data.contexts_by_lineno(str(path))
            self.trace.lines[name] = {line: self._tests(contexts) for line, contexts in lines.items()}
        ours = (self.project.package, "tools", "conftest", "test", "__main__", "__mp_main__")
        self.trace.libraries = [
            name
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] not in ours and not self._is_ours(module)
        ]
        return self.trace

    def _tests(self, contexts: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for one in contexts:
            if one.startswith("fixture "):
                found |= self.users.get(one.removeprefix("fixture "), set())
            elif one in self.trace.seconds:
                found.add(one)
        return found & set(self.trace.seconds)

    def _is_ours(self, module: object) -> bool:
        path = getattr(module, "__file__", None)
        libraries = f"{os.sep}site-packages{os.sep}"
        return path is None or (libraries not in path and str(self.project.root) in path)


def _trace_files(project: Project, files: Sequence[str], scratch: Path) -> Trace:
    import coverage

    tracer = coverage.Coverage(
        data_file=None, include=[str(path) for path in project.modules.values()], config_file=False
    )
    plugin = _TracePlugin(project, tracer)
    tracer.start()
    code = _run_pytest(files, plugin, scratch)
    tracer.stop()
    trace = plugin.finish()
    if code and not trace.failed:
        trace.failed.append(f"pytest stopped with code {code} on {', '.join(files)}")
    return trace


# ------------------------------------------------------------------------------------ the processes


@dataclass
class _Child:
    pid: int
    scratch: Path
    until: float

    def result(self) -> Any:
        """What it left; None where it did not come so far."""
        file = self.scratch / "result"
        found = pickle.loads(file.read_bytes()) if file.exists() else None
        shutil.rmtree(self.scratch, ignore_errors=True)
        return found


def _fork(work: Callable[[Path], Any], seconds: float) -> _Child:
    """A child that does some work in a folder of its own, silently."""
    scratch = Path(tempfile.mkdtemp(prefix="mutant-"))
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return _Child(pid, scratch, time.monotonic() + seconds)
    try:
        os.setsid()
        log = os.open(scratch / "log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        with contextlib.suppress(FileNotFoundError):  # only Linux says how large a process is
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        found = work(scratch)
        (scratch / "partial").write_bytes(pickle.dumps(found))
        (scratch / "partial").rename(scratch / "result")
    finally:
        os._exit(0)


def _all(works: Iterator[tuple[Any, Callable[[Path], Any], float]], jobs: int) -> Iterator[tuple[Any, Any]]:
    """Do all the work, so many at a time; yields the key, and what was found: None when time ran out."""
    running: dict[Any, _Child] = {}
    while True:
        while len(running) < jobs and (work := next(works, None)):
            key, function, seconds = work
            running[key] = _fork(function, seconds)
        if not running:
            return
        time.sleep(0.01)
        for key, child in list(running.items()):
            late = time.monotonic() > child.until
            if late:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
            if os.waitpid(child.pid, 0 if late else os.WNOHANG)[0]:
                del running[key]
                found = child.result()
                yield key, "late" if late and found is None else found


def prepare(project: Project) -> None:
    """Before any library is imported: one thread each, no network, a zoo for all, tests' folder as root."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    for name in [name for name in os.environ if name.startswith("PYTEST_") or name == "UNMASK_DATA_DIR"]:
        del os.environ[name]
    os.chdir(project.root)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


def trace(project: Project, jobs: int) -> Trace:
    """Run the tests once without a mutant; the process then has all libraries imported, ready to fork."""
    files = _test_files(project)
    parts = [files[at::jobs] for at in range(min(jobs, len(files)))]
    whole = Trace()
    works = ((at, functools.partial(_trace_files, project, part), 3600.0) for at, part in enumerate(parts))
    for at, found in _all(works, jobs):
        if not isinstance(found, Trace):
            whole.failed.append(f"the tests without a mutant came to no end: {', '.join(parts[at])}")
            continue
        whole.seconds |= found.seconds
        whole.failed += found.failed
        whole.libraries += [one for one in found.libraries if one not in whole.libraries]
        for module, lines in found.lines.items():
            mine = whole.lines.setdefault(module, {})
            for line, tests in lines.items():
                mine.setdefault(line, set()).update(tests)
    _import(whole.libraries)
    gc.collect()
    gc.freeze()  # children share these pages as long as nothing counts on them
    return whole


def run_mutants(
    project: Project, plan: Mapping[Mutant, Sequence[str]], seconds: Mapping[str, float], jobs: int
) -> Iterator[MutantResult]:
    """Run the planned tests on each mutant until one fails: the quickest first, then the others.

    `seconds` is the duration of every test without a mutant, for the time limits.
    """
    rest: list[Mutant] = []

    def works(mutants: Sequence[Mutant], part: slice) -> Iterator[tuple[Any, Callable[[Path], Any], float]]:
        for mutant in mutants:
            if tests := plan[mutant][part]:
                limit = BASE_SECONDS + TIME_FACTOR * sum(seconds[test] for test in tests)
                yield mutant, functools.partial(_run_tests, project, mutant, tests), limit

    for mutant, tests in plan.items():
        if not tests:
            yield MutantResult(mutant, "survived")
    for begin, end in ((0, FIRST_TESTS), (FIRST_TESTS, None)):
        left = [one for one in plan if len(plan[one]) > begin] if not begin else list(rest)
        rest.clear()
        for mutant, found in _all(works(left, slice(begin, end)), jobs):
            result = _result(mutant, found, len(plan[mutant]))
            if result.outcome == "survived" and end and len(plan[mutant]) > end:
                rest.append(mutant)
            else:
                yield result


def _result(mutant: Mutant, found: Any, tests: int) -> MutantResult:
    if found == "late":
        return MutantResult(mutant, "timed out", tests=tests)
    if found is None:
        return MutantResult(mutant, "killed", "the process died", tests)
    code, failed, ran = found
    if code == 0 and ran:
        return MutantResult(mutant, "survived", tests=tests)
    return MutantResult(mutant, "killed", failed or "importing the tests", tests)


def _test_files(project: Project) -> list[str]:
    found: list[str] = []
    for name in project.tests:
        path = project.root / name
        files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        found += [str(file.relative_to(project.root)) for file in files]
    return found


def _import(names: Sequence[str]) -> None:
    with warnings.catch_warnings(), open(os.devnull, "w") as nothing, contextlib.redirect_stderr(nothing):  # noqa: PTH123
        warnings.simplefilter("ignore")
        for name in names:
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
