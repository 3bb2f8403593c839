"""The study `debiasing`: what its steps train on, its trainings, and its tables from made-up scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from scipy.stats import kendalltau, ttest_1samp

import zoo
from unmask import data as datasets
from unmask.audit.result import load
from unmask.core.errors import DataError, UnknownName, UnmaskError
from unmask.core.options import Opening
from unmask.data.examples import Example
from unmask.findings import Value
from unmask.findings.envelope import build
from unmask.findings.folder import create
from unmask.models.classifier import new_classifier
from unmask.studies import Runtime, find
from unmask.studies.papers import debiasing
from unmask.studies.papers.debiasing import (
    AFTER,
    BEFORE,
    ORIGINAL,
    PUBLISHED_WORDS,
    TUNED,
    USE,
    WORD_LISTS,
    ZERO_SHOT,
    DebiasingOptions,
)
from unmask.studies.results import debiasing as tables
from unmask.studies.results.debiasing import PAPER, claims, compare_tau, label_table, word_ratios
from unmask.studies.results.debiasing_versions import (
    SIZES,
    ModelVersion,
    TaskRun,
    Training,
    method_sets,
    rank_cells,
    resampled_taus,
    tau_changes,
)
from unmask.studies.run import StudyPlan, plan_study, study_options
from unmask.studies.spec import Step, StepContext
from unmask.studies.steps import finetuning
from unmask.studies.steps.finetuning import COUNTS, TaskOutcome
from unmask.studies.steps.mitigations import run_mitigation
from unmask.studies.steps.words import write_word_pairs
from unmask.studies.texts import select_corpus
from unmask.studies.trainings import deviation, over_trainings
from unmask.tasks import find as find_task
from unmask.tasks.label_bias import label_bias
from unmask.training.spec import TrainSettings

STUDY = find("debiasing")


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNMASK_DATA_DIR", raising=False)


def question(claim: str) -> str:
    return PAPER.text.claims[claim].question


def planned(data_dir: Path, *, models: Sequence[str] = ("builtin",), **options: Any) -> StudyPlan:
    chosen = dict(models=tuple(models), **options)
    return plan_study(STUDY, chosen, Runtime(data_dir, offline=True, threads=1))


def steps(plan: StudyPlan, start: str) -> list[Step]:
    return [step for step in plan.steps if step.name.startswith(start)]


def test_a_search_trains_on_the_users_files(tmp_path: Path) -> None:
    """Figure 1 and Table 2 show the searches: with other data they would not be about the user's."""
    for name in ("mnli.jsonl", "dev.jsonl", "triples.csv"):
        (tmp_path / name).write_text(json.dumps({"premise": "a", "hypothesis": "b", "label": "neutral"}))
    files = {"train": str(tmp_path / "mnli.jsonl"), "dev": str(tmp_path / "dev.jsonl")}
    files["data"] = str(tmp_path / "triples.csv")
    plan = planned(tmp_path, **{"each": {"NLI-bias": files}})
    found = steps(plan, "search hyper-parameters of builtin on NLI-bias")
    assert found[0].parameters["settings"] == {"train": "mnli.jsonl", "dev": "dev.jsonl", "data": "triples.csv"}
    assert not steps(plan, "search hyper-parameters of builtin on STS-bias")[0].parameters["settings"]
    for step in (*found, *steps(plan, "fine-tune builtin on NLI-bias")):
        assert step.data == ("mnli.jsonl", "dev.jsonl", "triples.csv"), "another content is another training"
        settings = finetuning._settings(StepContext(step, tmp_path, {}, plan.runtime))
        given = (settings.train, settings.dev, settings.data)
        assert given == (tmp_path / "mnli.jsonl", tmp_path / "dev.jsonl", tmp_path / "triples.csv")
    assert steps(plan, "count words of NLI-bias")[0].data == ("mnli.jsonl",)


