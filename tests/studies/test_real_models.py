"""Real models' item scores in studies: wrong joins would put one model's answers under other sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import zoo
from unmask.core.types import Outcome, Row
from unmask.data.stereoset import MODELS
from unmask.diagnose.paraphrase.families import FamilyVerdicts
from unmask.measures import find
from unmask.stats.table import ScoreTable
from unmask.studies import Runtime
from unmask.studies import find as study
from unmask.studies.papers.aul import STEREOSET_SCORES
from unmask.studies.papers.paraphrase import GEST_SCORES
from unmask.studies.results import paraphrase
from unmask.studies.results.aul import (
    RealAnswers,
    answers_of,
    real_model_claims,
    real_model_scores,
    real_models_section,
)
from unmask.studies.results.paraphrase import wording_claims
from unmask.studies.run import plan_study
from unmask.studies.spec import StepContext
from unmask.studies.steps.scores import ModelScores, PublishedScores, load_scores, step, write_scores

PRINTED = {"gender": 61.4820, "race": 56.2963, "religion": 56.2759}  # of bert-base-cased


def answer(folder: Path, *, leave_out: int = 0) -> None:
    """Scores of all sentences of the miniature but some: stereotypes of items with an even number win."""
    examples = json.loads((zoo.MINIATURE / "stereoset/dev.json").read_text())["data"]["intrasentence"]
    scores = []
    for number, example in enumerate(examples):
        for sentence in example["sentences"]:
            stereotype = sentence["gold_label"] == "stereotype"
            score = 0.01 if sentence["gold_label"] == "unrelated" else 0.6 if stereotype == (number % 2 == 0) else 0.2
            scores.append({"id": sentence["id"], "score": score})
    (folder / "stereoset_predictions").mkdir()
    for file in MODELS:
        path = folder / "stereoset_predictions" / file
        path.write_text(json.dumps({"intrasentence": scores[leave_out:], "intersentence": []}))
    (folder / "stereoset").symlink_to(zoo.MINIATURE / "stereoset")


def read(folder: Path, *names: str) -> PublishedScores:
    out = folder / "out"
    out.mkdir()
    write_scores(StepContext(step(*names), out, {}, Runtime(folder, offline=True)))
    return load_scores(out)


def test_answers_are_joined_with_their_items(tmp_path: Path) -> None:
    answer(tmp_path, leave_out=3)
    answers = answers_of(read(tmp_path, STEREOSET_SCORES, "stereoset"))
    rows = answers.rows["gpt2"]
    assert len(rows) == answers.items - 1, "an item without a score is left out"
    even = [row for row in rows if int(row.item.rpartition("/")[2]) % 2 == 0]
    assert {row.outcome for row in even} == {"more"}
    assert {round(row.difference, 6) for row in even} == {round(np.log(0.6 / 0.2), 6)}
    assert {row.outcome for row in rows if row not in even} == {"less"}
    assert all(row.groups["target"] and row.groups["category"] for row in rows)
    claim = next(iter(real_model_claims(answers)))
    assert claim.value.value == pytest.approx(100 * len(even) / len(rows))


def test_a_published_score_stands_only_beside_all_of_its_items(tmp_path: Path) -> None:
    answer(tmp_path)
    scores = real_model_scores(answers_of(read(tmp_path, STEREOSET_SCORES, "stereoset")), 0)
    assert [each.published for each in scores] == [None] * len(scores)
    assert scores[0].reason.endswith("of 2,106 items have sentence ids")


@pytest.mark.needs_data
def test_published_answers_give_the_published_scores(published: Path, tmp_path: Path) -> None:
    """The same model, data and measure: to the last printed digit."""
    write_scores(StepContext(step(STEREOSET_SCORES, "stereoset"), tmp_path, {}, Runtime(published, offline=True)))
    scores = real_model_scores(answers_of(load_scores(tmp_path)), 0)
    compared = {(each.estimate.model, each.estimate.group.partition("=")[2]): each for each in scores if each.published}
    assert len(compared) >= 9
    assert all(abs(each.difference or 0.0) < 1e-4 for each in compared.values())
    for group, value in PRINTED.items():
        assert compared["bert-base-cased", group].published == value


def rows(measure: str, wins: str, *, terms: int = 12) -> list[Row]:
    """An item for every letter: + if the stereotype wins; the items share so many target terms."""
    outcomes: dict[str, Outcome] = {"+": "more", "-": "less", "0": "tie"}
    values = {"+": 0.5, "-": 0.1, "0": 0.2}
    return [
        Row(measure, "stereoset", f"stereoset/{at:04}", {"target": f"t{at % terms}", "category": "race"},
            {"more": values[win] + at / 1e4, "less": 0.2 + at / 1e4, "unrelated": 0.01}, outcomes[win])
        for at, win in enumerate(wins)
    ]  # fmt: skip


def test_decisions_of_the_run_are_compared_with_those_of_real_models() -> None:
    """20 items, of which the run decides 19; Cohen's κ by its definition."""
    real, ours = "++++++++++----------", "++++++----++++-----0"
    answers = RealAnswers("stereoset", 20, {"gpt2": rows("ss", real)})
    run = {"mine": {"aul": ScoreTable.of(find("aul"), rows("aul", ours), data="stereoset")}}
    section = real_models_section(answers, run, real_model_scores(answers, 0), 0)
    table = next(each for each in section.finding.tables if each.title.startswith("Item by item"))
    ((model, measure, other, same, kappa, rho, n),) = table.rows
    assert (model, measure, other, n) == ("mine", "aul", "gpt2", 19)
    decided = [(a == "+", b == "+") for a, b in zip(real, ours, strict=True) if b != "0"]
    alike = sum(a == b for a, b in decided) / 19
    assert same.value == pytest.approx(100 * alike)  # type: ignore[union-attr]
    one, two = (sum(side) / 19 for side in zip(*decided, strict=True))
    chance = one * two + (1 - one) * (1 - two)
    assert kappa.value == pytest.approx((alike - chance) / (1 - chance))  # type: ignore[union-attr]
    assert np.sign(rho.value) == np.sign(kappa.value)  # type: ignore[union-attr]


