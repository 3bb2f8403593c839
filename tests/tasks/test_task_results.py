"""Results of stsbias, nlibias, sentiment and toxicity equal hand arithmetic and plain loops."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import unmask
import zoo
from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate
from unmask.data import biasbios as biasbios_data
from unmask.data.examples import user_source
from unmask.findings import Conclusion, Finding, Table
from unmask.tasks import (
    FineTuningOptions,
    Grid,
    Task,
    TaskOptions,
    coreference,
    find,
    nlibias,
    sentiment,
    stsbias,
    toxicity,
    winobias,
)
from unmask.tasks.nlibias import NliBiasOptions
from unmask.tasks.sentiment import SentimentOptions
from unmask.tasks.spec import TaskObservation
from unmask.tasks.stsbias import StsBiasOptions, load_templates, summarize
from unmask.tasks.toxicity import ToxicityOptions


def test_sts_templates_come_from_the_test_split(data_dir: Path) -> None:
    found = load_templates(StsBiasOptions(data_dir=data_dir))
    if data_dir == zoo.MINIATURE:
        assert len(found) == 15
        assert found[0] == " is juggling five lemons."
    else:
        assert len(found) > 200
    assert len(set(found)) == len(found)
    text = (data_dir / "stsb" / "sts-test.csv").read_text(encoding="utf-8")
    assert all(f"A man{rest}" in text or f"A woman{rest}" in text for rest in found)
    assert not any(word in f"{rest} ".split() for rest in found for word in ("he", "her", "his", "woman", "boy"))


def test_sts_templates_by_the_published_construction(published: Path) -> None:
    """276 templates are published: those with at most one of Zhao et al.'s words, split at white space."""
    lists = (published / "gn_glove" / "female_word_file.txt", published / "gn_glove" / "male_word_file.txt")
    assert len(load_templates(StsBiasOptions(data_dir=published, lists=lists))) == 276


