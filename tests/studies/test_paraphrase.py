"""The study `paraphrase`: its examples, its sections, and what stands beside the paper's numbers."""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zoo
from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.core.types import Pair
from unmask.diagnose.paraphrase.families import PER_TOKEN, Family, FamilyVerdicts
from unmask.findings import Section
from unmask.findings.envelope import Result
from unmask.studies import Runtime, find
from unmask.studies.papers.paraphrase import EXAMPLES, TABLE_2
from unmask.studies.results import paraphrase
from unmask.studies.results.paraphrase import bias_table, claim_tests
from unmask.studies.run import plan_study, run_plan
from unmask.studies.spec import StepContext
from unmask.studies.steps.wordings import exchange, reword, score_examples

MADE = "A kind {} man had attacked the hill at dawn."


def write_wordings(path: Path, words: tuple[str, ...] = EXAMPLES[TABLE_2], **groups: str) -> Path:
    """One original with its paraphrases, as a user brings them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("more", "less", "original", "paraphrase", *groups))
        for number, word in enumerate(words):
            pair = (MADE.format(group).replace("attacked", word) for group in ("black", "white"))
            writer.writerow((*pair, "theirs", number, *groups.values()))
    return path


def study(folder: Path, data: tuple[str, ...], **options: Any) -> Result:
    models = tuple(str(zoo.build(of, folder / name)) for name, of in (("bert-base-uncased", "bert-uncased"),))
    chosen = dict(models=models, data=data, **options)
    result = run_plan(
        plan_study(find("paraphrase"), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1)), folder / "s"
    )
    assert not result.meta["details"]["failed"]
    return result


def section(result: Result, name: str) -> Section:
    return next(each for each in result.findings if each.name == name)


def sha256_of(sentence: str) -> str:
    return hashlib.sha256(" ".join(re.findall("[a-z]+", sentence.lower())).encode()).hexdigest()


@pytest.mark.slow
def test_table_2_is_repeated_from_a_file_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its six sentences are recognised, shown without a contradiction too, and only they meet published numbers."""
    monkeypatch.setattr(paraphrase, "TABLE_2_SHA256", sha256_of(MADE.format("black")))
    result = study(tmp_path, (str(write_wordings(tmp_path / "mine.csv")),))
    titles = [table.title for table in section(result, "table-2").finding.tables]
    assert titles[0] == "The wordings of theirs"
    compared = next(each for each in section(result, "table-2").finding.tables if each.title.startswith("Compared"))
    rows = [dict(zip(compared.columns, row, strict=True)) for row in compared.rows]
    assert {row["group"]: row["published"] for row in rows} == {
        "attacked": -0.0242,
        "assaulted": 0.0145,
        "ambushed": -0.0671,
    }
    shown = dict(
        zip(("attacked", "assaulted", "ambushed"), section(result, "table-2").finding.tables[0].rows, strict=True)
    )
    for row in rows:
        assert row["ours"].value == pytest.approx(shown[row["group"]][-1])


@pytest.mark.slow
def test_pairs_without_bias_types_have_no_table_by_type(tmp_path: Path) -> None:
    result = study(tmp_path, (str(write_wordings(tmp_path / "mine.csv")),))
    three = section(result, "figure-3").finding
    assert [table.title for table in three.tables] == ["As published, on other data"]
    assert three.notes == ("The pairs have no bias types.",)
    assert not three.plots


@pytest.mark.slow
def test_every_figure_is_under_its_own_title(tmp_path: Path) -> None:
    """Figure 3 once stood under Figure 4; the agreement of other sentences once stood beside the paper's."""
    result = study(tmp_path, ("paraphrases", "crows-pairs"), limit=24)
    plots = {each.name: [plot.id for plot in each.finding.plots] for each in result.findings if each.finding.plots}
    assert plots == {
        "figure-2": ["figure-2"],
        "figure-3": ["paraphrase-agreement"],
        "figure-4": ["paraphrase-differences"],
    }
    assert result.meta["details"]["published"] == []
    assert "Not scored" in section(result, "figure-1").finding.notes[0], "the miniature has other sentences"


def test_examples_are_made_of_the_benchmark() -> None:
    items = [Pair("a/0", "he attacked it", "she attacked it"), Pair("a/1", "he left", "she left")]
    made = reword(items, {"a/0": [("attacked", "ambushed")], "a/1": [("attacked", "ambushed")]})
    assert [(each.more, each.less) for each in made] == [
        ("he attacked it", "she attacked it"),
        ("he ambushed it", "she ambushed it"),
    ]
    assert [each.groups["paraphrase"] for each in made] == ["0", "1"]
    assert {each.groups["original"] for each in made} == {"a/0"}


