"""Scores of models by item: a wrong sign, order or unit would turn every figure computed from them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gmean, rankdata

import zoo
from unmask import data
from unmask.core.errors import DataError, UnknownName
from unmask.data.gest import FEMALE, STEREOTYPES

from .score_files import write_gest_scores, write_stereoset_scores

# What the authors' notebook prints for the paper's table (`_english_mlm.ipynb`, kinit-sk/gest@062900b): r_i by model
# and template, exp of the mean log10 contrast of a man's and a woman's word, stereotypes 1 to 16.
PRINTED = {
    ("distilbert-base-uncased", 2): "0.91 0.89 0.86 0.89 0.86 0.90 0.88 0.92 0.89 0.89 0.90 0.85 0.89 0.90 0.92 0.91",
    ("distilbert-base-uncased", 3): "0.99 1.04 0.84 0.91 0.94 1.01 0.92 1.14 1.14 1.06 1.13 0.91 1.10 1.07 0.99 1.11",
    ("electra-large-generator", 0): "1.23 1.27 1.22 1.24 1.27 1.28 1.18 1.43 1.36 1.41 1.39 1.33 1.46 1.33 1.22 1.44",
    ("electra-large-generator", 1): "1.17 1.18 1.14 1.20 1.27 1.14 1.11 1.38 1.29 1.23 1.23 1.24 1.34 1.37 1.13 1.32",
    ("electra-large-generator", 2): "1.23 1.22 1.19 1.24 1.22 1.29 1.17 1.40 1.32 1.36 1.38 1.28 1.39 1.32 1.20 1.43",
    ("electra-large-generator", 3): "1.37 1.32 1.30 1.40 1.43 1.36 1.32 1.58 1.48 1.41 1.43 1.39 1.52 1.59 1.29 1.58",
    ("electra-base-generator", 0): "1.66 1.69 1.63 1.60 1.72 1.73 1.54 1.83 1.81 1.88 1.80 1.70 1.95 1.74 1.59 1.89",
    ("electra-base-generator", 1): "1.16 1.16 1.05 1.06 1.23 1.20 1.04 1.30 1.34 1.38 1.29 1.10 1.44 1.26 1.01 1.37",
    ("electra-base-generator", 2): "1.99 2.08 2.00 1.97 2.05 2.06 1.91 2.19 2.20 2.20 2.17 2.09 2.24 2.10 1.99 2.17",
    ("electra-base-generator", 3): "1.17 1.18 1.06 1.10 1.17 1.20 1.09 1.30 1.31 1.30 1.25 1.09 1.33 1.26 1.08 1.34",
}


def stereotype_rates(name: str, data_dir: Path) -> np.ndarray:
    """The paper's r_i: models × templates × 16 stereotypes."""
    matrix = data.scores(name, data_dir=data_dir)
    signs = np.where([direction == "female" for direction in matrix.directions], -1, 1)
    contrasts = matrix.scores * signs[None, :, None] / math.log(10)
    of = np.array(matrix.categories)
    return np.stack([np.exp(contrasts[:, of == each].mean(axis=1)) for each in STEREOTYPES], axis=-1)


def test_the_published_scores_give_the_table_that_the_authors_print(published: Path) -> None:
    rates = stereotype_rates("gest-masked-scores", published)
    models = data.scores("gest-masked-scores", data_dir=published).models
    for (model, template), row in PRINTED.items():
        ours = rates[models.index(model), template]
        assert [f"{rate:.2f}" for rate in ours] == row.split(), (model, template)


def test_the_published_scores_bear_out_what_the_authors_say_of_them(published: Path) -> None:
    """The notebook: templates correlate by 0.6 and more, BERT and DistilBERT drop in the third. The abstract."""
    rates = stereotype_rates("gest-masked-scores", published)
    templates = [np.corrcoef(model)[np.triu_indices(4, 1)] for model in rates]
    assert np.mean(templates) > 0.6
    g_s = gmean(rates[..., len(FEMALE) :], axis=-1) / gmean(rates[..., : len(FEMALE)], axis=-1)
    models = data.scores("gest-masked-scores", data_dir=published).models
    drops = {model: rates_of[[0, 1, 3]].min() - rates_of[2] for model, rates_of in zip(models, g_s, strict=True)}
    assert sorted(drops, key=drops.__getitem__)[-2:] == ["bert-base-uncased", "distilbert-base-uncased"]
    assert (g_s > 1).mean() > 0.95  # "significant and consistent amounts of gender-stereotypical reasoning"
    ranks = rankdata(rates.reshape(-1, 16), axis=1).mean(axis=0)
    assert ranks[:7].mean() < ranks[7:].mean()
    causal = stereotype_rates("gest-causal-scores", published)
    g_s = gmean(causal[..., 7:], axis=-1) / gmean(causal[..., :7], axis=-1)
    names = data.scores("gest-causal-scores", data_dir=published).models
    small, large = (names.index(f"pythia-{size}") for size in ("70m", "12b"))
    assert (g_s[large] > g_s[small]).all()  # "the larger the model, the more stereotypical it usually is"