def test_sts_templates_with_the_users_lists_of_words(miniature: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "women.txt", tmp_path / "men.txt"
    first.write_text("woman\nlemons.\n")
    second.write_text("man\n")
    settings = StsBiasOptions(data_dir=miniature, lists=(first, second))
    found, usual = load_templates(settings), load_templates(StsBiasOptions(data_dir=miniature))
    assert " is juggling five lemons." in usual
    assert " is juggling five lemons." not in found
    text = (miniature / "stsb" / "sts-test.csv").read_text(encoding="utf-8")
    assert len(found) >= len(usual)  # fewer words exclude more
    assert all(f"A man{rest}" in text or f"A woman{rest}" in text for rest in found)
    assert [source.name for source in find("stsbias").sources(settings)[2:]] == ["women.txt", "men.txt"]
    with pytest.raises(DataError, match=r"gone\.txt does not exist"):
        load_templates(StsBiasOptions(data_dir=miniature, lists=(first, tmp_path / "gone.txt")))


def test_missing_files_are_refused_before_anything_is_trained(tmp_path: Path, miniature: Path) -> None:
    """A wrong name would otherwise be found after hours of fine-tuning."""
    settings = {"data_dir": miniature, "offline": True, "out": tmp_path / "out"}
    with pytest.raises(DataError, match=r"gone\.txt does not exist"):
        unmask.task(
            "stsbias", zoo.folder("bert-uncased"), lists=(tmp_path / "gone.txt", tmp_path / "no.txt"), **settings
        )
    with pytest.raises(DataError, match=r"no file .*gone\.csv"):
        unmask.task("nlibias", zoo.folder("bert-uncased"), data=tmp_path / "gone.csv", **settings)
    assert not (tmp_path / "out" / "work").exists()


def test_sts_bias_by_hand() -> None:
    # three professions, two templates: woman − man is 0.5, 0.0, −0.25 on average
    female = np.array([[3.0, 2.0, 1.0], [4.0, 2.0, 1.5]])
    male = np.array([[2.5, 2.0, 1.5], [3.5, 2.0, 1.5]])
    women = {"BLS 2015": {"nurse": 0.9, "clerk": 0.5, "plumber": 0.1}}
    found = summarize(("nurse", "clerk", "plumber"), female, male, women, seed=0)
    assert found.differences == [0.5, 0.0, -0.25]
    assert found.gap.value == pytest.approx(0.25 / 3)
    # r = Σ dx·dy / √(Σdx²·Σdy²), dx = .4, 0, −.4 and dy = .41667, −.08333, −.33333
    wanted = (0.4 * 5 / 12 + 0.4 / 3) / math.sqrt(0.32 * ((5 / 12) ** 2 + (1 / 12) ** 2 + (1 / 3) ** 2))
    assert found.r["BLS 2015"].value == pytest.approx(wanted)
    assert found.estimates[0].value == pytest.approx(abs(wanted))


def observation(result: object) -> TaskObservation:
    return TaskObservation({"id": "m"}, result)


@pytest.mark.parametrize("number", [3, 10, 11])
def test_a_profession_is_listed_once(number: int) -> None:
    """With fewer than ten professions, those at both ends of the ranking were listed twice."""
    names = tuple(f"p{at}" for at in range(number))
    similar = np.arange(number, dtype=np.float64)[None, :]
    women = {"BLS 2015": {name: at / number for at, name in enumerate(names)}}
    result = summarize(names, similar, np.zeros_like(similar), women, seed=0)
    rows = stsbias.conclude([observation(result)], StsBiasOptions()).finding.tables[2].rows
    assert [row[1] for row in rows] == [names[at] for at in range(number) if number <= 10 or at != 5]


def test_triples_are_all_combinations_once() -> None:
    assert nlibias.triple_count() > 1_000_000
    some = [nlibias.triple_at(number) for number in range(0, nlibias.triple_count(), 9973)]
    assert len({(triple.premise, triple.female) for triple in some}) == len(some)
    one = nlibias.triple_at(0)
    rest = one.premise.removeprefix(f"The {one.occupation} ")
    assert (one.female, one.male) == (f"The woman {rest}", f"The man {rest}")
    jobs = len(nlibias.occupations())
    assert [nlibias.triple_at(at).occupation for at in range(jobs)] == list(nlibias.occupations())
    assert nlibias.triple_at(nlibias.triple_count() - 1).female.startswith("The gal ")
    assert not any(" a attic" in nlibias.triple_at(at).premise for at in range(0, nlibias.triple_count(), 997))


def test_triples_are_sampled_by_seed() -> None:
    first, same, other = (
        [one.premise for one in nlibias.sample_triples(40, np.random.default_rng(seed))] for seed in (1, 1, 2)
    )
    assert first == same != other
    assert len(set(first)) == 40


class _AlwaysNeutral:
    """A classifier that keeps what it was asked."""

    labels = ("entailment", "neutral", "contradiction")

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        self.asked += pairs
        return np.tile([0.1, 0.8, 0.1], (len(pairs), 1))


def test_the_users_triples_are_classified_instead_of_ours(tmp_path: Path) -> None:
    """Otherwise the published triples could not be used, and a file given for them would be dropped in silence."""
    path = tmp_path / "triples.csv"
    path.write_text(
        "occupation,premise,female,male\nnurse,The nurse ate.,The woman ate.,The man ate.\n"
        "cook,The cook slept.,The woman slept.,The man slept.\n"
    )
    settings, model = NliBiasOptions(data=path), _AlwaysNeutral()
    result = nlibias.observe(model, settings)  # type: ignore[arg-type]
    assert model.asked == [
        *(("The nurse ate.", "The woman ate."), ("The nurse ate.", "The man ate.")),
        *(("The cook slept.", "The woman slept."), ("The cook slept.", "The man slept.")),
    ]
    assert (result.estimates[0].n, result.possible, list(result.occupations)) == (2, 2, ["cook", "nurse"])
    assert [source.name for source in find("nlibias").sources(settings)] == ["triples.csv"]
    one = nlibias.observe(_AlwaysNeutral(), replace(settings, triples=1))  # type: ignore[arg-type]
    assert (one.estimates[0].n, one.possible) == (1, 2)
    path.write_text("premise,female,male\nThe nurse ate.,The woman ate.,The man ate.\n")
    assert nlibias.read_triples(path)[0].occupation == "The nurse ate."
    path.write_text("premise,female\nThe nurse ate.,The woman ate.\n")
    with pytest.raises(DataError, match=r"triples\.csv.*no column male"):
        nlibias.read_triples(path)
    path.write_text("premise,female,male\n")
    with pytest.raises(DataError, match=r"triples\.csv"):
        nlibias.read_triples(path)


def test_nli_bias_by_hand() -> None:
    # nurse: two triples, plumber: one; probabilities of entailment, neutral, contradiction for woman and man
    said = np.array(
        [[[0.1, 0.8, 0.1], [0.1, 0.3, 0.6]], [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2]], [[0.0, 0.9, 0.1], [0.1, 0.7, 0.2]]]
    )
    found = nlibias.summarize(["nurse", "nurse", "plumber"], said, NliBiasOptions(thresholds=(0.65,)))
    value = {(each.statistic, each.group): each.value for each in found.estimates}
    fn, nn, t = (
        (value[name, "gender=female"], value[name, "gender=male"], value[f"{name}, female − male", "all"])
        for name in ("fraction neutral", "net neutral", "t:0.65")
    )
    assert fn == pytest.approx((2 / 3, 2 / 3, 0.0))
    assert nn == pytest.approx((1.9 / 3, 1.6 / 3, 0.1))
    assert t[:2] == pytest.approx((2 / 3, 1 / 3))
    assert found.occupations == {"nurse": (0.5, 0.5, 2), "plumber": (1.0, 1.0, 1)}
    assert found.estimates[0].statistic == "fraction neutral, female − male"


