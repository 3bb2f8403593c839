"""The step graph: order, cache keys, running, failures and status."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import unmask
from studies import toys
from unmask.core.errors import DataError, OutputError, ResultError, UnknownName
from unmask.core.files import lock_folder
from unmask.findings.envelope import Result
from unmask.studies import Runtime
from unmask.studies.cache import is_done, run_step, step_folder, study_status
from unmask.studies.graph import MISSING, cache_keys, data_identity, json_digest, model_identity, topological_order
from unmask.studies.run import plan_study, run_plan
from unmask.studies.spec import Step

HERE = Runtime()


def chain() -> list[Step]:
    """1, then 1 + 10, then 1 + 11 + 100."""
    first = toys.step("first", plus=1)
    second = toys.step("second", inputs=[first], plus=10)
    return [toys.step("third", inputs=[first, second], plus=100)]


def run_steps(steps: list[Step], folder: Path) -> tuple[Result, dict[str, str]]:
    """Run a study of these steps; its result, and the state of every step as progress reports it."""
    states: dict[str, str] = {}

    def report(label: str, share: float, total: int, note: str = "") -> None:
        name, _, state = note.partition(": ")
        states[name] = state.split()[0].rstrip(":")
        assert (label, total, share * total) == ("steps", total, pytest.approx(len(states)))

    plan = plan_study(toys.study(steps), {}, Runtime(offline=True))
    return run_plan(plan, folder, progress=report), states


def numbers(folder: Path) -> dict[str, int]:
    results = json.loads((folder / "result.json").read_text())
    tables = results["findings"][-1]["tables"]
    rows = tables[0]["rows"] if tables else []
    return {row["step"]: row["number"] for row in rows}


def test_topological_order_has_inputs_first_and_each_step_once() -> None:
    assert [step.name for step in topological_order(chain())] == ["first", "second", "third"]


def test_duplicate_step_names_are_refused() -> None:
    with pytest.raises(ResultError, match="two different steps are named 'first'"):
        topological_order([toys.step("first", plus=1), toys.step("first", plus=2)])


def test_cache_keys_depend_on_everything_an_output_depends_on(tmp_path: Path) -> None:
    (last,) = chain()
    keys = cache_keys(topological_order([last]), HERE)
    again = cache_keys(topological_order(chain()), HERE)
    assert keys == again
    other = replace(last, parameters={"plus": 101})
    assert cache_keys(topological_order([other]), HERE)["third"] != keys["third"]
    assert cache_keys(topological_order([other]), HERE)["second"] == keys["second"]
    newer = replace(last, kind=last.kind.replace(":ADD", ":NEWER"))
    assert cache_keys(topological_order([newer]), HERE)["third"] != keys["third"]
    first = toys.step("first", plus=2)
    deep = toys.step("third", inputs=[first, toys.step("second", inputs=[first], plus=10)], plus=100)
    changed = cache_keys(topological_order([deep]), HERE)
    assert all(changed[name] != keys[name] for name in keys)


def test_cache_key_ignores_the_step_name() -> None:
    one, two = toys.step("one", plus=1), toys.step("two", plus=1)
    keys = cache_keys([one, two], HERE)
    assert keys["one"] == keys["two"]


def test_digest_ignores_key_order() -> None:
    assert json_digest({"a": 1, "b": [2]}) == json_digest({"b": [2], "a": 1})
    assert json_digest({"a": 1}) != json_digest({"a": 1.5})


def test_models_and_data_are_identified_by_content(tmp_path: Path) -> None:
    model, file = tmp_path / "model", tmp_path / "mine.csv"
    model.mkdir()
    (model / "model.safetensors").write_bytes(b"weights")
    (model / "README.md").write_text("read me")
    file.write_text("more,less\na,b\n")
    before = model_identity(str(model)), data_identity(str(file), None)
    (model / "README.md").write_text("read me again")
    assert model_identity(str(model)) == before[0]
    (model / "model.safetensors").write_bytes(b"other weights")
    file.write_text("more,less\na,c\n")
    after = model_identity(str(model)), data_identity(str(file), None)
    assert after[0] != before[0]
    assert after[1] != before[1]
    assert data_identity("crows-pairs", tmp_path) == MISSING
    assert model_identity("some/model@abc", offline=True) == "hub:some/model@abc"
    step = replace(toys.step("one", plus=1), models=(str(model),))
    key = cache_keys([step], Runtime())["one"]
    (model / "model.safetensors").write_bytes(b"third weights")
    assert cache_keys([step], Runtime())["one"] != key


def test_builtin_variants_have_different_identities() -> None:
    assert model_identity("builtin") != model_identity("builtin-dose+1") != model_identity("builtin-dose+2")


@pytest.mark.thorough
def test_study_runs_all_steps_and_writes_all_files(tmp_path: Path) -> None:
    result, states = run_steps(chain(), tmp_path)
    assert states == {"first": "done", "second": "done", "third": "done"}
    assert result.kind == "study"
    assert not result.meta["details"]["failed"]
    assert numbers(tmp_path) == {"first": 1, "second": 11, "third": 112}
    for name in ("result.json", "tables.md", "tables.tex", "study.json", "tables/numbers-1-numbers.csv"):
        assert (tmp_path / name).is_file(), name
    assert (tmp_path / "tables/numbers-1-numbers.csv").read_text().splitlines()[1:] == [
        "first,1",
        "second,11",
        "third,112",
    ]


def test_finished_steps_are_not_rerun(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    steps = [toys.step("one", plus=1, trace=str(trace)), toys.step("two", plus=2, trace=str(trace))]
    run_steps(steps, tmp_path / "out")
    _, states = run_steps(steps, tmp_path / "out")
    assert states == {"one": "cached", "two": "cached"}
    run_steps([*steps, toys.step("three", plus=3, trace=str(trace))], tmp_path / "out")
    assert trace.read_text().split() == ["one", "two", "three"]
    assert numbers(tmp_path / "out") == {"one": 1, "two": 2, "three": 3}


def test_failed_step_is_reported_and_other_steps_continue(tmp_path: Path) -> None:
    bad = toys.step("bad", "FAIL")
    steps = [bad, toys.step("after", inputs=[bad], plus=1), toys.step("beside", plus=5), toys.step("odd", "BREAK")]
    result, states = run_steps(steps, tmp_path)
    assert states == {"bad": "FAILED", "after": "skipped", "beside": "done", "odd": "FAILED"}
    assert result.meta["details"]["failed"] == {
        "bad": "nothing can be added to this",
        "after": "needs bad, which is not finished",
        "odd": "ZeroDivisionError: one by zero",
    }
    assert numbers(tmp_path) == {"beside": 5}
    assert "Not done: bad: nothing can be added to this" in str(result)
    assert [(step.name, step.state) for step in study_status(tmp_path).steps] == [
        ("bad", "failed"),
        ("after", "waiting"),
        ("beside", "done"),
        ("odd", "failed"),
    ]


def failures(steps: list[Step], folder: Path) -> object:
    return run_steps(steps, folder)[0].meta["details"]["failed"]


def test_failed_resumable_step_is_retried_and_resumes(tmp_path: Path) -> None:
    steps = [toys.step("slow", "RESUME")]
    assert failures(steps, tmp_path) == {"slow": "try 1"}
    assert failures(steps, tmp_path) == {"slow": "try 2"}
    assert not failures(steps, tmp_path)
    assert numbers(tmp_path) == {"slow": 3}


def test_failed_step_leaves_no_output_folder(tmp_path: Path) -> None:
    step = toys.step("bad", "FAIL")
    key = cache_keys([step], HERE)["bad"]
    (tmp_path / "steps").mkdir()
    with pytest.raises(Exception, match="nothing can be added"):
        run_step(step, key, {}, tmp_path, Runtime())
    assert not step_folder(tmp_path, key).exists()
    assert not is_done(tmp_path, key)


@pytest.mark.thorough
def test_killed_study_resumes(tmp_path: Path) -> None:
    """SIGKILL during a step: finished steps are kept, and the tables equal those of an uninterrupted run."""
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import unmask
from studies import toys
from unmask.studies import Runtime, StudyOptions
from unmask.studies.run import plan_study, run_plan
a = toys.step("a", plus=1, trace=sys.argv[3])
b = toys.step("b", inputs=[a], plus=2, trace=sys.argv[3], hold=sys.argv[4])
c = toys.step("c", inputs=[a, b], plus=3, trace=sys.argv[3])
run_plan(plan_study(toys.study([c]), {}, Runtime(offline=True)), Path(sys.argv[2]))
"""
    out, trace, hold = tmp_path / "out", tmp_path / "trace", tmp_path / "hold"
    hold.touch()  # step b does not end before it is killed
    words = [sys.executable, "-c", code, *map(str, (Path(__file__).parents[1], out, trace, hold))]
    killed = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not list(out.glob("steps/*.partial")) or not trace.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    while not [step for step in study_status(out).steps if (step.name, step.state) == ("b", "under way")]:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert study_status(out).running
    killed.kill()
    assert killed.wait() < 0
    states = {step.name: step.state for step in study_status(out).steps}
    assert states == {"a": "done", "b": "interrupted", "c": "waiting"}
    assert not study_status(out).running
    hold.unlink()
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    assert numbers(out) == {"a": 1, "b": 3, "c": 7}
    assert trace.read_text().split() == ["a", "b", "c"]


