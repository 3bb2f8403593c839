"""The processor time of a run of the tests: what it took, which tests took most of it, and whether that is too much.

Wall-clock times of a shared machine say little. Counted are all processes of the run with their children, from their
start: imports and collection are part of what a run costs.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

LISTED = 10


def used(*, children: bool = True) -> float:
    """Seconds of processor time of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system + (times.children_user + times.children_system if children else 0.0)


class ProcessorTime:
    """Measures every test; fails the run if it took more than `--most-processor-time` seconds."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tests: dict[str, float] = {}
        self.total = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        before = used()
        result = yield
        self.tests[item.nodeid] = used() - before
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(self.config, "workeroutput"):  # of a process of pytest-xdist: tell the one that prints
            largest = sorted(self.tests.items(), key=lambda pair: -pair[1])[:LISTED]
            self.config.workeroutput["processor_time"] = (used(), largest)
            return
        self.total += used(children=not self.config.getoption("numprocesses", None))  # those report their own
        if self.is_too_much:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        seconds, largest = getattr(node, "workeroutput", {}).get("processor_time", (0.0, []))
        self.total += seconds
        self.tests.update(largest)

    @property
    def is_too_much(self) -> bool:
        most = self.config.getoption("--most-processor-time")
        return most is not None and self.total > most

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        most = self.config.getoption("--most-processor-time")
        if most is None:
            return
        terminalreporter.write_line(f"processor time: {self.total:.0f} s of at most {most:.0f}; the longest tests:")
        for name, seconds in sorted(self.tests.items(), key=lambda pair: -pair[1])[:LISTED]:
            terminalreporter.write_line(f"  {seconds:6.1f} s  {name}")
        if self.is_too_much:
            terminalreporter.write_line("FAILED: this tier takes more processor time than it may", red=True)