@pytest.mark.parametrize("data", [(), ("triple-gender",), ("paraphrases",)])
def test_mitigations_never_train_on_evaluated_sentences(data: tuple[str, ...], tmp_path: Path) -> None:
    plan = planned(tmp_path, reduced=True, data=data)
    audited = {name for step in steps(plan, "audit") for name in step.data}
    items = [item for name in audited for item in datasets.load(name).items]
    originals = {item.groups.get("original", item.id) for item in items}
    evaluated = {sentence for item in items for sentence in (item.more, item.less)}
    trained = steps(plan, "mitigate")
    assert len({step.data for step in trained}) == 1
    assert not set(select_corpus(trained[0].data, {}, tmp_path).sentences) & evaluated
    families = {item.groups.get("original", item.id) for item in datasets.load("paraphrases").items}
    assert trained[0].data == ("triple-gender",) or not originals & families, "nor on their paraphrases"


def test_a_study_without_other_text_asks_for_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"give another text to train on as the setting corpus"):
        planned(tmp_path, data=("nine-axes", "triple-gender"))


def test_published_code_and_corrected_methods_stand_side_by_side(tmp_path: Path) -> None:
    plan = planned(tmp_path, **{"methods": ["at-code", "cda-kaneko"]})
    assert [step.parameters["method"] for step in steps(plan, "mitigate")] == ["at-code", "cda-kaneko"]
    methods = [step.parameters["method"] for step in steps(planned(tmp_path), "mitigate")]
    assert methods == ["at", "at-code", "cda", "cda-kaneko", "dropout"]
    reduced = planned(tmp_path, reduced=True, **{"methods": ["at-code"]})
    assert [step.parameters["method"] for step in steps(reduced, "mitigate")] == ["at-code"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": ["at-cod"]}, "methods has 'at-cod', expected some of AT, at-code, CDA, cda-kaneko, DO, CDS"),
        ({"methods": ["CDA+at-cod"]}, "methods has 'at-cod', expected some of AT"),
        ({"methods": ["DO", "DO"]}, "methods has 'DO' twice: name each once"),
        ({"tasks": ["winobias"]}, "tasks has 'winobias', expected some of BiasBios, STS-bias, NLI-bias, sentiment"),
        ({"tasks": ["toxicity"]}, "toxicity needs texts with labels: give them as the setting each.toxicity.train"),
        ({"each": {"STS-bias": {"lists": ["one.txt"]}}}, "each.STS-bias.lists: one.txt is not on this machine"),
        ({"each": {"STS-bias": {"rows": "many"}}}, "STS-bias.rows: .*'many': input should be a valid integer"),
        ({"each": {"NLI": {"limit": 3}}}, "each has 'NLI', expected some of BiasBios, STS-bias, NLI-bias"),
        ({"each": {"NLI-bias": {"trian": "x"}}}, "no option named 'each.NLI-bias.trian'"),
        ({"each": {"NLI-bias": 3}}, "NLI-bias is 3, expected settings of its own"),
        ({"each": {"toxicity": {"added": "one.csv"}}}, "toxicity has 'added', which studies do not run"),
        ({"use": {"added": "one.csv"}}, "use has 'added', which studies do not run"),
        ({"use": {"stepz": 3}}, "no option named 'use.stepz'"),
    ],
)
def test_unknown_settings_are_refused_before_any_step(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UnmaskError, match=message):
        planned(tmp_path, **settings)


def test_settings_of_a_task_that_is_not_run_do_no_harm(tmp_path: Path) -> None:
    assert planned(tmp_path, reduced=True, **{"tasks": ["NLI-bias"]}).steps