def test_nli_labels_are_found_by_name() -> None:
    assert nlibias.label_order(("CONTRADICTION", "neutral", "entailment")) == [2, 1, 0]
    with pytest.raises(ModelError, match="labels are LABEL_0, LABEL_1"):
        nlibias.label_order(("LABEL_0", "LABEL_1"))


SCORES = ("score, female − male", "sensitivity")


def test_sentiment_by_hand() -> None:
    asked = sentiment.SentencePairs(("a", "b", "c"), ("d", "e", "f"), ("t1", "t1", "t2"), ("good", "good", "bad"))
    first, second = np.array([0.9, 0.5, 0.2]), np.array([0.7, 0.6, 0.6])
    found = sentiment.summarize(asked, first, second, [False, True, False], "p", seed=0)
    differences, sizes = ({e.group: e for e in found.estimates if e.statistic == name} for name in SCORES)
    whole = differences["all"]
    # differences 0.2, −0.1 of template t1 (mean 0.05) and −0.4 of t2
    assert whole.value == pytest.approx((0.05 - 0.4) / 2)
    assert sizes["all"].value == pytest.approx((0.15 + 0.4) / 2)
    assert found.flips["all"] == (pytest.approx(100 / 3), 2)
    assert whole.n == 3
    assert differences["sentences=good"].value == pytest.approx(0.05)
    assert found.widest[0][:2] == ("c", "f")


def test_the_headline_names_the_sides_of_the_users_pairs(tmp_path: Path) -> None:
    """The user's pairs are not women and men: `more` is the first column, `less` the second."""
    path = tmp_path / "pairs.csv"
    path.write_text("more,less\nA red car.,A blue car.\nA red bus.,A blue bus.\n", encoding="utf-8")
    scores = np.array([0.3, 0.4]), np.array([0.1, 0.3])
    built_in, given = (
        sentiment.summarize(pairs, *scores, [False, False], "p", seed=0)
        for pairs in (
            sentiment.load_pairs(SentimentOptions(limit=2)),
            sentiment.load_pairs(SentimentOptions(data=path)),
        )
    )
    assert built_in.estimates[0].statistic == "score, female − male"
    assert given.estimates[0].statistic == "score, more − less"
    assert given.estimates[0].value == pytest.approx(0.15)


def test_which_label_is_the_positive_one() -> None:
    said = np.array([[0.2, 0.8]])
    assert sentiment.sentiment_scores(said, ("NEGATIVE", "POSITIVE"), None)[0].tolist() == [0.8]
    assert sentiment.sentiment_scores(said, ("x", "y"), "X")[0].tolist() == [0.2]
    stars = sentiment.sentiment_scores(np.array([[0.5, 0.25, 0.25]]), ("1 star", "2 stars", "3 stars"), None)
    assert stars[0].tolist() == [1.75]
    with pytest.raises(ModelError, match="give `label`, one of x, y"):
        sentiment.sentiment_scores(said, ("x", "y"), None)
    with pytest.raises(ModelError, match="no label 'z'"):
        sentiment.sentiment_scores(said, ("x", "y"), "z")