def test_scores_keep_the_order_of_the_files_and_get_the_sign_of_the_stereotype(tmp_path: Path) -> None:
    folder = write_gest_scores(tmp_path)
    matrix = data.scores("gest-causal-scores", data_dir=folder)
    assert matrix.scores.shape == (23, 32, 2)
    assert matrix.models[0] == "Llama-2-13b-chat-hf"
    assert matrix.wordings == ("0", "1")
    assert (matrix.items[0], matrix.items[-1]) == ("gest/0000", "gest/0031")
    assert (matrix.categories[0], matrix.categories[-1]) == ("emotional", "strong")
    assert set(matrix.groups) == {"causal"}
    assert not matrix.data.verified
    assert matrix.facts()["n"] == 32
    path = folder / "gest" / "predictions" / "english_glm" / "gpt2_template-1.txt"
    numbers = [float(line) * math.log(10) for line in path.read_text().splitlines()]
    ours = matrix.scores[matrix.models.index("gpt2"), :, 1]
    assert_allclose(ours, [-number if row < 14 else number for row, number in enumerate(numbers)])


def test_gest_pairs_say_who_speaks(data_dir: Path) -> None:
    """Side `more` has the gender of the stereotype; the other side differs in the word for the speaker only."""
    for name, templates in (("gest", 4), ("gest-next-word", 2)):
        loaded = data.load(name, data_dir=data_dir)
        assert loaded.verified is (data_dir != zoo.MINIATURE)
        with (data_dir / "gest" / "gest.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert len(loaded.items) == templates * len(rows)
        assert loaded.items[5].id == f"{name}/{5 // templates:04}-{5 % templates}"
        for place, item in enumerate(loaded.items):
            row = rows[place // templates]
            speakers = {"he": "male", "man": "male", "she": "female", "woman": "female"}
            words, others = item.more.split(), item.less.split()
            different = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
            assert len(different) == 1
            more, less = (speakers[word.lower().strip('":')] for word in different[0])
            assert (more, less) == (("female", "male") if int(row["stereotype"]) <= 7 else ("male", "female"))
            assert row["sentence"] in item.more
            assert item.groups["direction"] == ("stereo" if more == "female" else "antistereo")
            assert item.groups["cluster"] == f"{place // templates:04}"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("gest.csv", "text,stereotype\nI ran.,1\n", r"gest\.csv: no column 'sentence'"),
        ("gest.csv", "sentence,stereotype\nI ran.,17\n", r"gest\.csv, line 2: stereotype '17', expected 1 to 16"),
        (
            "predictions/english_mlm/roberta-base_template-2.txt",
            "1\n",
            r"roberta-base_template-2\.txt: 1 scores, expected 32",
        ),
        (
            "predictions/english_mlm/roberta-base_template-2.txt",
            "nan\n" * 32,
            r"line 1: found 'nan', expected a number",
        ),
    ],
)
def test_damaged_files_of_gest_are_refused(file: str, text: str, message: str, tmp_path: Path) -> None:
    folder = write_gest_scores(tmp_path)
    (folder / "gest" / file).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        data.scores("gest-masked-scores", data_dir=folder)


def test_stereoset_scores_by_hand(tmp_path: Path) -> None:
    """log of the score of the stereotype minus that of the anti-stereotype, in the order of the dataset."""
    folder = write_stereoset_scores(tmp_path)
    matrix = data.scores("stereoset-scores", data_dir=folder)
    assert matrix.models == ("bert-base-cased", "gpt2", "roberta-large")
    assert matrix.groups == ("masked", "causal", "masked")
    examples = json.loads((folder / "stereoset" / "dev.json").read_text())["data"]["intrasentence"]
    labels = [each["gold_label"] for example in examples for each in example["sentences"]]
    more, less = (labels.index(label) for label in ("stereotype", "anti-stereotype"))
    assert matrix.scores[1, 0, 0] == pytest.approx(math.log((2 + more) / (2 + less)))
    assert matrix.scores.shape == (3, len(examples), 1)