def test_every_seed_has_its_own_trainings(tmp_path: Path) -> None:
    plan = planned(tmp_path, seeds=3, seed=5, **{"methods": ["DO"], "tasks": ["STS-bias"], "search": False})
    once = planned(tmp_path, seed=5, **{"methods": ["DO"], "tasks": ["STS-bias"], "search": False})
    assert [step.parameters["seed"] for step in steps(plan, "mitigate")] == [5, 6, 7]
    assert [step.parameters["seed"] for step in steps(plan, "fine-tune builtin")] == [5, 6, 7] * 2
    unchanged = [step for step in steps(plan, "audit builtin") if step.models]
    assert len({step.data for step in unchanged}) == len(unchanged), "the original is audited once"
    assert {plan.keys[name] for name in once.keys} <= set(plan.keys.values()), "a first seed is not trained again"
    for step in steps(plan, "audit builtin DO, seed 7,"):
        assert step.inputs["model"].parameters["seed"] == 7
    with pytest.raises(UnknownName, match="no option named 'seeds'"):
        plan_study(find("aul"), {"seeds": 2}, Runtime(offline=True))


@pytest.mark.filterwarnings("ignore")
def test_original_and_mitigated_versions_start_from_the_same_head(tmp_path: Path) -> None:
    """Published checkpoints have a pooler, mitigated ones none: the head would be part of every contrast."""
    model, tokenizer = zoo.make("bert-uncased")
    whole = transformers.BertForPreTraining(model.config)
    zoo.randomise(whole, seed=5)
    zoo.save(tmp_path / "original", whole, tokenizer)
    settings = {"methods": ["DO"], "tasks": ["STS-bias"], "documents": 8, "train": {"epochs": 1.0, "batch": 8}}
    plan = planned(tmp_path, models=[str(tmp_path / "original")], **settings)
    (step,) = steps(plan, "mitigate")
    (tmp_path / "mitigated").mkdir()
    run_mitigation(StepContext(step, tmp_path / "mitigated", {}, plan.runtime))
    how = Opening(device="cpu", offline=True)
    first, second = (new_classifier(tmp_path / name, how, labels=(), seed=0) for name in ("original", "mitigated"))
    weights = [dict(each.model.named_parameters()) for each in (first, second)]
    assert any("pooler" in key for key in first.new_weights)
    assert first.new_weights == second.new_weights
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in first.new_weights)
    body = "bert.encoder.layer.0.output.dense.weight"
    assert not torch.equal(weights[0][body], weights[1][body])


def write_lists(folder: Path) -> tuple[str, ...]:
    (folder / "gn_glove").mkdir()
    for name, words in zip(WORD_LISTS, ("woman\nher\nher\n", "man\nhis\nhim\n"), strict=True):
        (folder / name).write_text(words)
    return WORD_LISTS


def test_the_published_code_swaps_the_published_words(tmp_path: Path) -> None:
    write_lists(tmp_path)
    plan = planned(tmp_path, seeds=2)
    with_lists = [step for step in steps(plan, "mitigate") if "pairs" in step.inputs]
    assert {step.parameters["method"] for step in with_lists} == {"cda-kaneko"}
    (step,) = steps(plan, "pair the published lists")
    write_word_pairs(StepContext(step, tmp_path, {}, plan.runtime))
    assert (tmp_path / "pairs.csv").read_text().split() == ["man,woman", "his,her", "him,her"]
    (tmp_path / "gn_glove/male_word_file.txt").write_text("man\n")
    with pytest.raises(DataError, match=r"have 3 and 1 lines, expected as many words in both"):
        write_word_pairs(StepContext(step, tmp_path, {}, plan.runtime))


def test_published_lists_are_counted_as_in_the_paper(tmp_path: Path) -> None:
    write_lists(tmp_path)
    plan = planned(tmp_path, reduced=True)
    assert "gn_glove" not in " ".join(plan.notes)
    (step,) = steps(plan, "count words of STS-bias by Zhao")
    folder = tmp_path / "out"
    folder.mkdir()
    runtime = replace(plan.runtime, data_dir=tmp_path)
    (tmp_path / "stsb").symlink_to(zoo.MINIATURE / "stsb")
    finetuning.count_gendered_words(StepContext(step, folder, {}, runtime))
    result = load(folder / COUNTS)
    lines = next((zoo.MINIATURE / "stsb").glob("*train*")).read_text().splitlines()
    words = [word.lower() for line in lines for text in line.split("\t")[5:7] for word in text.split()]
    feminine, masculine = (sum(map(words.count, side)) for side in (("woman", "her"), ("man", "his", "him")))
    expected = {"feminine": feminine, "masculine": masculine}
    assert result.meta["details"]["counts"] == expected
    assert sum(expected.values())


