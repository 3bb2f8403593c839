"""Components of studies: findings, shards, duration estimates, corpora, published numbers."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import zoo
from studies import toys
from unmask import data as datasets
from unmask.audit.result import load
from unmask.audit.run import audit
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.files import to_json
from unmask.core.options import Options
from unmask.data.texts import load_corpus
from unmask.diagnose.spec import published_numbers
from unmask.findings import Finding, Plot, Section, Table, Value, charts
from unmask.findings import csv as writer
from unmask.findings.envelope import Result, build
from unmask.findings.storage import with_unique_plots
from unmask.studies import STUDIES, Runtime, find
from unmask.studies import forecast as durations
from unmask.studies.forecast import (
    CPU,
    LOAD_SECONDS,
    expected_duration,
    format_duration,
    forward_tokens,
    is_role_of,
    paper_model_sizes,
    parts_table,
    weights_per_token,
)
from unmask.studies.output import write_tables
from unmask.studies.paper import VALUE, comparison_table, load_paper, merge_findings, published_table
from unmask.studies.results.aul import _published
from unmask.studies.run import StudyPlan, plan_study
from unmask.studies.spec import PACKAGE, PaperComparison, Role, Step, StepContext
from unmask.studies.steps import audits, mitigations
from unmask.studies.texts import select_corpus

DOCS = Path(__file__).parents[2] / "docs"
MAY_BE_ABSENT = {"zero-shot", "scores", "ppd/cds/*"}  # roles that a study has with other settings, data or seeds


def finding(model: str) -> Finding:
    rows = ((model, 3, Value(1.5, float("nan"), float("nan"), "none"), None, 0.25),)
    chart = charts.intervals([{"label": model, "value": 1.0, "low": 0.5, "high": 2.0}], axis="x")
    return Finding(
        (f"{model} is asked",),
        (Table("A table", ("model", "n", "ours", "published", "p"), rows, "a note", 3),),
        (Plot("a-plot", "A plot", "What it shows.", chart),),
        ("a note",),
    )


def test_findings_of_several_steps_are_merged() -> None:
    both = merge_findings([finding("a"), finding("b")])
    assert both.answers == ("a is asked", "b is asked")
    assert [row[0] for row in both.tables[0].rows] == ["a", "b"]
    (section,) = with_unique_plots([Section("both", "", "", both)])
    assert [plot.id for plot in section.finding.plots] == ["a-plot", "a-plot-2"]
    assert both.notes == ("a note",)


def test_numbers_are_compared_with_published_ones() -> None:
    def made(value: float, low: float, high: float, published: float | None) -> PaperComparison:
        return PaperComparison("table-1", Estimate(value, low, high, measure="aul", n=7), published)

    comparisons = [
        made(2.0, 1.0, 3.0, 2.5),
        made(2.0, 1.0, 2.4, 2.5),
        made(2.0, float("nan"), float("nan"), 2.5),
        made(4.0, 3.0, 5.0, None),
    ]
    table = comparison_table("t", {"measure": "measure", "ours": VALUE, "n": "n"}, comparisons)
    assert table.columns == ("measure", "ours", "n", "published", "difference", "in interval")
    assert [row[3:] for row in table.rows] == [
        (2.5, -0.5, "yes"),
        (2.5, -0.5, "no"),
        (2.5, -0.5, None),
        (None, None, None),
    ]


@pytest.mark.parametrize(
    ("model", "data", "limit", "published", "reason"),
    [
        ("some/roberta-large@main", "crows-pairs", None, 65.45, ""),
        ("roberta-large", "crows-pairs", 1508, 65.45, ""),
        ("roberta-large", "crows-pairs", 1507, None, "a sample of 1,507 items only"),
        ("roberta-large", "nine-axes", None, None, "other data than crows-pairs"),
        ("builtin", "crows-pairs", None, None, "another model"),
    ],
)
def test_published_numbers_stand_beside_the_same_model_and_data_only(
    model: str, data: str, limit: int | None, published: float | None, reason: str
) -> None:
    ours = Estimate(65.0, 60.0, 70.0, measure="cps", data=data, n=9)
    each = load_paper("prompts").compare("table-3", replace(ours, model=model), limit=limit, measure="metric score")
    assert (each.published, each.reason) == (published, reason)
    table = comparison_table("t", {"model": "model"}, [each])
    assert table.columns[-1] == ("why not compared" if reason else "in interval")


def test_daggers_of_a_paper_stand_beside_its_numbers() -> None:
    """Of Table 2 of `debiasing` three cells are marked as significant, of Tables 1 and 4 of `aul` six each."""
    cells = [cell for cell in load_paper("debiasing").values if cell.item.startswith("table-2")]
    marked = {(cell.item, cell.measure, cell.group) for cell in cells if cell.mark == "p < 0.05"}
    assert marked == {
        ("table-2-before", "SSS", "STS-bias"),
        ("table-2-after", "SSS", "STS-bias"),
        ("table-2-before", "AULA", "NLI-bias"),
    }
    table = published_table("t", {"task": "group"}, cells)
    assert table.columns == ("task", "published", "marked in the paper")
    assert [row[-1] for row in table.rows].count("p < 0.05") == 3
    numbers = [number for number in published_numbers() if number.mark]
    assert Counter((number.diagnosis, number.measure, number.group, number.mark) for number in numbers) == {
        ("accuracy", "aul", "all", "p < 0.01"): 6,
        ("meaning", "aul", "shuffled", "p < 0.01"): 6,
    }
    compared = [PaperComparison("x", Estimate(1.0, 0.5, 1.5), 1.2, "", "p < 0.01")]
    row = comparison_table("t", {"ours": VALUE}, compared)
    assert dict(zip(row.columns, row.rows[0], strict=True))["marked in the paper"] == "p < 0.01"


def test_interval_becomes_three_csv_columns() -> None:
    table = Table("t", ("a", "b"), ((Value(2.0, 1.0, 3.0), "x"), (None, "y")))
    assert writer.table(table).splitlines() == ["a,a low,a high,b", "2.0,1.0,3.0,x", ",,,y"]


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_numbers_and_a_page(name: str) -> None:
    assert load_paper(name).values
    page = (DOCS / "studies" / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# `{name}`: ")
    assert f"unmask study {name}" in page
    assert STUDIES[name].citation in page
    bibliography = (DOCS / "references.bib").read_text(encoding="utf-8")
    assert f"{{{STUDIES[name].citation}," in bibliography
    for target in re.findall(r"\]\(([^)#]+)\)", page):
        assert (DOCS / "studies" / target).exists(), target


def published(study: str, item: str, **where: str) -> list[float | str]:
    """The published numbers of an item that are those of a model, measure or group."""
    values = load_paper(study).of_item(item)
    return [each.value for each in values if all(getattr(each, name) == value for name, value in where.items())]


def test_published_values() -> None:
    assert published("gbef", "table-3", model="bert-large-uncased", group="combined") == [4.58]
    assert published("debiasing", "table-2-before", measure="SSS", group="STS-bias") == [0.53]
    assert published("prompts", "table-3", model="roberta-large", measure="stereo score") == [66.80]
    assert published("aul", "table-2", measure="rank-1-advantaged", group="race-color") == ["american"]
    assert published("prompts", "table-9") == []


@pytest.mark.thorough
def test_merged_shards_equal_one_audit(tmp_path: Path) -> None:
    """Estimates are computed over all rows; scores equal those of an unsharded audit."""
    pairs = tmp_path / "mine.csv"
    with pairs.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("more", "less", "category"))
        for row in range(7):
            writer.writerow((f"He saw {row} dogs.", f"She saw {row} dogs.", "gender" if row % 2 else "other"))
    model = str(zoo.folder("bert-uncased"))
    step = audits.step("tiny", str(pairs), ("aul",), model=model, limit=None, seed=0, shard=3)
    folder = tmp_path / "step"
    folder.mkdir()
    audits.run_audit(StepContext(step, folder, {}, Runtime(offline=True)))
    parts, whole = load(folder), audit(model, data=pairs, measures=["aul"], options=Options(store=False))
    assert parts.items.column("item").to_pylist() == whole.items.column("item").to_pylist()
    for name in ("more", "less"):
        assert parts.items.column(name).to_pylist() == pytest.approx(whole.items.column(name).to_pylist(), abs=1e-5)
    assert [(e.group, e.statistic, e.n) for e in parts.estimates] == [
        (e.group, e.statistic, e.n) for e in whole.estimates
    ]
    assert parts.estimates[0].value == whole.estimates[0].value
    assert parts.meta["data"][0]["n"] == 7
    assert not (folder / "shards").exists()
    (folder / "shards" / "00000").mkdir(parents=True)  # killed while it removed them: the step is resumed
    (folder / "shards" / "00000" / "result.json").touch()
    audits.run_audit(StepContext(step, folder, {}, Runtime(offline=True)))
    assert not (folder / "shards").exists()
    assert load(folder).meta == parts.meta


def test_expected_duration_depends_on_data_and_model() -> None:
    assert forward_tokens("crows-pairs", None, ("aul",)) == 2 * 1508 * 17
    assert forward_tokens("crows-pairs", 10, ("cps",)) == 2 * 10 * 17 * 15
    assert weights_per_token("google/bert-base-uncased") == paper_model_sizes()["bert-base-uncased"]
    step = audits.step("b", "crows-pairs", ("cps",), model="bert-base-uncased", limit=None, seed=0)
    asking = 2 * weights_per_token("bert-base-uncased") * 2 * 1508 * 17 * 15 / CPU.ops_per_second
    assert expected_duration(step, Runtime())[CPU] == pytest.approx(
        asking + LOAD_SECONDS * paper_model_sizes()["bert-base-uncased"] / 85e6
    )
    assert 0.5 < asking / 1508 / 0.42 < 2  # docs/speed.md: 0.42 s a pair
    assert [format_duration(seconds) for seconds in (5, 120, 7200)] == ["5 s", "2 min", "2.0 h"]


@pytest.mark.parametrize("folder", ["given", "environment"])
def test_forecast_reads_the_text_in_the_data_folder(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a corpus of 600,000 lines is forecast as one of 2,000."""
    (tmp_path / "news.txt").write_text("A line of text.\n" * 40_000)
    runtime = Runtime(tmp_path if folder == "given" else None, offline=True)
    if folder == "environment":
        monkeypatch.setenv("UNMASK_DATA_DIR", str(tmp_path))
    step = mitigations.step("m", "dropout", "news.txt", model="builtin", corpus={}, train={}, seed=0)
    absent = replace(step, data=("absent.txt",))
    assert expected_duration(step, runtime)[CPU] > 15 * expected_duration(absent, runtime)[CPU]


