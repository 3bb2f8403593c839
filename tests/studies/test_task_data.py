"""Cache keys of the steps that run a task: with other data in the folder, old numbers must not stay."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import zoo
from unmask.studies import Runtime, find
from unmask.studies.papers import debiasing
from unmask.studies.run import StudyPlan, plan_study
from unmask.studies.spec import StepContext
from unmask.studies.steps import finetuning
from unmask.tasks import find as find_task

FOLDERS = ("stsb", "cad_nli", "mnli_dev_matched", "biasbios_sample", "winobias", "winogender", "wiki_toxicity")
TRAINED = ("count words of {}", "fine-tune builtin{} on {}", "search hyper-parameters of builtin{} on {}")
BIAS = TRAINED[1:]  # steps that measure the bias, and do not only count the training data
ZERO_SHOT = ("measure builtin{} on {}",)


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with small data of all tasks."""
    monkeypatch.delenv("UNMASK_DATA_DIR", raising=False)
    monkeypatch.setenv("UNMASK_CACHE_DIR", str(tmp_path / "cache"))
    for name in FOLDERS:
        shutil.copytree(zoo.MINIATURE / name, tmp_path / "data" / name)
    (tmp_path / "data" / "comments.csv").write_text("text,label\nGood day.,0\nGo away.,1\n")
    return tmp_path / "data"


def planned(data_dir: Path, **each: Mapping[str, Any]) -> StudyPlan:
    tasks = ["BiasBios", "STS-bias", "NLI-bias", "toxicity", "WinoBias", "Winogender"]
    own = {"toxicity": {"train": "comments.csv"}, **{name.replace("_", "-"): given for name, given in each.items()}}
    options = dict(models=("builtin",), **{"methods": ["DO"], "tasks": tasks, "each": own})
    return plan_study(find("debiasing"), options, Runtime(data_dir, offline=True, threads=1))


def changed(before: StudyPlan, after: StudyPlan) -> set[str]:
    return {name for name in before.keys if before.keys[name] != after.keys[name]}


def of_task(plan: StudyPlan, task: str, kinds: tuple[str, ...]) -> set[str]:
    """The steps of these kinds, and the audits of the networks that they fine-tune."""
    names = {kind.format(*[version, task][-kind.count("{") :]) for kind in kinds for version in ("", " DO")}
    names |= {step.name for step in plan.steps if f"after {task} " in step.name and kinds != ZERO_SHOT}
    assert names <= set(plan.keys)
    return names


@pytest.mark.parametrize(
    ("file", "task", "kinds"),
    [
        ("biasbios_sample/nurse.csv", "BiasBios", TRAINED),
        ("stsb/sts-train.csv", "STS-bias", TRAINED),
        ("stsb/sts-dev.csv", "STS-bias", TRAINED),
        ("cad_nli/all_combined/train.tsv", "NLI-bias", TRAINED),
        ("mnli_dev_matched/dev_matched.tsv", "NLI-bias", TRAINED),
        ("comments.csv", "toxicity", TRAINED),
        ("wiki_toxicity/bias_madlibs_77k.csv", "toxicity", BIAS),
        ("winobias/data/pro_stereotyped_type1.txt.test", "WinoBias", ZERO_SHOT),
        ("winogender/templates.tsv", "Winogender", ZERO_SHOT),
    ],
)
def test_another_file_makes_new_steps_of_its_task_alone(
    file: str, task: str, kinds: tuple[str, ...], data_dir: Path
) -> None:
    """After a sample is replaced by the whole dataset, the table would keep the numbers of the sample."""
    before = planned(data_dir)
    assert before.keys == planned(data_dir).keys
    with (data_dir / file).open("a") as opened:
        opened.write("\n")
    assert changed(before, planned(data_dir)) == of_task(before, task, kinds)


def test_the_shares_of_women_are_data_of_the_tasks_that_read_them(data_dir: Path) -> None:
    """The correlation of STS-bias would stay with the shares of another file."""
    before = planned(data_dir)
    with (data_dir / "winogender/occupations-stats.tsv").open("a") as opened:
        opened.write("\n")
    expected = of_task(before, "STS-bias", BIAS) | of_task(before, "Winogender", ZERO_SHOT)
    assert changed(before, planned(data_dir)) == expected


def test_more_biographies_make_new_steps(data_dir: Path) -> None:
    """A file beside the others, or data where there were none, would change nothing."""
    before = planned(data_dir)
    shutil.copy(data_dir / "biasbios_sample/nurse.csv", data_dir / "biasbios_sample/nurse-2.csv")
    more = planned(data_dir)
    assert changed(before, more) == of_task(before, "BiasBios", TRAINED)
    shutil.rmtree(data_dir / "biasbios_sample")
    assert changed(more, planned(data_dir)) == of_task(before, "BiasBios", TRAINED)


def test_files_of_the_user_are_found_in_the_data_folder(data_dir: Path) -> None:
    """The check before the first step finds them there; the step would then say that there is no such file."""
    (data_dir / "mine.jsonl").write_text(json.dumps({"premise": "a", "hypothesis": "b", "label": "neutral"}))
    before = planned(data_dir, NLI_bias={"train": "mine.jsonl"})
    (step,) = (step for step in before.steps if step.name == "fine-tune builtin on NLI-bias")
    assert finetuning._settings(StepContext(step, data_dir, {}, before.runtime)).train == data_dir / "mine.jsonl"
    shutil.rmtree(data_dir / "cad_nli")
    assert not changed(before, planned(data_dir, NLI_bias={"train": "mine.jsonl"})), "these are not read"


@pytest.mark.parametrize("name", [name for name, task in debiasing.TASKS.items() if find_task(task).load_data])
def test_a_task_names_all_the_files_that_its_data_come_from(name: str, data_dir: Path) -> None:
    """A file that the key leaves out can change and the numbers stay."""
    task = find_task(debiasing.TASKS[name])
    own = {"sentiment": {"train": data_dir / "reviews.csv"}, "toxicity": {"train": data_dir / "comments.csv"}}
    (data_dir / "reviews.csv").write_text("text,label\nFine.,positive\nBad.,negative\n")
    settings = task.options(data_dir=data_dir, **own.get(name, {}))
    assert task.load_data is not None
    assert task.training(settings) == task.load_data(settings).sources != ()