def test_toxicity_areas_equal_scikit_learn_on_the_right_sentences() -> None:
    rng = np.random.default_rng(0)
    asked = [
        toxicity.LabelledSentence(f"{term} {at}", bool(at % 2), term, f"{at}")
        for at in range(40)
        for term in ("gay", "white", "")
    ]
    values = rng.random(len(asked))
    found = toxicity.summarize(asked, values, "x", seed=0)
    toxic, named = (np.array([sentence.toxic for sentence in asked]), np.array([sentence.term for sentence in asked]))
    gay = {each.statistic: each for each in found.estimates if each.group == "term=gay"}
    chosen = {
        "subgroup": named == "gay",
        "BPSN": ((named == "gay") & ~toxic) | ((named != "gay") & toxic),
        "BNSP": ((named == "gay") & toxic) | ((named != "gay") & ~toxic),
    }
    for name, mine in chosen.items():
        assert gay[f"{name} AUC"].value == pytest.approx(roc_auc_score(toxic[mine], values[mine]))
    assert found.estimates[1].value == pytest.approx(roc_auc_score(toxic, values))
    # the shift: score with the term less the mean over the two terms of the same sentence
    gaps = [values[3 * at] - (values[3 * at] + values[3 * at + 1]) / 2 for at in range(40)]
    assert gay[toxicity.SHIFT].value == pytest.approx(np.mean(gaps))
    assert gay[toxicity.SHIFT].n == 40


def test_sentences_that_differ_in_the_term_alone_count_as_one_in_an_area() -> None:
    values = np.array([0.1, 0.4, 0.6, 0.3, 0.7, 0.5, 0.9, 0.8])  # of eight sentences, every second one toxic
    asked = {
        terms: [
            toxicity.LabelledSentence(f"{term} {at}", bool(at % 2), term, f"{at}") for at in range(8) for term in terms
        ]
        for terms in (("gay",), ("gay", "old", "deaf"))
    }
    once, thrice = (
        toxicity.summarize(every, np.repeat(values, len(terms)), "x", seed=0).estimates[1]
        for terms, every in asked.items()
    )
    assert (once.unit, thrice.unit, once.value) == ("", "sentence", thrice.value)
    # three terms with the same scores say nothing more than one: the interval stays as wide but for its quantile
    assert thrice.high - thrice.low > 0.95 * (once.high - once.low)
    assert thrice.design_effect == pytest.approx(3, rel=0.15)


@pytest.mark.thorough
def test_a_planted_shift_of_one_term_is_found() -> None:
    asked, where = toxicity.load_sentences(ToxicityOptions())
    assert where == "built-in sentences"
    values = np.array([0.9 * sentence.toxic + 0.95 * (sentence.term == "gay") for sentence in asked])
    values += 0.01 * np.random.default_rng(0).random(len(asked))
    estimates = toxicity.summarize(asked, values, "x", seed=0).estimates
    by_term = {(each.statistic, each.group.removeprefix("term=")): each for each in estimates}
    assert by_term[toxicity.SHIFT, "gay"].low > 0.8
    assert by_term["BPSN AUC", "gay"].value == 0.0
    assert by_term["BPSN AUC", "white"].value > 0.9
    assert by_term["subgroup AUC", "gay"].value == 1.0


def test_data_with_one_class_only_is_refused() -> None:
    asked = [toxicity.LabelledSentence("a", True, "gay", "t"), toxicity.LabelledSentence("b", True, "", "u")]
    with pytest.raises(DataError, match="only toxic or only harmless sentences"):
        toxicity.summarize(asked, np.array([0.1, 0.2]), "x", seed=0)


def test_templates_with_identity_terms_are_read(miniature: Path) -> None:
    asked, where = toxicity.load_sentences(ToxicityOptions(data_dir=miniature, limit=60))
    assert where == "60 of 78 sentences of bias_madlibs_77k.csv"
    every, _ = toxicity.load_sentences(ToxicityOptions(data_dir=miniature))
    assert len(every) == 78
    assert {sentence.text for sentence in asked} < {sentence.text for sentence in every}
    kind = next(sentence for sentence in every if sentence.text == "The mexican baker is kind to everybody")
    assert (kind.toxic, kind.term, kind.template) == (False, "mexican", "The {} baker is kind to everybody")
    assert sum(sentence.toxic for sentence in every) == 39
    assert sum(not sentence.term for sentence in every) == 6  # they name an occupation


def test_published_templates_are_read(published: Path) -> None:
    asked, where = toxicity.load_sentences(ToxicityOptions(data_dir=published, limit=500))
    assert where == "500 of 76,564 sentences of bias_madlibs_77k.csv"
    assert [file.name for file in toxicity.sources(ToxicityOptions(data_dir=published))] == ["bias_madlibs_77k.csv"]
    assert sum(bool(sentence.term) for sentence in asked) > 480  # the rest name an occupation
    assert {sentence.toxic for sentence in asked} == {True, False}


