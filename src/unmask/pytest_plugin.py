"""A pytest plugin: the verdicts of `unmask gate` as tests.

    pytest --unmask-run runs/new --unmask-baseline runs/main

Every verdict is a test beside those of the project; what is worse, missing or *cannot tell* fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from unmask.audit.gate import GateResult
    from unmask.audit.gate_forms import GateEntry

RESULT: pytest.StashKey[GateResult] = pytest.StashKey()
OPTIONS = {  # of `unmask gate`, with their help here
    "tolerance": "worsening that is accepted, such as bias-score=2,appd=0.05",
    "margin": "worsening that must be excluded to pass",
    "max": "limit of a statistic, such as bias-score=60",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the gate."""
    group = parser.getgroup("unmask", "bias of a language model (unmask)")
    group.addoption("--unmask-run", metavar="RUN", help="result folder that is judged")
    text = "result folder that it must not be worse than; can be repeated: trainings that differ in their seed"
    group.addoption("--unmask-baseline", action="append", metavar="RUN", help=text)
    group.addoption("--unmask-measure", action="append", default=[], metavar="NAME", help="only this measure")
    for name, text in OPTIONS.items():
        group.addoption(f"--unmask-{name}", metavar="NUMBERS", help=text)
    group.addoption("--unmask-allow-missing", action="store_true", help="accept that data of the baseline are missing")


@pytest.hookimpl(tryfirst=True)  # before others select items
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for every verdict, and for everything that could not be judged."""
    run, baseline = config.getoption("--unmask-run"), config.getoption("--unmask-baseline")
    if run is None and baseline is None:
        return
    if run is None:
        raise pytest.UsageError("--unmask-baseline needs --unmask-run RUN, the result that is judged")
    from unmask.audit.gate_forms import entries

    config.stash[RESULT] = result = _judge(run, baseline, config)
    parent = GateCollector.from_parent(session, name="unmask", nodeid="unmask", path=Path(run).resolve())
    judged = [each for each in entries(result) if each.mark != "note"]
    items += [GateItem.from_parent(parent, name=f"{each.data} {each.name}", entry=each) for each in judged]


def _judge(run: str, baseline: list[str] | None, config: pytest.Config) -> GateResult:
    from unmask.audit.gate import gate
    from unmask.core.errors import UnmaskError

    options: dict[str, Any] = {name: config.getoption(f"--unmask-{name}") for name in OPTIONS}
    measures = tuple(config.getoption("--unmask-measure"))
    try:
        allowed = config.getoption("--unmask-allow-missing")
        return gate(run, baseline, measures=measures, allow_missing=allowed, **options)
    except UnmaskError as error:
        raise pytest.UsageError(f"unmask: {error}") from error


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the answer of the gate."""
    if (result := config.stash.get(RESULT, None)) is not None:
        from unmask.audit.gate_forms import summary_line

        terminalreporter.section("unmask gate")
        terminalreporter.line(summary_line(result))


class GateFailure(Exception):  # noqa: N818 - a verdict, not an error
    """A verdict that does not pass."""


class GateCollector(pytest.Collector):
    """The parent of the verdicts; they are not collected from files."""

    def collect(self) -> list[pytest.Item]:
        """Nothing: the verdicts are added to the session."""
        return []


class GateItem(pytest.Item):
    """A verdict as a test."""

    def __init__(self, *, entry: GateEntry, **fields: Any) -> None:
        """Create it; `fields` are those of every node."""
        super().__init__(**fields)
        self.entry = entry

    def runtest(self) -> None:
        """Fail unless the verdict passes."""
        if self.entry.mark != "pass":
            raise GateFailure(str(self.entry))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict in one line, without a traceback."""
        if isinstance(excinfo.value, GateFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The name of the verdict."""
        return self.path, None, f"unmask {self.name}"
