"""The GitHub action, and the pipelines of docs/ci.md: their shell parts are run as the runner runs them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml

import zoo
from audit.gated import pairs, save

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]  # as `shell: bash` of GitHub does


class Runner:
    """A folder with results in which steps run; `unmask` is forked, `pip` installs nothing."""

    def __init__(self, folder: Path, unmask: Sequence[str]) -> None:
        self.folder = folder
        tools = folder / "tools"
        tools.mkdir()
        for name, line in (("unmask", f'exec {shlex.join(unmask)} "$@"'), ("pip", "true")):
            (tools / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
            (tools / name).chmod(0o755)
        files = {name: str(folder / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        self.variables = os.environ | files | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
        self.variables |= {"UNMASK_CACHE_DIR": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script of a step."""
        given = self.variables | variables
        return subprocess.run([*BASH, script], cwd=self.folder, env=given, capture_output=True, text=True, check=False)

    def outputs(self) -> dict[str, str]:
        """The last outputs of a step."""
        lines = (self.folder / "github_output").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def runner(tmp_path: Path, forked: list[str]) -> Runner:
    save(tmp_path / "fair", pairs(210, 400))
    save(tmp_path / "other-seed", pairs(211, 400))
    save(tmp_path / "unfair", pairs(310, 400))
    save(tmp_path / "few", pairs(6, 12, data="few"))
    save(tmp_path / "fewer", pairs(7, 12, data="few"))
    return Runner(tmp_path, forked)


ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, GATE = ACTION["runs"]["steps"]


def inputs(**given: str) -> dict[str, str]:
    """The environment of the action's step: every input, with its default."""
    known = {
        name: given.get(name.replace("-", "_"), each.get("default", "")) for name, each in ACTION["inputs"].items()
    }
    texts = {name: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text) for name, text in GATE["env"].items()}
    return {name: known[match[1]] for name, match in texts.items() if match}


def test_the_action_is_a_composite_action_that_runs_no_input_as_code() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert all({"shell", "run"} <= step.keys() for step in (INSTALL, GATE))
    assert "${{" not in INSTALL["run"] + GATE["run"]
    assert {*inputs()} == {*GATE["env"]} == {*re.findall(r"GATE_\w+", GATE["run"])}
    unused = {name for name in ACTION["inputs"] if f"inputs.{name}" not in str(ACTION["runs"])}
    assert not unused


@pytest.mark.parametrize(
    ("given", "code", "answer"),
    [({"run": "fair", "baseline": "fair"}, 0, "pass"), ({"run": "unfair", "baseline": "fair"}, 1, "fail"),
     ({"run": "fair", "baseline": "fair\nother-seed\n"}, 3, "cannot tell"),
     ({"run": "fewer", "baseline": "few"}, 3, "cannot tell"),
     ({"run": "fewer", "baseline": "few", "cannot_tell": "warn"}, 0, "cannot tell"),
     ({"run": "unfair", "baseline": "fair", "tolerance": "40", "measure": "aul", "allow_missing": "true"}, 0, "pass"),
     ({"run": "fair", "baseline": "gone", "max": "bias-score=60", "tolerance": "2"}, 0, "pass"),
     ({"run": "fair", "baseline": "gone"}, 2, "error"), ({"run": "$(touch code)", "baseline": "fair"}, 2, "error")],
)  # fmt: skip
def test_the_shell_part_of_the_action(given: dict[str, str], code: int, answer: str, runner: Runner) -> None:
    done = runner.run(GATE["run"], **inputs(**given, junit="gate.xml"))
    assert done.returncode == code, done.stderr
    exit_code = "3" if answer == "cannot tell" else str(code)
    assert runner.outputs() == {"answer": answer, "exit-code": exit_code}
    assert not (runner.folder / "code").exists()
    if answer != "error":
        assert (runner.folder / "github_step_summary").read_text().startswith(f"### unmask gate: {answer.upper()}: ")
        assert Xml.parse(runner.folder / "gate.xml").getroot().tag == "testsuites"
    assert ("::warning" in done.stdout) is ("cannot_tell" in given)


def pipeline(language: str, title: str) -> dict[str, Any]:
    """The first block of a language under a title of the page."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    match = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert match, title
    found: dict[str, Any] = yaml.safe_load(match[1])
    return found


@pytest.mark.thorough
def test_the_workflow_of_the_page_works_when_it_is_pasted(runner: Runner) -> None:
    """First on the main branch, without a baseline; then in a pull request, against what main has kept."""
    workflow = pipeline("yaml", "GitHub")
    steps = workflow["jobs"]["gate"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert workflow[True].keys() == {"push", "pull_request"}  # YAML reads `on` as true
    variables = {name: str(value) for name, value in workflow["env"].items()}
    variables |= {"MODEL": str(zoo.folder("bert-uncased")), "AUDIT": "--data own.csv --measure aul"}
    lines = [f"he left {where}.,she left {where}." for where in "abcdefghij"]
    (runner.folder / "own.csv").write_text("\n".join(["more,less", *lines]), encoding="utf-8")
    for branch in ("main", "feature"):
        for step in steps:
            if "run" in step and (branch == "main" or "if" not in step):
                done = runner.run(step["run"], **variables)
                said = done.stdout + done.stderr
                assert done.returncode in ((0, 1) if "gate" in step["run"] else (0,)), said
                if "gate" in step["run"]:
                    against = "limit" if branch == "main" else "unchanged"
                    assert against in done.stdout, said
    assert (runner.folder / "runs" / "main" / "result.json").is_file()


@pytest.mark.parametrize(
    ("new", "main", "code"),
    [("fair", None, 0), ("leaning", None, 0), ("unfair", None, 1), ("fewer", "few", 0), ("unfair", "fair", 1)],
)
def test_the_workflow_fails_only_what_is_worse_or_certainly_beyond_its_limit(
    new: str, main: str | None, code: int, runner: Runner
) -> None:
    """A first run that cannot tell must make the baseline, and a later one would stop harmless retrainings."""
    save(runner.folder / "leaning", pairs(255, 400))  # 63.75%, which may be beyond 65
    for name, source in (("new", new), ("main", main)):
        if source:
            shutil.copytree(runner.folder / source, runner.folder / "runs" / name)
    workflow = pipeline("yaml", "GitHub")
    (step,) = (each for each in workflow["jobs"]["gate"]["steps"] if each.get("name") == "Gate")
    done = runner.run(step["run"], **{name: str(value) for name, value in workflow["env"].items()})
    assert done.returncode == code, done.stdout + done.stderr
    assert ("::warning" in done.stdout) is ("CANNOT TELL" in done.stdout) is (new in ("leaning", "fewer"))


def test_the_pipeline_for_gitlab_is_valid(runner: Runner) -> None:
    job = pipeline("yaml", "GitLab")["bias"]
    assert job["artifacts"]["reports"]["junit"] == "gate.xml"
    assert job["allow_failure"]["exit_codes"] == 3
    *_, line = job["script"]
    shutil.copytree(runner.folder / "fair", runner.folder / "runs" / "new")
    shutil.copytree(runner.folder / "fair", runner.folder / "runs" / "main")
    done = runner.run(line)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "PASS: unchanged in 2 verdicts")
    assert (runner.folder / "gate.xml").is_file()