def test_real_models_differ_by_the_items_they_decide_differently() -> None:
    ours, theirs = (rows("ss", wins, terms=40) for wins in ("+" * 40, "+" * 20 + "-" * 20))
    answers = RealAnswers("stereoset", 40, {"a": ours, "b": theirs})
    section = real_models_section(answers, {}, [], 0)
    table = next(each for each in section.finding.tables if each.title == "Differences between real models")
    ((models, difference, flips, n, p),) = table.rows
    assert (models, flips, n) == ("b − a", 20, 40)
    assert difference.value == -50.0  # type: ignore[union-attr]
    assert p == pytest.approx(2 * 0.5**20)


def test_the_studies_read_the_answers_that_are_there(tmp_path: Path) -> None:
    answer(tmp_path)
    plan = plan_study(study("aul"), {"models": ("builtin",)}, Runtime(tmp_path, offline=True))
    assert plan.roles["scores",].data == (STEREOSET_SCORES, "stereoset")
    audited = {step.data[0] for role, step in plan.roles.items() if role[0] == "audit"}
    assert audited == {"nine-axes", "stereoset"}, "answers are not audited"
    missing = plan_study(study("paraphrase"), {"models": ("builtin",)}, Runtime(tmp_path, offline=True))
    assert ("scores",) not in missing.roles
    assert any(f"unmask data get {GEST_SCORES}" in note for note in missing.notes)


def reworded(model: str, decisions: Sequence[str]) -> FamilyVerdicts:
    """A model's scores of sentences in templates, a text of signs for each sentence."""
    scores: list[list[float | None]] = [[1.0 if sign == "+" else -1.0 for sign in each] for each in decisions]
    names = [f"gest/{at:04}" for at in range(len(decisions))]
    published = PublishedScores("gest", names, ["a"] * len(names), [""] * len(names), [ModelScores(model, scores)])
    (verdicts,) = paraphrase.real_verdicts(published, 0)
    return verdicts


def test_agreement_over_templates_is_counted_by_sentence() -> None:
    """Of 40 sentences in three templates 24 are decided alike, less than the 80% of the paper's claim."""
    verdicts = reworded("m", ["+++"] * 14 + ["---"] * 10 + ["++-"] * 10 + ["-+-"] * 6)
    section = paraphrase.real_models_finding([verdicts])
    agreement, towards = section.tables
    assert agreement.rows[0][1].value == 60.0  # type: ignore[union-attr]
    shares = [each.value for each in towards.rows[0][1:4]]  # type: ignore[union-attr]
    assert shares == [60.0, 75.0, 35.0]
    flips, chance = wording_claims(verdicts)
    assert (flips.answer(flips.p), chance.answer(chance.p)) == ("yes", "yes")
