"""The plan of `gbef` and what its tables compare."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import zoo
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate, Value
from unmask.studies import Runtime, find
from unmask.studies.forecast import steps_of
from unmask.studies.papers import gbef
from unmask.studies.papers.gbef import GAP, PROFESSIONS, TOXIC
from unmask.studies.results import gbef as gbef_tables
from unmask.studies.results import gbef_words
from unmask.studies.results.gbef import CATEGORIES
from unmask.studies.results.gbef_words import FIGURES
from unmask.studies.run import StudyPlan, plan_study, study_options
from unmask.studies.spec import PACKAGE, StepContext
from unmask.studies.steps.mitigations import run_mitigation
from unmask.studies.steps.words import load_word_facts, word_facts_step, write_word_facts


def options(
    model: str = "bert-base-uncased", *, data: tuple[str, ...] = (*GAP, PROFESSIONS, TOXIC), **settings: Any
) -> gbef.GbefOptions:
    return study_options(find("gbef"), {"models": (model,), "data": data, **settings})


def test_learning_curve_samples_sentences_of_all_of_gap() -> None:
    steps = gbef.curve_models(options())
    assert [size for size, draw in steps if draw == 0] == [500, 1000, 2000, 4000, 6000, 8000, 10_000, 12_000]
    assert {step.data for step in steps.values()} == {GAP}
    assert all(step.parameters["corpus"]["sentences"] for step in steps.values())
    for (size, draw), step in steps.items():
        assert step.parameters["corpus"]["limit"] == size
        assert step.parameters["corpus"]["draw"] == [0, draw]
        assert step.parameters["seed"] == draw, "every training of a point has the same seed"


def test_learning_curve_on_built_in_text_leaves_out_sizes_that_it_does_not_have() -> None:
    """Larger samples would be the whole text again and again: a plateau by construction."""
    sizes = {size for size, _ in gbef.curve_models(options(data=(PACKAGE,)))}
    assert sizes == {500, 1000}


def test_sexism_about_women_is_shown_without_the_pairs_about_men() -> None:
    def row(number: int, direction: str, category: str, gap: float) -> dict[str, Any]:
        named = {"measure": "sld", "data": "triple-gender", "item": f"{number}", "outcome": "more", "reason": ""}
        scores = {"more": gap, "less": 0.0, "unrelated": None, "difference": gap}
        return {**named, **scores, "direction": direction, "category": category}

    items = [row(n, "stereo", "hostile-sexism", 1.0 + n) for n in range(4)] + [
        row(9, "antistereo", "hostile-sexism", 90.0)
    ]
    items += [row(10, "antistereo", "occupation", 70.0)]
    result: Any = SimpleNamespace(items=pa.Table.from_pylist(items))
    (table,) = gbef_tables.about_women({"m": result}, options())
    ((model, category, value, women, men),) = table.rows
    assert (model, category, women, men) == ("m", "hostile sexism", 4, 1)
    assert isinstance(value, Value)
    assert value.value == 2.5


def test_protective_professions_are_figure_18_and_farming_figure_19() -> None:
    assert (FIGURES["protective"], FIGURES["farming-fishing"]) == ("figure-18", "figure-19")


@pytest.mark.parametrize(
    ("model", "settings", "printed", "reason"),
    [
        ("builtin", {}, None, "another model"),
        ("bert-base-uncased", {}, None, "other data than thesis sentences"),
        ("builtin", {"thesis_sentences": "tgb.csv"}, None, "another model"),
        ("bert-base-uncased", {"thesis_sentences": "tgb.csv"}, 4.05, ""),
    ],
)
def test_published_asld_stands_beside_the_same_model_and_sentences_only(
    model: str, settings: dict[str, str], printed: float | None, reason: str
) -> None:
    result: Any = SimpleNamespace(
        estimates=[Estimate(5.69, 5.0, 6.4, measure="sld", data="triple-gender", statistic="asld", group="all")]
    )
    for item in ("table-3", "table-4"):
        (found,) = gbef_tables._asld(result, item, model, options(model, **settings))
        assert (found.published, found.reason) == (printed, reason)


@pytest.mark.parametrize(
    ("model", "settings", "printed", "reason"),
    [
        ("builtin", {}, [None, None, None], ["another model", "another model", "other reminder sentences"]),
        (
            "bert-base-uncased",
            {},
            [None, None, None],
            ["other data than thesis templates"] * 2 + ["other reminder sentences"],
        ),
        (
            "bert-base-uncased",
            {"thesis_templates": "appendix.csv"},
            [-0.41, -0.12, None],
            ["", "", "other reminder sentences"],
        ),
    ],
)
def test_published_appd_stands_beside_the_same_model_and_templates_only(
    model: str, settings: dict[str, str], printed: list[float | None], reason: list[str]
) -> None:
    """The first version looked a row up by its label `base`, whatever the model."""
    items = pa.table({"word": ["pregnant"], "category": ["gender-word"]})
    appd = Estimate(-0.4, -0.5, -0.3, measure="ppd", data="pronoun-templates", statistic="appd", group="word=pregnant")
    result: Any = SimpleNamespace(items=items, estimates=[appd])
    versions = (gbef.BASE, gbef.CDS, gbef.reminded_version("pregnant", 1))
    chosen = options(model, words=("pregnant",), reminders=(1,), **settings)
    found = gbef_words.reminder_comparisons(dict.fromkeys(versions, result), chosen)
    assert [each.published for each in found] == printed
    assert [each.reason for each in found] == reason


@pytest.mark.parametrize(
    ("version", "settings", "printed", "reason"),
    [
        (gbef.BASE, {"train": {"epochs": 1.0}}, 4.05, ""),
        (gbef.CDS, {}, 2.6, ""),
        (gbef.CDS, {"train": {"epochs": 1.0}}, None, "trained with other settings"),
        (gbef.CDS, {"names": "names.csv"}, None, "trained with other settings"),
        (gbef.ALL_TOXIC, {"toxic": "train.csv"}, None, "whether the file is all of Jigsaw's comments is not checked"),
        (gbef.SEVERE, {"toxic": "train.csv"}, None, "whether the file is all of Jigsaw's comments is not checked"),
        (gbef.TOXIC_SAMPLE, {"toxic": "train.csv"}, None, "another model"),
    ],
)
def test_published_asld_stands_beside_a_version_trained_as_in_the_thesis_only(
    version: str, settings: dict[str, Any], printed: float | None, reason: str
) -> None:
    """The thesis' number would stand beside that of another training, or its toxic rows beside "another model"."""
    chosen = options(thesis_sentences="tgb.csv", **settings)
    result: Any = SimpleNamespace(estimates=[Estimate(5.0, 4.0, 6.0, measure="sld", statistic="asld", group="all")])
    found = gbef_tables._asld(result, "table-4", gbef_words.model_name(version, chosen), chosen)
    (each,) = (gbef_words.as_trained(each, version, chosen) for each in found)
    assert (each.published, each.reason) == (printed, reason)
    titles = [table.title for table in gbef_tables._asld_finding([each], "table-4").tables]
    assert ("As published, of the thesis' models on its own sentences" in titles) == (printed is None)