def test_scores_of_several_trainings_have_their_spread() -> None:
    values = [Value(1.0, 0.0, 2.0), Value(2.0), Value(6.0)]
    ends = ttest_1samp([1.0, 2.0, 6.0], 0.0).confidence_interval()
    low, high = pytest.approx(ends.low), pytest.approx(ends.high)
    assert over_trainings(values) == Value(3.0, low, high, "t over 3 trainings", df=2.0)
    assert over_trainings(values[:1]) is values[0], "of one training the interval is over items"
    assert deviation(values) == pytest.approx(np.std([1.0, 2.0, 6.0], ddof=1))
    assert deviation(values[:1]) is None
    assert deviation([Value(1.0), Value(float("nan"))]) is None


def outcome(bias: float, absolute: float | None = None) -> TaskOutcome:
    sizes = None if absolute is None else Value(absolute)
    return TaskOutcome((), Value(bias), 9, Value(0.9, 0.8, 1.0), 0.5, sizes)


def training(intrinsic: float, curve: TaskOutcome, final: TaskOutcome, after: float) -> Training:
    run = TaskRun(curve, final, {"CPS": (Value(after), 7)})
    return Training({"CPS": (Value(intrinsic), 7)}, {"BiasBios": run})


def made(numbers: dict[tuple[str, str], list[tuple[float, float, float, float]]]) -> list[ModelVersion]:
    """By model and version, for every training: intrinsic, extrinsic after the search and at the last step, after."""
    return [
        ModelVersion(model, version, tuple(training(a, outcome(c), outcome(b), d) for a, b, c, d in each))
        for (model, version), each in numbers.items()
    ]


def test_scores_after_fine_tuning_are_of_one_network() -> None:
    """The search's best network is another one than that whose intrinsic scores are measured."""
    searched, tracked = [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]
    numbers = {(f"m{at}", ORIGINAL): [(float(at), searched[at], tracked[at], float(at))] for at in range(len(searched))}
    cells, _ = rank_cells(made(numbers), ["DO"], 0)
    assert {cell.when: cell.test.value for cell in cells} == {BEFORE: pytest.approx(1.0), AFTER: pytest.approx(-1.0)}
    ((cell, change),) = tau_changes(cells)
    assert (cell.intrinsic, cell.extrinsic, change.value) == ("CPS", "BiasBios", pytest.approx(-2.0))


def test_a_ranking_without_differences_says_so_once() -> None:
    same = {(f"m{at}", ORIGINAL): [(float(at), 0.0, 0.0, float(at))] for at in range(4)}
    cells, _ = rank_cells(made(same), ["DO"], 0)
    ((cell, change),) = tau_changes(cells)
    assert change.method == f"none: most resamples of {cell.unit} leave nothing to rank"
    assert cell.unit == "models with their versions"


def test_changes_are_shown_as_published_and_of_the_size() -> None:
    versions = made({("m", ORIGINAL): [(5.0, 1.0, 1.0, 0.0)], ("m", "DO"): [(-6.0, 1.5, 1.0, 0.0)]})
    changes = tables._changes(versions).tables[1]
    row = dict(zip(changes.columns, changes.rows[0], strict=True))
    assert row["f(mitigated) − f(original)"].value == -11.0
    assert row["change of size"].value == 1.0


def test_the_page_names_the_choices_of_the_tracked_training() -> None:
    options = study_options(STUDY, {"models": ("m",)})
    conclusion = tables.replicate({}, options)
    foot = next(section.foot for section in conclusion.sections if section.name == "figure-2")
    assert foot.startswith("Trained with batch 32, rate 3e-05, which is our choice.")


