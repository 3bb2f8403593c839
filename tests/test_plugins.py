"""A package made of the files in docs/adding.md, built as a wheel and installed into a fresh environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "adding.md"
FILE = re.compile(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
BROKEN = """\
[project.entry-points."unmask.measures"]
broken = "bias_extras.gone"
taken = "bias_extras.taken:CPS"
"""
TAKEN = """\
from dataclasses import replace
from bias_extras.first_token import FIRST_TOKEN

CPS = replace(FIRST_TOKEN, name="cps")
"""


COMMANDS = """\
import contextlib, io, json, sys
from unmask.cli import run_command

printed = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = run_command(words)
    assert code == 0, (words, code)
    printed.append(out.getvalue())
print(json.dumps(printed))
"""


class Environment:
    """A fresh environment that sees the packages of this one, and what is installed into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=False, symlinks=os.name != "nt")
        self.python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        ours = sysconfig.get_path("purelib")
        found = self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
        Path(found, "parent.pth").write_text(f"import site; site.addsitedir({ours!r})\n", encoding="utf-8")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run its Python in the folder."""
        hidden = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        variables = hidden | {"UNMASK_CACHE_DIR": str(self.folder / "cache"), "COLUMNS": "200"}
        return subprocess.run(
            [self.python, *words], capture_output=True, text=True, cwd=self.folder, env=variables, check=False
        )

    def unmask(self, *commands: list[str]) -> list[str]:
        """What commands print, one after the other in one process of the command line; they must succeed."""
        done = self.run("-c", COMMANDS, json.dumps(commands))
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return [str(printed) for printed in json.loads(done.stdout)]

    def install(self, project: Path) -> None:
        """Build a wheel of the project, and install it here; without the network."""
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        wheels = self.folder / f"wheels-{project.name}"
        build = ["wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels]
        subprocess.run([*pip, *build, project], check=True, cwd=self.folder)
        (wheel,) = wheels.iterdir()
        install = ["--python", self.python, "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall"]
        subprocess.run([*pip, *install, wheel], check=True, cwd=self.folder)


def write_project(folder: Path, **more: str) -> Path:
    """The files of the page as a project."""
    files = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))
    files["pyproject.toml"] = more.pop("pyproject", files["pyproject.toml"])
    for name, text in {**files, "bias_extras/__init__.py": "", **more}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the package of the page."""
    folder = tmp_path_factory.mktemp("plugins")
    environment = Environment(folder)
    environment.install(write_project(folder / "bias-extras"))
    return environment


OFFERED = {
    "measures": "first-token",
    "data": "office-pairs",
    "mitigations": "one-pronoun",
    "tasks": "late",
    "diagnoses": "longer",
}


JSON = ["--json", "--no-report", "--quiet"]
MITIGATE = """\
from unmask.data.texts import load_corpus
from unmask.mitigate import find
from unmask.mitigate.checkpoint import make_checkpoint
from unmask.models import Engine, open_lm

made = make_checkpoint(find("one-pronoun"), Engine(open_lm()), load_corpus(()), "one")
print(*made.details["outcome"]["merged"])
"""


def test_what_a_package_offers_is_listed_last_with_its_origin(installed: Environment) -> None:
    for what, text in zip(OFFERED, installed.unmask(*(["list", what] for what in OFFERED)), strict=True):
        *others, last = text.splitlines()
        assert last.startswith(f"{OFFERED[what]} ")
        assert last.endswith("(from bias-extras)")
        assert not any("(from" in line for line in others)


STATISTIC = """\
from unmask.core.estimate import Estimate
from unmask.core.statistic import statistic
from unmask.findings.sentences import lean

facts = statistic("first-share")
print(facts.unit, facts.digits, facts.change_unit)
for value in (60.0, 40.0):
    print(lean(Estimate(value, value - 2, value + 2, statistic="first-share", null=50.0, n=90)))
"""


def test_a_statistic_of_a_package_is_shown_and_judged_by_its_record(installed: Environment) -> None:
    done = installed.run("-c", STATISTIC)
    assert done.stdout.splitlines() == ["% 1 points", "begins as stereotypes do", "begins as no stereotype does"]


@pytest.mark.thorough
def test_what_a_package_offers_is_run_by_its_name(installed: Environment) -> None:
    """The mitigation without the measurements before and after, which take minutes."""
    done = installed.run("-c", MITIGATE)
    assert "he/she" in done.stdout.split(), done.stderr
    printed = installed.unmask(
        ["audit", "--measure", "first-token,cps", "--data", "office-pairs", *JSON],
        ["audit", "one", "--measure", "all-masked", "--data", "office-pairs", *JSON],
        ["diagnose", "longer", "builtin", "--measure", "aul", "--data", "office-pairs", *JSON],
        ["task", "late", "builtin", *JSON],
    )
    audit, mitigated, diagnosis, task = map(json.loads, printed)
    (data,) = audit["data"]
    assert (data["name"], data["n"], data["verified"]) == ("office-pairs", 4, True)
    headlines = [each for each in audit["estimates"] if each["group"] == "all"]
    assert {each["measure"] for each in headlines} == {"first-token", "cps"}
    assert all(each["n"] + each["unscored"] == 4 for each in headlines if each["statistic"] == "bias-score")
    assert mitigated["data"][0]["n"] == 4
    (estimate,) = diagnosis["estimates"]
    assert (estimate["measure"], estimate["statistic"], estimate["data"]) == ("longer/aul", "share", "office-pairs")
    estimate = task["estimates"][0]
    assert (estimate["measure"], estimate["statistic"], estimate["n"]) == ("late", "mean-difference", 6)
    assert estimate["low"] < estimate["value"] < estimate["high"]


def test_a_broken_package_warns_in_one_line_each_and_replaces_nothing(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    page = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))["pyproject.toml"]
    head, mark, rest = page.partition('[project.entry-points."unmask.measures"]\n')
    project = write_project(tmp_path / "broken", pyproject=head + BROKEN + rest, **{"bias_extras/taken.py": TAKEN})
    assert mark
    environment.install(project)
    said = environment.run("-m", "unmask", "list", "measures")
    assert said.stderr.splitlines() == [
        "unmask: entry point 'broken' of bias-extras cannot be loaded "
        "(ModuleNotFoundError: No module named 'bias_extras.gone'): not used",
        "unmask: entry point 'taken' of bias-extras offers a measure named 'cps', which exists: not used",
    ]
    lines = {line.split()[0]: line for line in said.stdout.splitlines()}
    assert "CrowS-Pairs" in lines["cps"]
    assert "first-token" in lines
