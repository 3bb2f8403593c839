"""Steps, their keys, and what running them leaves behind."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from studies import toys
from unmask.core.errors import ResultError
from unmask.studies import Runtime, StudyOptions, plan_study, run
from unmask.studies.cache import is_done, run_step, step_folder
from unmask.studies.graph import cache_keys, json_digest, topological_order
from unmask.studies.identity import MISSING, IdentityCache, data_identity, model_identity
from unmask.studies.run import StudyResult
from unmask.studies.spec import Step, StepEvent
from unmask.studies.status import study_status

NOBODY = IdentityCache()


def chain() -> list[Step]:
    """1, then 1 + 10, then 1 + 11 + 100."""
    first = toys.step("first", plus=1)
    second = toys.step("second", inputs=[first], plus=10)
    return [toys.step("third", inputs=[first, second], plus=100)]


def ran(steps: list[Step], folder: Path) -> tuple[StudyResult, list[StepEvent]]:
    events: list[StepEvent] = []
    plan = plan_study(toys.study(steps), StudyOptions(), Runtime(offline=True))
    return run(plan, folder, on_event=lambda event, *_: events.append(event)), events


def numbers(folder: Path) -> dict[str, int]:
    whole = json.loads((folder / "findings.json").read_text())
    rows = whole["sections"][0]["tables"][0]["rows"] if whole["sections"][0]["tables"] else []
    return {row["step"]: row["number"] for row in rows}


def test_inputs_come_first_and_each_once() -> None:
    assert [one.name for one in topological_order(chain())] == ["first", "second", "third"]


def test_two_steps_of_one_name_are_refused() -> None:
    with pytest.raises(ResultError, match="two different steps are named 'first'"):
        topological_order([toys.step("first", plus=1), toys.step("first", plus=2)])


def test_keys_follow_everything_an_output_depends_on(tmp_path: Path) -> None:
    (last,) = chain()
    made = cache_keys(topological_order([last]), NOBODY)
    again = cache_keys(topological_order(chain()), NOBODY)
    assert made == again
    other = replace(last, parameters={"plus": 101})
    assert cache_keys(topological_order([other]), NOBODY)["third"] != made["third"]
    assert cache_keys(topological_order([other]), NOBODY)["second"] == made["second"]
    newer = replace(last, kind=last.kind.replace(":ADD", ":NEWER"))
    assert cache_keys(topological_order([newer]), NOBODY)["third"] != made["third"]
    first = toys.step("first", plus=2)
    deep = toys.step("third", inputs=[first, toys.step("second", inputs=[first], plus=10)], plus=100)
    changed = cache_keys(topological_order([deep]), NOBODY)
    assert all(changed[name] != made[name] for name in made)


def test_the_name_of_a_step_is_no_part_of_its_key() -> None:
    one, two = toys.step("one", plus=1), toys.step("two", plus=1)
    made = cache_keys([one, two], NOBODY)
    assert made["one"] == made["two"]


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert json_digest({"a": 1, "b": [2]}) == json_digest({"b": [2], "a": 1})
    assert json_digest({"a": 1}) != json_digest({"a": 1.5})


def test_models_and_data_are_known_by_their_content(tmp_path: Path) -> None:
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
    key = cache_keys([step], IdentityCache())["one"]
    (model / "model.safetensors").write_bytes(b"third weights")
    assert cache_keys([step], IdentityCache())["one"] != key


def test_the_siblings_of_the_built_in_model_are_told_apart() -> None:
    assert model_identity("builtin") != model_identity("builtin-dose+1") != model_identity("builtin-dose+2")


def test_a_study_runs_and_adds_up(tmp_path: Path) -> None:
    result, events = ran(chain(), tmp_path)
    assert [(one.step, one.state) for one in events] == [
        ("first", "done"),
        ("second", "done"),
        ("third", "done"),
    ]
    assert not result.failed
    assert numbers(tmp_path) == {"first": 1, "second": 11, "third": 112}
    for name in ("report.html", "tables.md", "tables.tex", "study.json", "tables/numbers-1-numbers.csv"):
        assert (tmp_path / name).is_file(), name
    assert (tmp_path / "tables/numbers-1-numbers.csv").read_text().splitlines()[1:] == [
        "first,1",
        "second,11",
        "third,112",
    ]


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    steps = [toys.step("one", plus=1, trace=str(trace)), toys.step("two", plus=2, trace=str(trace))]
    ran(steps, tmp_path / "out")
    _, events = ran(steps, tmp_path / "out")
    assert [one.state for one in events] == ["kept", "kept"]
    ran([*steps, toys.step("three", plus=3, trace=str(trace))], tmp_path / "out")
    assert trace.read_text().split() == ["one", "two", "three"]
    assert numbers(tmp_path / "out") == {"one": 1, "two": 2, "three": 3}


def test_a_failed_step_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    bad = toys.step("bad", "FAIL")
    steps = [
        bad,
        toys.step("after", inputs=[bad], plus=1),
        toys.step("beside", plus=5),
        toys.step("odd", "BREAK"),
    ]
    result, events = ran(steps, tmp_path)
    assert {one.step: one.state for one in events} == {
        "bad": "failed",
        "after": "blocked",
        "beside": "done",
        "odd": "failed",
    }
    assert result.failed == {
        "bad": "nothing can be added to this",
        "after": "needs bad, which is not finished",
        "odd": "ZeroDivisionError: one by zero",
    }
    assert numbers(tmp_path) == {"beside": 5}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Not done: bad: nothing can be added to this" in page
    assert [(one.name, one.state) for one in study_status(tmp_path).steps] == [
        ("bad", "failed"),
        ("after", "waiting"),
        ("beside", "done"),
        ("odd", "failed"),
    ]


def test_a_failed_step_is_tried_again_and_goes_on_where_it_can(tmp_path: Path) -> None:
    steps = [toys.step("slow", "RESUME")]
    assert ran(steps, tmp_path)[0].failed == {"slow": "try 1"}
    assert ran(steps, tmp_path)[0].failed == {"slow": "try 2"}
    assert not ran(steps, tmp_path)[0].failed
    assert numbers(tmp_path) == {"slow": 3}


def test_an_output_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    step = toys.step("bad", "FAIL")
    key = cache_keys([step], NOBODY)["bad"]
    (tmp_path / "steps").mkdir()
    with pytest.raises(Exception, match="nothing can be added"):
        run_step(step, key, {}, tmp_path, Runtime())
    assert not step_folder(tmp_path, key).exists()
    assert not is_done(tmp_path, key)


@pytest.mark.thorough
def test_a_killed_study_is_taken_up_again(tmp_path: Path) -> None:
    """SIGKILL in the middle: what was done is kept, the tables are those of an undisturbed run."""
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from studies import toys
from unmask.studies import Runtime, StudyOptions, plan_study, run
a = toys.step("a", plus=1, trace=sys.argv[3])
b = toys.step("b", inputs=[a], plus=2, trace=sys.argv[3], seconds=float(sys.argv[4]))
c = toys.step("c", inputs=[a, b], plus=3, trace=sys.argv[3])
run(plan_study(toys.study([c]), StudyOptions(), Runtime(offline=True)), Path(sys.argv[2]))
"""
    out, trace = tmp_path / "out", tmp_path / "trace"
    words = [sys.executable, "-c", code, str(Path(__file__).parents[1]), str(out), str(trace), "1.5"]
    killed = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not list(out.glob("steps/*.partial")) or not trace.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    while not [one for one in study_status(out).steps if one.name == "b" and one.state == "under way"]:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert study_status(out).running
    killed.kill()
    assert killed.wait() < 0
    found = {one.name: one.state for one in study_status(out).steps}
    assert found == {"a": "done", "b": "interrupted", "c": "waiting"}
    assert not study_status(out).running
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    assert numbers(out) == {"a": 1, "b": 3, "c": 7}
    assert trace.read_text().split() == ["a", "b", "c"]


def test_two_runs_of_one_folder_are_refused(tmp_path: Path) -> None:
    from filelock import FileLock

    ran(chain(), tmp_path)
    with FileLock(tmp_path / "study.lock"), pytest.raises(ResultError, match="in use by another run"):
        ran(chain(), tmp_path)


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ResultError, match="holds other files"):
        ran(chain(), tmp_path)


def test_status_refuses_what_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"no study\.json"):
        study_status(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(ResultError, match="is not JSON"):
        study_status(tmp_path)
    (tmp_path / "study.json").write_text('{"schema": 99}')
    with pytest.raises(ResultError, match="schema 99"):
        study_status(tmp_path)