def test_weights_of_a_folder_are_counted() -> None:
    import torch
    import transformers

    folder = zoo.folder("bert-uncased")
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder)
    assert weights_per_token(str(folder)) == sum(p.numel() for p in model.parameters() if isinstance(p, torch.Tensor))


def test_select_corpus_selects_texts(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("text,toxic\nOne is here. He left.,1\nTwo is here.,0\nThree is here.,1\nFour is.,1\n")
    loaded = select_corpus(str(file), {"column": "text", "only": ["toxic", "1"]}, None)
    assert [*loaded.held_out, *loaded.documents] == [("One is here.", "He left."), ("Three is here.",), ("Four is.",)]
    lines = tmp_path / "tabs.txt"
    lines.write_text("a\t1\tThe nurse left.\nb\t2\tThe cook stayed.\n")
    assert select_corpus(str(lines), {"field": 2}, None).documents == (("The nurse left.",), ("The cook stayed.",))
    samples = [select_corpus(PACKAGE, {"limit": 5, "draw": [seed]}, None) for seed in (0, 0, 1)]
    assert samples[0] == samples[1] != samples[2]
    with pytest.raises(DataError, match=r"gap/x\.tsv is not on this machine"):
        select_corpus("gap/x.tsv", {}, tmp_path)


def test_studies_hold_out_the_documents_that_commands_hold_out(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text("\n".join(f"Document number {number}." for number in range(200)))
    selected = select_corpus(str(file), {"limit": 50}, None)
    assert selected == load_corpus([file], limit=50)
    assert selected.held_out


def test_missing_models_and_data_are_replaced_with_a_note(tmp_path: Path) -> None:
    study = replace(
        toys.study([toys.step("one", plus=1)]),
        models=("some/where",),
        data=("crows-pairs", "stereoset"),
        fallback_data={"crows-pairs": "nine-axes"},
    )
    plan = plan_study(study, {}, Runtime(tmp_path, offline=True))
    assert plan.options.data == ("nine-axes",)
    assert "builtin" in plan.options.models
    assert "builtin-causal" not in plan.options.models
    assert [re.findall(r"some/where|nine-axes|skipped", note) for note in plan.notes] == [
        ["some/where"],
        ["nine-axes"],
        ["skipped"],
    ]
    online = plan_study(study, {}, Runtime(tmp_path))
    assert online.options.models == ("some/where",)
    named = plan_study(study, {"models": ("builtin",), "data": ("paraphrases",)}, Runtime(offline=True))
    assert (named.options.models, named.options.data, named.notes) == (("builtin",), ("paraphrases",), ())


def test_every_published_file_belongs_to_a_study() -> None:
    names = {path.stem for path in Path(str(files("unmask.studies") / "papers")).glob("*.toml")}
    assert names == set(STUDIES)
    assert set(datasets.names()) & {"crows-pairs", "stereoset"}


def part_rows(
    parts: Mapping[str, tuple[str, ...]], roles: Mapping[Role, Step], steps: Sequence[Step], unfinished: Sequence[Step]
) -> list[tuple[Any, ...]]:
    study = replace(toys.study(steps), parts=parts)
    return list(parts_table(study, roles, steps, unfinished=unfinished, runtime=Runtime(offline=True)).rows)


def test_a_dry_run_names_the_steps_of_every_table_and_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the steps still to do are in the time of a part; a part of many steps has their number."""
    steps = [toys.step(name) for name in "abcdefghijklmnopqrstuvw"]
    roles = {(step.name, "model"): step for step in steps}
    seconds = {durations.CPU: 100.0, durations.GPU: 1.0}
    monkeypatch.setattr(durations, "expected_duration", lambda step, runtime: seconds)
    parts = {"Table 1": tuple("abce"), "Figure 9": ("gone",), "Table 2": tuple("acegikmoqsuw"), "Table 3": ("b",)}
    assert part_rows(parts, roles, steps, steps[2:]) == [
        ("Table 1", "1–3, 5", 4, "3 min", "2 s"),
        ("Figure 9", "none: its data are missing", 0, None, None),
        ("Table 2", "1, 3, 5, 7, 9, 11, 13, 15, …, 23", 12, "18 min", "11 s"),
        ("Table 3", "2", 1, "done", "done"),
    ]


def test_a_part_needs_the_steps_before_its_own_and_no_other_version() -> None:
    train, other = toys.step("train"), toys.step("other")
    audit, second = (replace(toys.step(f"audit {step.name}"), inputs={"model": step}) for step in (train, other))
    steps = [train, audit, other, second]
    roles = {("ppd", "cds"): audit, ("ppd", "cds, reminded"): second}
    parts = {"Figure 8": ("ppd/cds",), "Table 5": ("ppd/cds*",), "Figure 9": ("ppd/cds",), "Figure 10": ("ppd/cds",)}
    rows = [row[:3] for row in part_rows(parts, roles, steps, steps)]
    assert rows == [("Figures 8–10", "1–2", 2), ("Table 5", "1–4", 4)]


def test_training_on_a_gpu_takes_the_host_some_time_for_every_step() -> None:
    """A batch of one has 32 times the steps of a batch of 32, which a fast device does not make shorter."""

    def seconds(batch: int) -> dict[str, float]:
        settings = {"train": {"epochs": 3.0, "lr": 2e-5, "batch": batch}, "documents": 3200}
        chosen = dict(models=("builtin",), **settings)
        plan = plan_study(find("gbef"), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))
        (step,) = [step for step in plan.steps if step.name == "cds: train builtin"]
        return {device.name: value for device, value in durations.expected_duration(step, plan.runtime).items()}

    one, many = seconds(1), seconds(32)
    assert one[durations.GPU.name] > 9600 * durations.GPU_STEP > 3 * many[durations.GPU.name]
    assert many[durations.GPU.name] > 15.0, "loading, and saving a checkpoint"
    assert one[durations.CPU.name] > many[durations.CPU.name]


def test_only_the_steps_of_a_chosen_part_run() -> None:
    """Table 3 needs no training; its steps have the keys that they have in the whole study."""

    def planned(*parts: str) -> StudyPlan:
        chosen = {"models": ("builtin",), "reduced": True, "part": parts}
        return plan_study(find("gbef"), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))

    whole, three, both = planned(), planned("Table 3"), planned("figure-13", "table 3")
    of_whole, of_three, of_both = ({step.name for step in plan.steps} for plan in (whole, three, both))
    assert of_three == {"audit builtin on triple-gender: sld"}
    assert three.keys == whole.keys
    assert of_three < of_both < of_whole
    shown = parts_table(both.study, both.roles, both.steps, unfinished=(), runtime=both.runtime)
    assert shown.rows[0] == ("Table 3", "1", 1, "done", "done")
    assert "Only Table 3, Figure 13: the others have what was run in this folder before." in both.notes
    with pytest.raises(DataError, match=r"gbef has no part 'Table 9': give some of worked numbers, Table 3, "):
        planned("Table 9")


def test_a_part_without_its_data_is_refused() -> None:
    chosen = {"models": ("builtin",), "data": ("paraphrases",), "part": ("real models' item scores",)}
    with pytest.raises(DataError, match="real models' item scores of paraphrase cannot be made: its data are not"):
        plan_study(find("paraphrase"), chosen, Runtime(offline=True, threads=1))


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_can_be_planned_offline(name: str) -> None:
    """Every step is one of a table or figure, so that a dry run shows what it is for."""
    study = find(name)
    plan = plan_study(study, {}, Runtime(zoo.MINIATURE, offline=True))
    assert plan.steps
    patterns = [pattern for roles in study.parts.values() for pattern in roles]
    assert not [role for role in plan.roles if not any(is_role_of(role, pattern) for pattern in patterns)]
    unused = [pattern for pattern in patterns if not any(is_role_of(role, pattern) for role in plan.roles)]
    assert set(unused) <= MAY_BE_ABSENT, "a misspelt role names no step"
    assert any("are used instead" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("measure", "statistic", "group"),
    [
        ("accuracy/aul", "accuracy", "counted=all tokens"),
        ("direction/aul", "direction-gap", "all"),
        ("direction/aul", "bias-score", "group=advantaged"),
        ("meaning/tokens-shuffled", "drop", "counted=all tokens"),
    ],
)
def test_estimates_of_diagnoses_find_their_published_number(measure: str, statistic: str, group: str) -> None:
    """Without it Tables 1, 3 and 4 of the paper's own models would have no published numbers."""
    name, data = "google/bert-base-cased@main", "crows-pairs"
    estimate = Estimate(1.0, measure=measure, data=data, group=group, statistic=statistic, model=name)
    assert _published(estimate, None)[0] is not None
    assert _published(replace(estimate, model="builtin"), None)[:2] == (None, "another model")


def test_tables_of_an_earlier_or_killed_run_do_not_stay(tmp_path: Path) -> None:
    finding = Finding((), (Table("Words", ("word",), (("she",),)),), (), ())
    meta = json.loads(to_json(build("study", findings=[Section("one", "One", "", finding)])))
    result = Result(meta, tmp_path)
    (tmp_path / "tables").mkdir()
    for name in ("one-2-old.csv", "one-1-words.csv.123-4.partial", "my-notes.txt"):
        (tmp_path / "tables" / name).touch()
    write_tables(result, tmp_path)
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"one-1-words.csv", "my-notes.txt"}