def test_part_of_gap_is_not_compared_with_all_of_it() -> None:
    whole, part = options(), options(data=GAP[:1])
    assert whole.label(gbef.CDS) == "cds on gap"
    assert part.label(gbef.CDS) == options(documents=80).label(gbef.CDS) == "cds on part of gap"
    assert options(data=(PACKAGE,)).label(gbef.CDS) == "cds on built-in text"


def test_toxic_and_severely_toxic_comments_are_compared_with_equal_steps() -> None:
    models = gbef.trained_models(options(toxic="train.csv"))
    sample, severe = (models[name][0] for name in (gbef.TOXIC_SAMPLE, gbef.SEVERE))
    assert sample.data == severe.data == ("train.csv",), "another file of comments cannot be given"
    assert sample.parameters["corpus"]["as_many_as"] == severe.parameters["corpus"]["only"] == ["severe_toxic", "1"]
    assert sample.inputs["model"] == severe.inputs["model"] == models[gbef.CDS][0]


def test_every_reminded_version_has_reminders_of_one_word() -> None:
    models = gbef.trained_models(options())
    chosen = [step.parameters["choices"] for name, (step, _) in models.items() if name.startswith("reminders")]
    assert [(each["word"], each["remind"]) for each in chosen] == [
        (word, times) for word in ("pregnant", "breastfeeding") for times in (1, 2, 3)
    ]