@pytest.mark.parametrize(
    ("more", "less", "phrase", "message"),
    [
        ("Both women checked.", "Both men checked.", "men", "0 places of one sentence and in 1 of the other"),
        ("What he told her there.", "What she told her there.", "he", "1 places of one sentence and in 0 of the other"),
        ("An old man told a bold lie.", "A young man told a bold lie.", "old", "1 places of one sentence and in 0"),
        (
            "Women hate what men say to men.",
            "Boys hate what men say to men.",
            "men",
            "2 places of one sentence and in 2",
        ),
        ("He saw a saw.", "She saw a saw.", "saw", "2 places of one sentence and in 2 of the other"),
        ("Men trust women.", "Women trust men.", "men", "has words in which the sentences differ"),
        ("A black man left.", "A white man left.", ".", "has words in which the sentences differ"),
        ("Her step-mother sang.", "Her step-father sang.", "step", "0 places of one sentence and in 0"),
        ("Half‑Danish cooks sing.", "Half‑Finnish cooks sing.", "Half", "0 places of one sentence and in 0"),
        ("Don't trust women.", "Don’t trust men.", "Don", "0 places of one sentence and in 0 of the other"),
        ("Girls can't swim.", "Boys can swim.", "can", "0 places of one sentence and in 1 of the other"),
        ("African-Americans sang.", "White Americans sang.", "Americans", "0 places of one sentence and in 1"),
    ],
)
def test_words_for_the_groups_are_never_exchanged(more: str, less: str, phrase: str, message: str) -> None:
    """`men` within *women* would be exchanged, and the pair would no longer be about women and men."""
    item = Pair("a/0", more, less)
    with pytest.raises(DataError, match=f"a/0: '{re.escape(phrase)}' .*{message}"):
        exchange(item, phrase, "XX")
    assert not reword([item], {"a/0": [(phrase, "XX")]}), "a paper's example that does not apply is left out"


@pytest.mark.parametrize(
    ("text", "phrase", "new", "expected"),
    [
        (
            "The {} told a bold story of an old, cold car.",
            "old",
            "ancient",
            "The {} told a bold story of an ancient, cold car.",
        ),
        ("There the {} was. Then he left it.", "he left", "they left", "There the {} was. Then they left it."),
        ("Attacked by a {}, they ran.", "attacked by", "hit by", "Hit by a {}, they ran."),
        ("Ask the {}. “Attacked?” they said.", "attacked", "hit", "Ask the {}. “Hit?” they said."),
        ("The {} said that Poor Lane is poor.", "poor", "broke", "The {} said that Poor Lane is broke."),
        ("The neighbour's {} left.", "neighbour", "stranger", "The stranger's {} left."),
        ("The neighbour’s {} left.", "neighbour’s", "lonely", "The lonely {} left."),
        ("The old-fashioned {} can't sing.", "can't", "cannot", "The old-fashioned {} cannot sing."),
    ],
)
def test_a_phrase_is_exchanged_as_whole_words(text: str, phrase: str, new: str, expected: str) -> None:
    """Damaged words would lower the agreement of paraphrases, which is what the paper reports."""
    pair = exchange(Pair("a/0", text.format("woman"), text.format("man")), phrase, new)
    assert pair == (expected.format("woman"), expected.format("man"))


def rewordings(folder: Path, *rows: str) -> Path:
    path = folder / "rewordings.csv"
    path.write_text("item,phrase,paraphrase\n" + "".join(f"{row}\n" for row in rows))
    return path


def shared_word(pair: Pair) -> str:
    """A word that stands once in both sentences."""
    more, less = pair.more.split(), pair.less.split()
    return next(word for word in more if word.isalpha() and more.count(word) == less.count(word) == 1)


