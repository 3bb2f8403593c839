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

    def unmask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command line; it must succeed."""
        done = self.run("-m", "unmask", *words)
        assert done.returncode == 0, done.stderr
        return done

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


LIST = """\
import contextlib, io, json, sys
from unmask.cli import main

said = {}
for what in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main(["list", what])
    said[what] = out.getvalue()
print(json.dumps(said))
"""


def test_what_a_package_offers_is_listed_last_with_its_origin(installed: Environment) -> None:
    done = installed.run("-c", LIST, *OFFERED)
    assert (done.returncode, done.stderr) == (0, "")
    for what, text in json.loads(done.stdout).items():
        *others, last = text.splitlines()
        assert last.startswith(f"{OFFERED[what]} ")
        assert last.endswith("(from bias-extras)")
        assert not any("(from" in line for line in others)


def test_its_measure_is_asked_on_its_dataset(installed: Environment) -> None:
    words = ["--measure", "first-token", "cps", "--data", "office-pairs", "--json", "--no-report", "--quiet"]
    meta = json.loads(installed.unmask("audit", *words).stdout)
    (data,) = meta["data"]
    assert (data["name"], data["n"], data["verified"]) == ("office-pairs", 4, True)
    headlines = [each for each in meta["estimates"] if each["group"] == "all"]
    assert {each["measure"] for each in headlines} == {"first-token", "cps"}
    assert all(each["n"] + each["unscored"] == 4 for each in headlines if each["statistic"] == "bias-score")


@pytest.mark.thorough
def test_its_diagnosis_is_run(installed: Environment) -> None:
    words = ["--measure", "aul", "--data", "office-pairs", "--json", "--no-report", "--quiet"]
    meta = json.loads(installed.unmask("diagnose", "longer", "builtin", *words).stdout)
    (estimate,) = meta["estimates"]
    assert (estimate["measure"], estimate["statistic"], estimate["data"]) == ("longer/aul", "share", "office-pairs")


MITIGATE = """\
from unmask.data.texts import load_corpus
from unmask.mitigate import find
from unmask.mitigate.checkpoint import make_checkpoint
from unmask.models import Engine, open_lm

made = make_checkpoint(find("one-pronoun"), Engine(open_lm()), load_corpus(()), "one")
print(*made.details["outcome"]["merged"])
"""


@pytest.mark.thorough
def test_its_mitigation_is_applied(installed: Environment) -> None:
    """Without the measurements before and after, which take minutes."""
    done = installed.run("-c", MITIGATE)
    assert "he/she" in done.stdout.split(), done.stderr
    words = ["--measure", "all-masked", "--data", "office-pairs", "--json", "--no-report", "--quiet"]
    assert json.loads(installed.unmask("audit", "one", *words).stdout)["data"][0]["n"] == 4


@pytest.mark.thorough
def test_its_task_is_run(installed: Environment) -> None:
    meta = json.loads(installed.unmask("task", "late", "builtin", "--json", "--no-report", "--quiet").stdout)
    estimate = meta["estimates"][0]
    assert (estimate["measure"], estimate["statistic"], estimate["n"]) == ("late", "mean-difference", 6)
    assert estimate["low"] < estimate["value"] < estimate["high"]


def test_a_broken_package_warns_in_one_line_each_and_replaces_nothing(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    page = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))["pyproject.toml"]
    head, mark, rest = page.partition('[project.entry-points."unmask.measures"]\n')
    project = write_project(tmp_path / "broken", pyproject=head + BROKEN + rest, **{"bias_extras/taken.py": TAKEN})
    assert mark
    environment.install(project)
    said = environment.unmask("list", "measures")
    assert said.stderr.splitlines() == [
        "unmask: entry point 'broken' of bias-extras cannot be loaded "
        "(ModuleNotFoundError: No module named 'bias_extras.gone'): not used",
        "unmask: entry point 'taken' of bias-extras offers a measure named 'cps', which exists: not used",
    ]
    lines = {line.split()[0]: line for line in said.stdout.splitlines()}
    assert "CrowS-Pairs" in lines["cps"]
    assert "first-token" in lines
