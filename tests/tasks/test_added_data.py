"""Added data: as many harmless examples as balance a term, and a classifier that no longer takes it for toxicity."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import zoo
from unmask.core.errors import DataError
from unmask.data.examples import Example
from unmask.tasks import Grid, toxicity
from unmask.tasks.added_data import WITH, added_tables, choose_examples, length_class, needed_examples, with_added
from unmask.tasks.run import TaskResult
from unmask.tasks.spec import TaskData, TaskObservation
from unmask.tasks.toxicity import LABELS, ToxicityOptions, variants

from .tiny_models import evaluate, untrained_model

FILLER = "every day in the city with people from school and old friends now "


def comment(text: str, *, toxic: bool) -> Example:
    return Example(f"{text} {FILLER}"[:59], None, LABELS[toxic])


def unbalanced_comments() -> list[Example]:
    """20 comments, 5 toxic; of the four that say gay three are: share 3/4 against 1/4."""
    rows = [comment(f"gay people {at} are", toxic=at < 3) for at in range(4)]
    rows += [comment(f"the weather {at} is", toxic=at < 1) for at in range(14)]
    return rows + [comment(f"muslim people {at} are", toxic=at < 1) for at in range(2)]


def test_as_many_are_wanted_as_make_the_shares_equal() -> None:
    """3 toxic of n must be 5 of 20: n = 12, so 8 more; of muslim 1 of n: n = 4, so 2 more."""
    assert needed_examples(unbalanced_comments()) == {("gay", 0): 8, ("muslim", 0): 2}
    balanced = [*unbalanced_comments(), *(comment(f"gay friends {at}", toxic=False) for at in range(8))]
    # now 5 of 28 are toxic: adding harmless text lowers the overall share too, as in the paper's one pass
    assert needed_examples(balanced)["gay", 0] == 5
    assert needed_examples([comment("gay", toxic=False)]) == {}
    assert needed_examples([comment("gay", toxic=True), comment("rain", toxic=True)]) == {}


def test_classes_of_length() -> None:
    assert [length_class("x" * n) for n in (0, 19, 20, 59, 60, 4859, 4860)] == [None, None, 0, 0, 1, 4, None]


def test_the_first_fitting_texts_are_added_once() -> None:
    train = unbalanced_comments()
    texts = [
        "A gay couple opened a shop here.",
        "A gay couple opened a shop here.",  # twice
        "A short gay text.",  # of another length
        train[0].text,  # trained on
        "A gay man met a muslim man here today.",  # names two terms
        "The old town has a river and a hill.",  # no wanted term
        "The muslim baker opens at seven.",
        "A gay writer came to the library.",
    ]
    added = choose_examples(train, texts)
    assert [example.text for example in added.examples] == [texts[0], texts[6], texts[7]]
    assert {example.label for example in added.examples} == {"harmless"}
    assert (added.wanted, dict(added.by_term)) == (10, {"gay": 2, "muslim": 1})


def test_useless_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("The weather was fine all day long.\n")
    data = TaskData(LABELS, unbalanced_comments(), (), (), ())
    with pytest.raises(DataError, match=r"text\.txt: no text in it names one of the identity terms"):
        with_added(data, path)
    with pytest.raises(DataError, match="there is nothing to add"):
        with_added(replace(data, train=[comment("rain", toxic=True), comment("sun", toxic=False)]), path)
    with pytest.raises(DataError, match="no file"):
        with_added(data, tmp_path / "gone.txt")
    assert variants(ToxicityOptions(), data) == {"": data}


def test_added_text_without_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="`added` text is for fine-tuning"):
        ToxicityOptions(added=tmp_path / "text.txt")
    (tmp_path / "train.csv").write_text("text,toxic\nA.,0\nB.,1\n", encoding="utf-8")
    options = ToxicityOptions(train=tmp_path / "train.csv", added=tmp_path / "text.txt")
    with pytest.raises(DataError, match="`train` is for fine-tuning, and these models are classifiers already"):
        evaluate("toxicity", [zoo.folder("classifier")], options)


def test_the_change_of_areas_equals_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    asked, _ = toxicity.load_sentences(ToxicityOptions())
    toxic = np.array([each.toxic for each in asked])
    gay = np.array([each.term == "gay" for each in asked])
    before, after = (0.3 * toxic + 0.4 * gay * weight + 0.2 * rng.random(len(asked)) for weight in (1, 0))
    first, second = (toxicity.summarize(asked, values, "x", seed=0) for values in (before, after))
    whole, by_term = added_tables([TaskObservation({"id": "m"}, one) for one in (first, second)], 0)
    rows = {row[1]: row for row in whole.rows}
    assert rows["all sentences"][3:5] == pytest.approx((roc_auc_score(toxic, before), roc_auc_score(toxic, after)))
    of = (gay & ~toxic) | (~gay & toxic)
    bpsn = next(row for row in by_term.rows if row[1] == "gay")
    assert bpsn[2:4] == pytest.approx((roc_auc_score(toxic[of], before[of]), roc_auc_score(toxic[of], after[of])))
    assert bpsn[4].value == pytest.approx(bpsn[3] - bpsn[2])  # type: ignore[union-attr,operator]
    assert rows["BPSN, mean distance from all"][5].value < 0  # type: ignore[union-attr]
    assert rows["BPSN, mean"][2] == len({each.term for each in asked})


def train_classifier(folder: Path) -> TaskResult:
    """A tiny classifier of comments in which gay goes with toxicity, without and with added harmless text."""
    words = ("city", "school", "people", "friends", "money", "day")
    lines = ["text,toxic"]
    for at in range(240):
        toxic, term = at % 3 == 0, "gay" if at % 3 == 0 and at % 2 == 0 else "white" if at % 5 == 0 else "old"
        lines.append(
            f"{'bad' if toxic else 'good'} {term} {words[at % 6]} {words[at % 5]} of the {words[at % 4]},{int(toxic)}"
        )
    (folder / "train.csv").write_text("\n".join(lines), encoding="utf-8")
    harmless = [f"good gay {a} {b} of the {c}" for a in words for b in words for c in words]
    (folder / "added.txt").write_text("\n".join(harmless), encoding="utf-8")
    settings = ToxicityOptions(
        train=folder / "train.csv", added=folder / "added.txt", grid=Grid((16,), (1e-3,), (6.0,)), length=32
    )
    return evaluate("toxicity", [untrained_model()], settings)


@pytest.mark.slow
def test_harmless_text_that_names_a_term_makes_it_less_toxic(tmp_path: Path) -> None:
    """Without it a classifier learns that comments with the term are toxic: its harmless ones score high."""
    done = train_classifier(tmp_path)
    first, second = done.observations
    assert (first.name, second.name) == ("untrained-bert-uncased", f"untrained-bert-uncased {WITH}")
    shifts = [
        estimate.value
        for each in (first, second)
        for estimate in each.result.estimates
        if (estimate.statistic, estimate.group) == (toxicity.SHIFT, "term=gay")
    ]
    assert shifts[1] < shifts[0]
    titles = [table.title for table in done.conclusion.finding.tables]
    assert "AUC without and with added data" in titles
    assert any("wanted harmless examples were added (gay" in note for note in done.conclusion.finding.notes)
    assert [file["name"] for file in done.files] == ["train.csv", "added.txt"]