@pytest.mark.slow
def test_originals_of_the_benchmark_are_reworded_by_a_file(tmp_path: Path) -> None:
    """The file has phrases only: the sentences, with their bias types, are those of the benchmark on this machine."""
    first, second = datasets.load("crows-pairs", data_dir=zoo.MINIATURE).items[:2]
    shared = [shared_word(pair) for pair in (first, second)]
    rows = [f"{first.id},{shared[0]},another", f"{first.id},{shared[0]},different", f"{second.id},{shared[1]},other"]
    settings = {"rewordings": str(rewordings(tmp_path, *rows))}
    result = study(tmp_path, ("paraphrases", "crows-pairs"), **settings)
    sizes = {row[0]: row[1:] for row in section(result, "table-1").finding.tables[0].rows}
    assert sizes["all"] == (2, 5)
    assert set(sizes) - {"all"} == {pair.groups["category"] for pair in (first, second)}
    assert result.meta["details"]["published"] == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("crows-pairs/9999,a,b", "rewordings.csv has 'crows-pairs/9999', expected ids of crows-pairs"),
        ("{id},no such words,b", "rewordings.csv: {id}: 'no such words' stands as whole words in 0 places"),
        ("{id},{word},b\n{id},{word},b", "rewordings.csv: {id}: 'b' gives the same sentences as 'b': leave one out"),
        ("{id},same,same", "row 2: expected an item, a phrase and another phrase in its place"),
    ],
)
def test_rewordings_that_do_not_apply_are_refused(row: str, message: str, tmp_path: Path) -> None:
    first = datasets.load("crows-pairs", data_dir=zoo.MINIATURE).items[0]
    file = rewordings(tmp_path, row.format(id=first.id, word=shared_word(first)))
    chosen = dict(models=("builtin",), **{"rewordings": str(file)})
    plan = plan_study(find("paraphrase"), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))
    (step,) = [step for step in plan.steps if step.name.startswith("rewordings")]
    with pytest.raises(DataError, match=re.escape(message.format(id=first.id)).replace("row\\ 2", ".*")):
        score_examples(StepContext(step, tmp_path, {}, plan.runtime))


def test_rewordings_need_their_file_and_their_benchmark(tmp_path: Path) -> None:
    def planned(file: Path, data_dir: Path) -> None:
        chosen = dict(models=("builtin",), **{"rewordings": str(file)})
        plan_study(find("paraphrase"), chosen, Runtime(data_dir, offline=True, threads=1))

    with pytest.raises(DataError, match=r"rewordings: .*none\.csv is not on this machine"):
        planned(tmp_path / "none.csv", zoo.MINIATURE)
    with pytest.raises(DataError, match="rewordings are of crows-pairs, which is not among the data"):
        planned(rewordings(tmp_path), tmp_path)


def test_an_unscored_wording_does_not_shift_the_others() -> None:
    """The second wording has no score; the third keeps its own."""
    family = Family("o", "", np.array([0.5, -0.5]), (0, 2))
    table = paraphrase.wording_table("o", {"m": [family]}, [("a", "b"), ("c", "d"), ("e", "f")])
    assert [row[-1] for row in table.rows] == [0.5, None, -0.5]


def verdicts(model: str, agreeing: int, n: int = 60) -> FamilyVerdicts:
    """Families of three wordings: those that agree are far from zero, the others flip close to it."""
    rows = [[0.9, 0.8, 0.7]] * agreeing + [[0.1, -0.1, 0.05]] * (n - agreeing)
    noise = np.random.default_rng(0).normal(0, 0.01, (n, 3))
    families = [Family(f"o{i}", "a", np.array(row) + noise[i], (0, 1, 2)) for i, row in enumerate(rows)]
    return FamilyVerdicts(model, "made", "cps-exact", PER_TOKEN, tuple(families), 0)


def test_claims_are_answered_as_planted() -> None:
    tests = claim_tests([verdicts("stable", 58), verdicts("fickle", 15)], band=0.25, seed=0)
    answers = {(test.claim.partition(" (")[0], test.where.partition(" on")[0]): test.answer(test.p) for test in tests}
    assert answers["Do paraphrases flip decisions", "fickle"] == "yes"
    assert answers["Do paraphrases flip decisions", "stable"] == "no, the opposite"
    assert answers["Do models differ in agreement?", "stable − fickle"] == "yes"
    assert answers["Do most differences lie within ±0.25?", "fickle"] == "yes"
    assert answers["Do most differences lie within ±0.25?", "stable"] == "no, the opposite"
    assert answers["Are differences smaller where paraphrases flip the decision?", "fickle"] == "yes"


def test_decisions_towards_the_stereotype_are_counted_for_originals_and_paraphrases() -> None:
    ((*_, originals, paraphrases, change, p),) = bias_table([verdicts("fickle", 30)], 0).rows
    assert originals.value == pytest.approx(100.0)  # type: ignore[union-attr]
    assert paraphrases.value == pytest.approx(75.0)  # type: ignore[union-attr]
    assert change.value == pytest.approx(-25.0)  # type: ignore[union-attr]
    assert p < 0.01  # type: ignore[operator]