def test_concurrent_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    run_steps(chain(), tmp_path)
    with lock_folder(tmp_path), pytest.raises(OutputError, match="being written by another process"):
        run_steps(chain(), tmp_path)


def test_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ResultError, match="holds other files"):
        run_steps(chain(), tmp_path)


def test_status_refuses_folders_that_are_not_studies(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"no study\.json"):
        study_status(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(ResultError, match="is not JSON"):
        study_status(tmp_path)
    (tmp_path / "study.json").write_text('{"schema": 99}')
    with pytest.raises(ResultError, match="schema 99"):
        study_status(tmp_path)


def test_a_study_in_python_gives_the_result_that_its_folder_holds(tmp_path: Path) -> None:
    result = unmask.study(toys.study(chain()), out=tmp_path, models="builtin", offline=True)
    assert unmask.load(tmp_path).meta == result.meta
    assert result.meta["options"]["models"] == ["builtin"]
    with pytest.raises(UnknownName, match="no option named 'model'"):
        unmask.study("aul", out=tmp_path, model="builtin")
    with pytest.raises(DataError, match="engine is 'local': expected engine 'ray'"):
        unmask.study("aul", out=tmp_path, ray_address="somewhere")


def test_a_step_gives_torch_back_its_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, given = torch.get_num_threads(), []
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    unmask.study(toys.study(chain()), out=tmp_path, models="builtin", offline=True, threads=before + 1)
    assert given == [before + 1, before] * 3