def test_biasbios_is_scored_by_signed_and_by_absolute_gaps() -> None:
    """Gaps of +0.4 and −0.4 cancel: their signed mean is 0."""
    version = ModelVersion("m", ORIGINAL, (training(1.0, outcome(0.0), outcome(0.0, 0.4), 2.0),))
    assert version.values("BiasBios")[0].value == 0.0
    assert version.values(SIZES)[0].value == 0.4


def test_ranks_are_resampled_over_models_and_trainings() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(8, 3, 2))
    models = [f"m{at // 2}" for at in range(8)]
    versions = [
        ModelVersion(
            models[at],
            ORIGINAL if at % 2 == 0 else "DO",
            tuple(training(x, outcome(y), outcome(y), x) for x, y in table[at]),
        )
        for at in range(8)
    ]
    cell = rank_cells(versions, ["DO"], 0)[0][0]
    means = np.stack([table[..., 0].mean(axis=1), np.abs(table[..., 1]).mean(axis=1)])
    assert cell.test.value == pytest.approx(kendalltau(*means).statistic)
    alone = [kendalltau(table[:, run, 0], np.abs(table[:, run, 1])).statistic for run in range(3)]
    assert [tau.value for tau in cell.by_training] == pytest.approx(alone)
    assert cell.tau.low < cell.test.value < cell.tau.high
    assert cell.tau.method == "percentile over models with their versions, and over trainings"
    same = np.repeat(table[:, :1], 3, axis=1)
    fixed, free = (resampled_taus(each, models, seed=0, label="x") for each in (same, table))
    single = resampled_taus(table[:, :1], models, seed=0, label="x")
    assert np.allclose(fixed, single, equal_nan=True), "without spread over trainings only models matter"
    assert not np.allclose(free, single, equal_nan=True)


def test_claims_are_answered_over_models() -> None:
    numbers = {}
    for at in range(6):
        off = 0.01 * at
        numbers[f"m{at}", ORIGINAL] = [(9.0 + at, 0.3 + at, 0.3 + at, 3.0 - at)]
        for method in ("AT", "CDA", "DO"):
            numbers[f"m{at}", method] = [(5.0 + at + off, 0.5 + at + off, 0.5 + at, 3.0 - at)]
    versions = made(numbers)
    cells, _ = rank_cells(versions, ["AT", "CDA", "DO"], 0)
    found = claims(versions, cells, ["AT", "CDA", "DO"]).finding.tables
    answers = {table.title: dict(zip(table.columns, table.rows[0], strict=True)) for table in found}
    lower = answers[question("lower")]
    assert (lower["answer"], lower["n"], lower["value"].value) == ("yes", 6, pytest.approx(-4.0 + 0.025))
    assert answers[question("higher")]["answer"] == "yes"
    opposite = [answers[question(claim)]["answer"] for claim in ("alike-after", "closer")]
    assert opposite == ["no, the opposite"] * 2
    assert answers[question("alike-before")]["value"].value > 0
    assert not claims(versions, cells, ["DO"]).finding.notes
    few = claims(versions[:4], [], ["AT", "CDA", "DO"], ["not learnt"]).finding
    assert ["fewer than three" in few.notes[0], *few.notes[1:]] == [True, "not learnt"]


def published_tau(task: str = "BiasBios", texts: int = 251_300, **change: Any) -> tuple[float | None, str]:
    """The published τ, or why there is none, in a run as the paper's but for this change."""
    each = {"NLI-bias": {"data": "triples.csv"}, "STS-bias": {"lists": list(WORD_LISTS)}}
    changed = change.pop("settings", {})
    settings = {"models": STUDY.models, "data": STUDY.data, **changed, "each": {**each, **changed.get("each", {})}}
    options = DebiasingOptions(**{**settings, **change})
    numbers = {(f"m{at}", ORIGINAL): [(float(at), 0.1 * at, 0.1 * at, 1.0)] for at in range(4)}
    cell = replace(rank_cells(made(numbers), ["DO"], 0)[0][0], methods="as published", extrinsic=task, task=task)
    found = compare_tau(cell, options, {(task, PUBLISHED_WORDS): _Counted(texts)})  # type: ignore[dict-item]
    assert (found.published is None) == bool(found.reason)
    if not found.reason:
        for other in (replace(cell, methods="corrected"), replace(cell, extrinsic=SIZES)):
            assert compare_tau(other, options, {(task, PUBLISHED_WORDS): _Counted(texts)}).reason  # type: ignore[dict-item]
    return found.published, found.reason


