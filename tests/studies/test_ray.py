"""The Ray backend on a local Ray: the same outputs as the local backend, also after lost workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import zoo
from studies import toys
from unmask.core.errors import ResultError
from unmask.studies import Runtime, StudyOptions
from unmask.studies.backends import run_locally
from unmask.studies.backends.ray import RayBackend
from unmask.studies.run import plan_study, run_plan
from unmask.studies.spec import Outputs, PaperConclusion, Step, Study

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("cluster"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own: sockets and files it leaves to its processes
]


def run_study(study: Study, folder: Path, backend: object, **options: object) -> dict[str, str]:
    """Run a study; return the state of every step."""
    states: dict[str, str] = {}

    def report(label: str, share: float, total: int, note: str = "") -> None:
        name = max((step.name for step in plan.steps if note.startswith(f"{step.name}: ")), key=len)
        states[name] = note.removeprefix(f"{name}: ").split()[0].rstrip(":")

    plan = plan_study(study, options, Runtime(zoo.MINIATURE, offline=True, threads=1))  # type: ignore[arg-type]
    run_plan(plan, folder, backend=backend, progress=report)  # type: ignore[arg-type]
    return states


def sections(folder: Path) -> object:
    return json.loads((folder / "result.json").read_text())["findings"]


def steps(tmp_path: Path) -> list[Step]:
    first = toys.step("first", plus=1)
    dies = toys.step("dies", "DIE", plus=5, mark=str(tmp_path / "mark"))
    bad = toys.step("bad", "FAIL")
    return [
        toys.step("sum", inputs=[first, dies], plus=100),
        toys.step("squares", "SQUARES", values=[3, 1, 2]),
        toys.step("after", inputs=[bad], plus=1),
    ]


def test_ray_survives_a_killed_worker_and_a_failed_step(tmp_path: Path) -> None:
    states = run_study(toys.study(steps(tmp_path)), tmp_path / "ray", RayBackend())
    assert (tmp_path / "mark").exists()  # its first worker did kill itself
    assert states == {
        "first": "done",
        "dies": "done",
        "sum": "done",
        "squares": "done",
        "bad": "FAILED",
        "after": "skipped",
    }
    assert run_study(toys.study(steps(tmp_path)), tmp_path / "local", run_locally) == states
    assert sections(tmp_path / "ray") == sections(tmp_path / "local")
    *_, section = sections(tmp_path / "ray")  # type: ignore[misc]
    rows = {row["step"]: row["number"] for row in section["tables"][0]["rows"]}
    assert rows == {"first": 1, "dies": 5, "sum": 106, "squares": 1 * 9 + 2 * 1 + 3 * 4}
    assert run_study(toys.study(steps(tmp_path)), tmp_path / "ray", RayBackend())["sum"] == "cached"


def test_steps_with_the_same_key_run_once(tmp_path: Path) -> None:
    trace = str(tmp_path / "trace")
    twins = [toys.step(name, plus=4, trace=trace, seconds=0.2) for name in ("one", "other")]
    states = run_study(toys.study(twins), tmp_path / "ray", RayBackend())
    assert states == {"one": "done", "other": "done"}
    assert (tmp_path / "trace").read_text() == "one\n"


def test_too_many_threads_are_refused(tmp_path: Path) -> None:
    plan = plan_study(toys.study([toys.step("one", plus=1)]), {}, Runtime(offline=True, threads=64))
    with pytest.raises(ResultError, match="the largest machine of the Ray cluster has 2 CPUs"):
        run_plan(plan, tmp_path / "ray", backend=RayBackend())


def test_sharded_audit_on_ray_equals_the_local_one(tmp_path: Path) -> None:
    from unmask.studies.steps import audits

    model = str(zoo.folder("bert-uncased"))
    step = audits.step("tiny", "crows-pairs", ("cps", "aula"), model=model, limit=14, seed=0, shard=5)
    study = toys.study([step])
    quiet = Study(**{field: getattr(study, field) for field in Study.__dataclass_fields__} | {"conclude": _rows})
    assert run_study(quiet, tmp_path / "ray", RayBackend()) == {step.name: "done"}
    assert run_study(quiet, tmp_path / "local", run_locally) == {step.name: "done"}
    tables = [next((tmp_path / name).glob("steps/*/items.parquet")).read_bytes() for name in ("ray", "local")]
    assert tables[0] == tables[1]
    assert sections(tmp_path / "ray") == sections(tmp_path / "local")


def _rows(outputs: Outputs, options: StudyOptions) -> PaperConclusion:
    from unmask.audit.result import load
    from unmask.findings import Finding, Section, Table

    (folder,) = outputs.values()
    rows = tuple((e.measure, e.group, e.statistic, e) for e in load(folder).estimates)
    table = Table("Estimates", ("measure", "group", "statistic", "value"), rows)
    return PaperConclusion([Section("estimates", "Estimates", "All.", Finding((), (table,)))])


def test_ray_counts_equal_local_counts(tmp_path: Path) -> None:
    from unmask.corpus.counting import TermCounter, count_files
    from unmask.corpus.ranges import file_parts
    from unmask.corpus.terms import builtin_terms
    from unmask.studies.backends.ray import count_on_ray

    text = "".join(f"She saw him and {number} men.\nHe saw her, the woman.\n" for number in range(300))
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.jsonl").write_text('{"text": "His mother and her son."}\n' * 5)
    paths = [tmp_path / "a.txt", tmp_path / "b.jsonl"]
    assert len(list(file_parts(paths))) >= 2
    counter = TermCounter(builtin_terms(professions=False))
    ours, theirs = count_on_ray(paths, counter), count_files(paths, counter, processes=1)
    assert ours.terms.tolist() == theirs.terms.tolist()
    assert ours.groups.tolist() == theirs.groups.tolist()
    assert (ours.documents, ours.words) == (theirs.documents, theirs.words) == (605, 300 * 11 + 25)
    sides = {name: ours.set_total(side) for side, name in enumerate(counter.terms.names)}
    assert sides == {"feminine": 300 * 3 + 10, "masculine": 300 * 3 + 10}