def test_data_that_the_study_would_not_read_is_refused() -> None:
    chosen = {"models": ("builtin",), "data": ("nine-axes",)}
    with pytest.raises(DataError, match=r"gbef does not read 'nine-axes' as data: give sentence pairs as the setting"):
        plan_study(find("gbef"), chosen, Runtime(offline=True))


def test_thesis_templates_of_a_file_are_audited(tmp_path: Path) -> None:
    file = tmp_path / "appendix.csv"
    file.write_text("template,word,category,goal\n{Subject} is pregnant.,pregnant,gender-word,female\n")
    chosen = dict(models=("builtin",), reduced=True, **{"thesis_templates": str(file)})
    plan = plan_study(find("gbef"), chosen, Runtime(zoo.MINIATURE, offline=True))
    assert {step.data for role, step in plan.roles.items() if role[0] == "ppd"} == {("appendix.csv",)}


def test_names_of_a_table_are_swapped_in_counterfactual_text(tmp_path: Path) -> None:
    """The package knows half of GAP's first names; the file is part of the step's key, and no text to train on."""
    table, text, model = tmp_path / "names.json", tmp_path / "text.txt", zoo.folder("bert-uncased")
    table.write_text('[["zbigniew", "kunegunda"]]')
    text.write_text("".join(f"Zbigniew saw number {number}.\n" for number in range(40)))
    settings = {"names": str(table), "documents": 20, "train": {"epochs": 1.0, "lr": 1e-3, "batch": 8}}
    chosen = dict(models=(str(model),), reduced=True, **settings)

    def planned() -> StudyPlan:
        return plan_study(find("gbef"), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))

    plan = planned()
    steps = {step.name: step for step in plan.steps}
    cds, plain = (steps[f"{name}: train {model.name}"] for name in (gbef.CDS, gbef.BALANCED))
    assert (cds.data[-1], "names.json" in plain.data) == ("names.json", False)
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    step = replace(cds, data=(str(text), "names.json"), parameters={**cds.parameters, "corpus": {"limit": 20}})
    run_mitigation(StepContext(step, folder, {}, plan.runtime))
    outcome = json.loads((folder / "result.json").read_text())["details"]["outcome"]
    assert outcome["substituted"] > 0, "no name was known"
    table.write_text('[["zbigniew", "jadwiga"]]')
    assert planned().keys[cds.name] != plan.keys[cds.name]


@pytest.mark.parametrize(
    ("study", "settings", "message"),
    [
        ("gbef", {"toxic": "none.csv"}, "toxic: none.csv is not on this machine"),
        ("gbef", {"thesis_templates": "none.csv"}, "thesis_templates: none.csv is not on this machine"),
        ("debiasing", {"corpus": "none.txt"}, "corpus: none.txt is not on this machine"),
        ("debiasing", {"each": {"NLI-bias": {"train": "none.csv"}}}, "each.NLI-bias.train: none.csv is not on this"),
    ],
)
def test_files_are_looked_for_before_any_step(study: str, settings: dict[str, Any], message: str) -> None:
    """A study that has run for hours must not fail at a misspelt name."""
    chosen = dict(models=("builtin",), reduced=True, **settings)
    with pytest.raises(DataError, match=re.escape(message)):
        plan_study(find(study), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))


def test_professions_of_the_training_text_and_split_words_are_known(tmp_path: Path) -> None:
    templates, text = tmp_path / "templates.csv", tmp_path / "text.txt"
    words = ("doctor", "fish farmer", "businesswoman")
    template = "{Subject} is {a} {word}."
    templates.write_text("template,word\n" + "".join(f"{template},{word}\n" for word in words))
    text.write_text("The Doctor left. She is no farmer.\nA businesswoman-like air.\n")
    step = word_facts_step(
        *("words", str(templates), (str(text),)), model=str(zoo.folder("bert-uncased")), corpus={}, limit=None
    )
    write_word_facts(StepContext(step, tmp_path, {}, Runtime(offline=True)))
    facts = load_word_facts(tmp_path)
    assert [facts[word].seen for word in words] == [True, False, True]
    assert facts["businesswoman"].split
    assert {known.split for known in facts.values()} <= {True, False}