@pytest.mark.parametrize(
    ("task", "texts", "published"),
    [("BiasBios", 251_300, -0.17), ("STS-bias", 5_749, -0.08), ("NLI-bias", 392_702, 0.16)],
)
def test_published_ranks_stand_beside_a_run_as_the_papers(task: str, texts: int, published: float) -> None:
    """A user who brings everything would find no number of the paper to compare with."""
    assert published_tau(task, texts) == (published, "")
    own = {
        "NLI-bias": {"data": "c.csv", "triples": 10**6},
        "STS-bias": {"lists": ["female_word_file.txt", "male_word_file.txt"]},
    }
    each = {task: {**own.get(task, {}), "train": "a.jsonl", "dev": "b.jsonl"}}
    assert published_tau(task, texts, settings={"each": each}) == (published, ""), (
        "files with as many texts are its data"
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"models": ("builtin",)}, "other models"),
        ({"limit": 60}, "other data than crows-pairs and stereoset"),
        ({"data": ("nine-axes", "stereoset")}, "other data than crows-pairs and stereoset"),
        ({"data": ("crows-pairs", "stereoset")}, "mitigated on another text"),
        ({"settings": {"documents": 1000}}, "mitigated on another text"),
        ({"data": STUDY.data[:3]}, "mitigated without the word lists of Zhao et al."),
        ({"settings": {"train": TrainSettings(epochs=0.1, lr=0.01)}}, "mitigated with other training settings"),
        ({"settings": {"search": False}}, "hyper-parameters were not searched"),
        ({"settings": {"use": {**USE, "steps": 10}}}, "fine-tuned with other settings: steps"),
        ({"settings": {"use": {**USE, "grid": {"batch": [8]}}}}, "fine-tuned with other settings: grid"),
        ({"settings": {"use": {**USE, "rows": 9}}}, "fine-tuned with other settings: rows"),
        ({"settings": {"use": {}}}, "fine-tuned with other settings: grid, every, steps"),
        ({"settings": {"each": {"BiasBios": {"scrub": True}}}}, "other settings of the task: scrub"),
        ({"texts": 1_019}, "other training data: 1,019 texts, published 251,000"),
        ({"task": "STS-bias", "settings": {"each": {"STS-bias": {}}}}, "templates by other words"),
        (
            {"task": "STS-bias", "settings": {"each": {"STS-bias": {"lists": ["my.txt", "own.txt"]}}}},
            "templates by other",
        ),
        ({"task": "STS-bias", "settings": {"each": {"STS-bias": {"limit": 3}}}}, "other settings of the task: limit"),
        ({"task": "NLI-bias", "settings": {"each": {"NLI-bias": {}}}}, "our own triples"),
        (
            {"task": "NLI-bias", "settings": {"each": {"NLI-bias": {"data": "c.csv", "triples": 100}}}},
            "a sample of 100 triples only",
        ),
    ],
)
def test_published_ranks_do_not_stand_beside_another_run(change: dict[str, Any], reason: str) -> None:
    """The number of the paper would be shown as that of a run with other training, words or sentences."""
    assert published_tau(**change)[1].startswith(reason)


class _Counted:
    """A count of words in so many texts."""

    def __init__(self, texts: int, ilps: float = -0.5) -> None:
        from unmask.core.estimate import Estimate

        self.estimates = [Estimate(ilps, n=texts)]
        self.meta = {"details": {"counts": {"feminine": 2, "masculine": 3}}}