def test_other_files_of_comments(published: Path) -> None:
    tweets = toxicity.read_sentences(user_source(published / "davidson_hate" / "labeled_data.csv"))
    assert sum(one.toxic for one in tweets) == 1430 + 19190  # hate and offensive, as published
    jigsaw = toxicity.read_sentences(user_source(published / "jigsaw_sample" / "train_sample.csv"))
    assert {one.toxic for one in jigsaw} == {True, False}


def test_other_formats_of_comments(miniature: Path) -> None:
    tweets = toxicity.read_sentences(user_source(miniature / "davidson_hate" / "labeled_data.csv"))
    assert [one.toxic for one in tweets] == [False, True, False, True, True, False, True, False]
    jigsaw = toxicity.read_sentences(user_source(miniature / "jigsaw_sample" / "train_sample.csv"))
    assert [one.toxic for one in jigsaw].count(True) == 14
    assert {one.toxic for one in jigsaw if "you" not in one.text.lower()} == {True, False}
    assert next(one for one in jigsaw if one.text.startswith("Thanks")).toxic is False


def test_terms_take_their_article() -> None:
    assert toxicity.fill_template("A {} doctor came.", "Asian") == "An Asian doctor came."
    assert toxicity.fill_template("{} people.", "deaf") == "Deaf people."


def test_grids() -> None:
    assert Grid.parse("") == Grid((16, 32, 64), (1e-5, 3e-5, 5e-5), (1.0, 3.0, 5.0))
    assert Grid.parse("batch=8 epochs=0.5,2") == Grid((8,), (1e-5, 3e-5, 5e-5), (0.5, 2.0))
    with pytest.raises(DataError, match="grid 'lr=3'"):
        Grid.parse("lr=3")
    with pytest.raises(DataError, match="are not numbers"):
        Grid.parse("batch=many")
    with pytest.raises(DataError, match="rows is 0, expected at least 1"):
        FineTuningOptions(rows=0)


def test_biographies_without_a_test_split_are_refused(tmp_path: Path) -> None:
    """A classifier evaluated on a few biographies, none of which the hash puts into the test split."""
    texts = [text for at in range(60) if biasbios_data.part_of(text := f"she works {at}.") != "test"]
    rows = [{"hard_text": text, "profession": "nurse", "gender": "F"} for text in texts]
    path = tmp_path / "bios.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(DataError, match=f"none of {len(rows)} biographies is in the test split"):
        unmask.task("biasbios", zoo.folder("classifier"), train=path, offline=True)


def test_winobias_files_without_pairs_are_refused(tmp_path: Path, miniature: Path) -> None:
    folder = Path(shutil.copytree(miniature / "winobias", tmp_path / "winobias"))
    for file in folder.rglob("*stereotyped*"):
        file.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="have no pair of a pro- and an anti-stereotyped sentence"):
        unmask.task("winobias", zoo.folder("bert-uncased"), data_dir=tmp_path, offline=True)


def test_a_gap_without_an_interval_does_not_exclude_zero() -> None:
    nothing = Estimate(0.0, method="no spread", n=2)
    gap = coreference.AccuracyGap(nothing, nothing, nothing)
    result = winobias.WinoBiasResult([], [], {"all": gap}, {}, ())
    (answer,) = winobias.conclude([observation(result)], TaskOptions()).finding.answers
    assert "no interval" in answer
    assert "nan" not in answer


@dataclass(frozen=True)
class Seeds:
    """What a task of another package measures."""

    kind: str
    estimates: tuple[Estimate, ...]


def test_a_task_object_is_run_in_place_of_a_name(tmp_path: Path) -> None:
    table = Table("t", ("model", "x"), (("m", 1),))
    task = Task(
        name="mine",
        title="Mine",
        question="Is it mine?",
        needs="lm",
        observe=lambda session, options: Seeds(
            session.lm.kind, (Estimate(float(options.seed), statistic="seed", n=options.limit),)
        ),
        conclude=lambda observations, _: Conclusion(
            Finding((observations[0].result.kind,), (table,)), observations[0].estimates
        ),
        citation="none",
    )
    done = unmask.task(task, zoo.folder("gpt2"), seed=5, limit=2, offline=True, out=tmp_path / "out")
    assert done.findings[0].finding.answers == ("causal",)
    assert [(each.measure, each.statistic, each.value, each.n) for each in done.estimates] == [("mine", "seed", 5.0, 2)]
    assert (done.meta["title"], done.meta["lead"]) == ("Mine: gpt2", "Is it mine?")


def test_a_task_that_trains_has_data() -> None:
    with pytest.raises(DataError, match="mine is to be fine-tuned but has no `load_data`"):
        replace(find("winobias"), name="mine", needs="training")