def test_more_text_is_tested_over_the_samples_of_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {500: np.array([2.0, 2.02]), 1000: np.array([1.9, 1.92]), 2000: np.array([1.8, 1.82])}
    monkeypatch.setattr(gbef_tables, "combined_by_size", lambda _: sizes)
    tests = gbef_tables._claims({}, {}, options())
    (found,) = [test for test in tests if test.claim == "Does more counterfactual text lower ASLD?"]
    assert found.value.value == pytest.approx(-0.1)  # 0.1 less at twice the text, whatever the sample
    assert found.n == 6
    assert found.answer(found.p) == "yes"


def test_every_seed_has_its_own_trainings() -> None:
    """A study that was run with one seed keeps its trainings; toxic comments follow the CDS of the same seed."""

    def planned(seeds: int) -> StudyPlan:
        chosen = {"models": ("builtin",), "reduced": True, "seed": 5, "seeds": seeds}
        return plan_study(find("gbef"), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))

    once, plan = planned(1), planned(3)
    assert set(once.keys.values()) < set(plan.keys.values())
    assert set(once.roles) < set(plan.roles)
    roles = [("sld", gbef.SEVERE), ("sld", gbef.SEVERE, "6"), ("sld", gbef.SEVERE, "7")]
    for role, seed in zip(roles, (5, 6, 7), strict=True):
        severe = plan.roles[role].inputs["model"]
        assert (severe.parameters["seed"], severe.inputs["model"].parameters["seed"]) == (seed, seed)
    assert len([role for role in plan.roles if role[0] == "curve"]) == len(
        [role for role in once.roles if role[0] == "curve"]
    ), "the samples of Figure 13 have seeds of their own"
    used = {step.name for patterns in plan.study.parts.values() for step in steps_of(patterns, plan.roles)}
    assert used == {step.name for step in plan.steps}, "every training is of a table or figure"


def of_seed(asld: float, appd: float) -> Any:
    """An audit by SLD and by PPD in one, of one training."""
    about = {"measure": "sld", "data": "triple-gender", "statistic": "asld"}
    estimates = [Estimate(asld + at, **about, group=group) for at, group in enumerate(CATEGORIES)]
    word = {"measure": "ppd", "data": "pronoun-templates", "statistic": "appd", "group": "word=pregnant"}
    items = pa.table({"word": ["pregnant"], "category": ["gender-word"]})
    return SimpleNamespace(items=items, estimates=[*estimates, Estimate(appd, **word)])


def test_cells_of_several_trainings_have_their_spread_and_claims_are_tested_over_them() -> None:
    trainings = {
        gbef.BASE: {0: of_seed(3.0, -0.5)},
        gbef.CDS: {0: of_seed(2.0, -0.1), 1: of_seed(1.9, -0.2), 2: of_seed(2.1, -0.3)},
    }
    chosen = options("builtin", words=("pregnant",))
    (table,) = gbef_tables._asld_tables(trainings, chosen)
    label, category, mean, spread, n = table.rows[-1]
    assert (label, category, n) == ("cds on gap", "combined", 3)
    assert isinstance(mean, Value)
    assert (mean.value, mean.low < 5.0 < mean.high) == (pytest.approx(5.0), True)  # 2.0 and its place, 3
    assert spread == pytest.approx(0.1)
    (test,) = gbef_tables._training_claims(trainings, chosen)
    assert (test.value.value, test.n, test.answer(test.p)) == (pytest.approx(-1.0), 3, "yes")
    assert test.where.endswith("combined, over trainings")
    (words,) = gbef_words.word_tables(trainings, gbef.CDS, chosen)
    ((of, count, moved, _, _),) = words.rows
    assert (of, count) == ("gender-word", 1)
    assert isinstance(moved, Value)
    assert moved.value == pytest.approx(-0.3)
    (reminded,) = gbef_words.reminder_tables(trainings, chosen)
    assert [row[3] for row in reminded.rows] == [pytest.approx(0.1)]
    alone = {version: {0: by_seed[0]} for version, by_seed in trainings.items()}
    assert not gbef_tables._asld_tables(alone, chosen), "one training has no spread"
    assert not list(gbef_tables._training_claims(alone, chosen))
    assert not gbef_words.word_tables(alone, gbef.CDS, chosen)