def test_published_word_counts_stand_beside_the_same_words_and_texts_only() -> None:
    counts = {
        ("STS-bias", "the package's pairs"): _Counted(5_749),
        ("STS-bias", PUBLISHED_WORDS): _Counted(5_749),
        ("NLI-bias", PUBLISHED_WORDS): _Counted(17_163, -0.9),
    }
    changes = {"STS-bias": {"m": [-1.0, 1.0]}, "NLI-bias": {"m": [1.0, 1.0]}}
    words, finding = word_ratios(counts, changes)  # type: ignore[arg-type]
    assert [each.published for each in words] == [None, -0.48, None]
    assert [each.reason for each in words[::2]] == [
        "other words than Zhao et al.'s",
        "other training data: 17,163 texts, published 392,700",
    ]
    assert finding.answers[0].endswith("STS-bias 1, NLI-bias 2. This is the same order (the paper: the same)")
    assert ("STS-bias", "feminine", 1304.0) in finding.tables[1].rows


def test_mitigations_are_combined_one_after_the_other(tmp_path: Path) -> None:
    """Every method trains the checkpoint of the one before, which is that of the method alone."""
    plan = planned(tmp_path, **{"methods": ["CDA", "CDA+DO"], "tasks": ["STS-bias"], "search": False})
    cda, both = steps(plan, "mitigate")
    assert [step.parameters["method"] for step in (cda, both)] == ["cda", "dropout"]
    assert (cda.models, both.models, both.inputs["model"]) == (("builtin",), (), cda)
    audit = next(step for step in plan.steps if step.name.startswith("audit builtin CDA+DO on"))
    assert audit.inputs["model"] == both


def test_a_combination_is_ranked_with_all_methods_and_compared_with_its_parts() -> None:
    assert method_sets(("AT", "CDA", "DO", "CDA+DO")) == {
        "corrected": ("AT", "CDA", "DO"),
        "chosen": ("AT", "CDA", "DO", "CDA+DO"),
    }
    assert list(method_sets(("AT", "CDA", "DO"))) == ["corrected"]
    numbers = {}
    for at in range(6):
        for version, intrinsic in ((ORIGINAL, 9.0), ("CDA", 5.0), ("DO", -1.0), ("CDA+DO", -3.0 - 0.01 * at)):
            numbers[f"m{at}", version] = [(intrinsic, 0.1, 0.1, 0.0)]
    section = claims(made(numbers), [], ["CDA", "DO", "CDA+DO"])
    table = next(table for table in section.finding.tables if table.title == question("combined"))
    answers = {row["where"]: row for row in (dict(zip(table.columns, row, strict=True)) for row in table.rows)}
    assert answers["CPS, CDA+DO against CDA"]["answer"] == "yes"
    assert answers["CPS, CDA+DO against CDA"]["value"].value == pytest.approx(-2.0 + 0.025)
    assert answers["CPS, CDA+DO against DO"]["answer"] == "no, the opposite"


def test_tasks_without_fine_tuning_are_measured_once_and_ranked_before_it(tmp_path: Path) -> None:
    """An original needs no second measurement with another seed: nothing about it is random."""
    chosen = {"methods": ["DO"], "tasks": ["STS-bias", "WinoBias"], "search": False}
    plan = planned(tmp_path, seeds=2, **chosen)
    measured = steps(plan, "measure")
    assert [step.name for step in measured] == [
        *("measure builtin on WinoBias", "measure builtin DO on WinoBias", "measure builtin DO, seed 1, on WinoBias")
    ]
    assert not any("WinoBias" in step.name for step in (*steps(plan, "fine-tune"), *steps(plan, "count")))
    run = TaskRun(None, outcome(3.0), {})
    versions = [
        ModelVersion(f"m{at}", ORIGINAL, (Training({"CPS": (Value(float(at)), 7)}, {"WinoBias": run}),))
        for at in range(4)
    ]
    cells, notes = rank_cells(versions, ["DO"], 0)
    assert ({cell.when for cell in cells}, notes) == ({BEFORE}, [])


def test_the_tasks_called_zero_shot_have_no_training_data() -> None:
    assert [name for name, task in debiasing.TASKS.items() if find_task(task).load_data is None] == list(ZERO_SHOT)