def test_published_scores_of_stereoset_have_the_sign_of_the_published_decisions(published: Path) -> None:
    matrix = data.scores("stereoset-scores", data_dir=published)
    file = published / "stereoset_predictions" / "predictions_gpt2_ModelNSP_GPT2LM.json"
    scores = {each["id"]: each["score"] for each in json.loads(file.read_text())["intrasentence"]}
    items = data.load("stereoset", data_dir=published).items
    known = [place for place, item in enumerate(items) if "id_more" in item.groups]
    assert len(known) > 1000
    ours = matrix.scores[1, known, 0] > 0
    theirs = [scores[items[place].groups["id_more"]] > scores[items[place].groups["id_less"]] for place in known]
    assert_array_equal(ours, theirs)


# ---------------------------------------------------------------------------------- your own tables

LONG = "model,item,template,score,category,direction,group\n"


def long_table(*rows: str) -> str:
    return LONG + "".join(f"{row}\n" for row in rows)


def test_a_table_in_long_form_by_hand(tmp_path: Path) -> None:
    rows = ["a,x,0,1.5,age,old,masked", "a,x,1,,age,old,masked", "b,y,0,-2,race,young,causal", "b,x,0,0,age,old,causal"]
    path = tmp_path / "My scores.csv"
    path.write_text(long_table(*rows), encoding="utf-8")
    assert data.is_scores(path)
    matrix = data.scores(path)
    assert (matrix.name, matrix.models, matrix.items, matrix.wordings) == (
        "my-scores",
        ("a", "b"),
        ("x", "y"),
        ("0", "1"),
    )
    nan = math.nan
    assert_array_equal(matrix.scores, [[[1.5, nan], [nan, nan]], [[0.0, nan], [-2.0, nan]]])
    assert matrix.categories == ("age", "race")
    assert matrix.directions == ("old", "young")
    assert matrix.groups == ("masked", "causal")


def test_parquet_and_other_names_of_the_wording(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table({"model": ["a", "b"], "item": [1, 1], "paraphrase": [1, 2], "score": [0.5, 1]}), path)
    matrix = data.scores(path)
    assert (matrix.items, matrix.wordings, matrix.categories, matrix.groups) == (("1",), ("1", "2"), (), ())
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"model": "a", "item": "x", "score": 1}\n', encoding="utf-8")
    assert data.scores(plain).wordings == ("",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,item\na,x\n", "line 2: no column 'score'"),
        (long_table("a,x,0,1,,,", "a,x,0,2,,,"), "line 3: a second score of 'a, x, 0'; keep one"),
        (long_table(",x,0,1,,,"), "line 2: model is '', expected its name"),
        (long_table("a,x,0,high,,,"), "line 2: score is 'high', expected a number"),
        (long_table("a,x,0,inf,,,"), "line 2: score is 'inf', expected a number"),
        (long_table("a,x,0,1,age,,", "b,x,0,1,race,,"), "line 3: category of 'x' is 'race', was 'age'"),
        (long_table("a,x,0,1,,one,", "a,y,0,1,,one,"), "found 1 directions, expected two, or none"),
        (
            "model,item,score,template,wording\na,x,1,0,0\n",
            "line 2: columns template and wording; expected one of them",
        ),
        ("model,item,score\n", "no rows; expected a table of scores"),
    ],
)
def test_a_damaged_table_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        data.scores(path)


def test_names_of_scores(tmp_path: Path) -> None:
    assert data.score_names() == ("gest-causal-scores", "gest-masked-scores", "stereoset-scores")
    assert data.is_scores("gest-masked-scores")
    assert not data.is_scores("crows-pairs")
    with pytest.raises(UnknownName, match="Did you mean gest-masked-scores"):
        data.scores("gest-masked-score")
    with pytest.raises(DataError, match=r"is scores of models, not a dataset of pairs: use unmask\.data\.scores"):
        data.load("gest-masked-scores")
    with pytest.raises(DataError, match="gest-masked-scores is not on this machine"):
        data.scores("gest-masked-scores", data_dir=tmp_path)