def test_a_measured_task_has_its_gap_and_the_accuracy_of_the_better_side(tmp_path: Path) -> None:
    (tmp_path / "winobias").symlink_to(zoo.MINIATURE / "winobias")
    model = str(zoo.folder("bert-uncased"))
    step = finetuning.step("MEASURED", "m", "winobias", {}, 0, model)
    folder = tmp_path / "out"
    folder.mkdir()
    finetuning.measure_zero_shot(StepContext(step, folder, {}, Runtime(tmp_path, offline=True, threads=1)))
    found, estimates = finetuning.load_outcome(folder), load(folder).estimates
    by_name = {each.statistic: each for each in reversed(estimates) if each.group == "all"}
    assert found.bias.value == by_name["pro − anti accuracy, points"].value
    sides = [by_name[f"accuracy, {side}, %"].value for side in ("pro", "anti")]
    assert found.score.value == pytest.approx(max(sides) / 100)
    assert (found.majority_share, found.points) == (0.5, ())


def test_further_tasks_have_no_published_number_and_a_question_of_their_own() -> None:
    options = study_options(STUDY, {"models": STUDY.models, "data": STUDY.data})
    run = TaskRun(None, outcome(3.0), {})
    versions = [
        ModelVersion(f"m{at}", name, (Training({"CPS": (Value(float(at)), 7)}, {"WinoBias": run}),))
        for at in range(4)
        for name in (ORIGINAL, "DO")
    ]
    cell = rank_cells(versions, ["DO"], 0)[0][0]
    assert compare_tau(cell, options, {}).reason == "not a task of the paper"
    words, _ = word_ratios({("sentiment", PUBLISHED_WORDS): _Counted(9)}, {})  # type: ignore[dict-item]
    assert words[0].reason == "not a task of the paper"
    assert question("further") in [table.title for table in claims(versions, [], ["DO"]).finding.tables]


def test_labels_of_training_data_are_shown_once_for_every_task(tmp_path: Path) -> None:
    """They are of the task, not of the version that was trained on it."""
    examples = [Example("She sleeps.", None, "a"), Example("He sleeps.", None, "b"), Example("They sleep.", None, "b")]
    labels = label_bias(examples, ("a", "b"))
    for name in ("one", "two"):
        create(build("task", details={"labels": labels}), tmp_path / name)
    outputs = {(TUNED, model, ORIGINAL, "0", "NLI-bias"): tmp_path / model for model in ("one", "two")}
    (table,) = label_table(outputs)
    rows = {row[1]: row for row in table.rows}
    assert len(table.rows) == 2
    assert (rows["a"][2], rows["a"][3], rows["a"][4].value) == (100.0, 0.0, 100.0)  # type: ignore[union-attr]
    assert rows["a"][5] == 1.0
    assert label_table({}) == ()


def test_templates_of_sts_bias_can_be_the_published_ones(tmp_path: Path) -> None:
    """The files are what the task reads, and part of the step's key."""
    lists = write_lists(tmp_path)
    plan = planned(tmp_path, **{"tasks": ["STS-bias"], "each": {"STS-bias": {"lists": list(lists)}}})
    step = steps(plan, "fine-tune")[0]
    assert step.data == lists
    context = StepContext(step, tmp_path, {}, plan.runtime)
    assert finetuning._settings(context).lists == tuple(tmp_path / name for name in lists)


def test_versions_that_guess_are_named() -> None:
    """A gap of a model that only guesses says nothing about bias, and nobody taught it the task."""
    guess = TaskOutcome((), Value(1.0), 9, Value(0.5, 0.4, 0.6), 0.5)
    run = {"WinoBias": TaskRun(None, guess, {}), "STS-bias": TaskRun(None, guess, {})}
    notes = tables._baseline_notes([ModelVersion("m", ORIGINAL, (Training({}, run),))])
    assert notes[0].startswith("1 of 1 versions do not resolve the pronouns of WinoBias (not better than guessing)")
    assert notes[1].startswith("1 of 1 versions have not learnt STS-bias")
