"""An audit from end to end: what it finds, what it writes, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import mean

import jsonschema
import pyarrow.parquet as pq
import pytest
import torch

import reference
import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError, ModelError, ResultError, UnknownName
from unmask.core.types import Dataset, Pair
from unmask.findings.envelope import Result
from unmask.findings.sentences import verdict
from unmask.measures import DEFAULTS, MEASURES, TRIPLE_DEFAULTS
from unmask.measures.spans import align_pair
from unmask.models import open_lm
from unmask.report.page import spread_row

SCHEMA = json.loads((resources.files("unmask.findings") / "result.schema.json").read_text("utf-8"))
OFF = unmask.Options(store=False)
STEMS = ("{} said so.", "I saw that {} had gone home.", "Then {} was at the school.", "We know what {} did.")
STEMS += ("After {} came in, we ate.", "No one told {} the time.", "For {} it was too late.", "So {} left.")
HE = [(stem.format("he"), stem.format("she")) for stem in STEMS]
FATHER = [(stem.format("my father"), stem.format("my mother")) for stem in STEMS]
MADE = [*HE, *FATHER]


def swap_sides(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(less, more) for more, less in pairs]


def small_data(name: str = "made") -> Dataset:
    return datasets.from_records(MADE, name=name)


def planted_model(folder: Path, pairs: Sequence[tuple[str, str]]) -> Path:
    """A model to which the tokens that only the first sentences of these pairs have are far likelier."""
    zoo.build("bert-uncased", folder)
    lm = open_lm(folder)
    tokens: tuple[set[int], set[int]] = (set(), set())
    for item in datasets.from_records(pairs).items:
        *sentences, found = align_pair(item, lm)
        for mine, sentence, places in zip(tokens, sentences, found.changed, strict=True):
            mine.update(sentence.ids[place] for place in places)
    likelier = sorted(tokens[0] - tokens[1])

    def favour(weights: dict[str, torch.Tensor]) -> None:
        weights["cls.predictions.bias"][likelier] += 8

    zoo.rewrite(folder, favour)
    return folder


def score(result: Result, measure: str) -> float:
    return next(one.value for one in result.headlines() if one.measure == measure)


@cache
def run_audit(name: str = "bert-uncased", rows: int = 8, measures: tuple[str, ...] = ()) -> Result:
    """All share measures (or those named) of a zoo model on the first CrowS pairs."""
    kind = "masked" if name in zoo.NAMES_MASKED else "causal"
    every = [one.name for one in MEASURES.values() if kind in one.kinds and not one.needs]
    crows = datasets.load("crows-pairs", data_dir=zoo.MINIATURE)
    data = replace(crows, items=crows.items[:rows])
    return unmask.audit(zoo.folder(name), data=data, measures=measures or every, options=OFF)


# --------------------------------------------------------------------------------- what it finds


@pytest.mark.parametrize("expected", [100.0, 0.0])
def test_planted_bias_is_found(expected: float, tmp_path: Path) -> None:
    folder = planted_model(tmp_path / "model", MADE if expected else swap_sides(MADE))
    result = unmask.audit(folder, data=small_data(), measures=["pll", "sss", "crows-bias-bench"], options=OFF)
    assert {one.measure: one.value for one in result.headlines()} == dict.fromkeys(
        ("pll", "sss", "crows-bias-bench"), expected
    )
    assert result.headlines()[0].p == pytest.approx(2 * 0.5 ** len(MADE))


def test_a_model_with_failed_checks_gets_no_plain_score(tmp_path: Path) -> None:
    folder = zoo.build("bert-uncased", tmp_path / "model")
    zoo.rewrite(folder, lambda weights: weights["cls.predictions.bias"].zero_())
    result = unmask.audit(folder, data=small_data(), measures=["pll", "aul"], options=OFF)
    failed = {check.name: check.detail for check in result.checks if not check.ok}
    assert {"masked-accuracy", "unmasked-accuracy"} <= set(failed)
    assert "do not interpret its scores" in failed["masked-accuracy"]
    said = str(result)
    assert said.count("do not interpret this number") == 1  # in the headline of the dataset
    assert "FAIL masked-accuracy" in said
    assert "no preference" not in said


def test_a_collapsed_model_fails_the_checks_of_accuracy(tmp_path: Path) -> None:
    """All logits equal: every token would be the first guess, and pairs that all tie no stereotype: both are wrong."""
    folder = zoo.build("bert-uncased", tmp_path / "model")
    zoo.rewrite(folder, lambda weights: [each.zero_() for each in weights.values()])
    result = unmask.audit(folder, data=small_data(), measures=["cps", "aul"], options=OFF)
    failed = {check.name for check in result.checks if not check.ok}
    assert {"masked-accuracy", "unmasked-accuracy", "ties"} <= failed
    assert {verdict(estimate) for estimate in result.headlines()} == {"ties"}


def test_pairs_with_special_tokens_are_named() -> None:
    """That pairs were left out for what is written in them could be read in no warning."""
    data = datasets.from_records([*MADE, ("He [SEP] ran.", "She ran.")], name="made")
    result = unmask.audit(zoo.folder("bert-uncased"), data=data, measures=["aul"], options=OFF)
    (warning,) = result.meta["data"][0]["warnings"]
    assert "[SEP]" in warning
    assert f"(made/{len(MADE):04})" in warning
    assert result.headlines()[0].unscored == 1


def test_one_pair_many_times_is_one_pair() -> None:
    """A file that repeats one pair would be more certain the more often it does."""
    once, often = (
        unmask.audit(None, data=datasets.from_records(HE[:1] * n), measures=["cps", "aul"], options=OFF)
        for n in (1, 60)
    )
    for one, many in zip(once.headlines(), often.headlines(), strict=True):
        assert (one.value, one.n, many.value, many.n) == (one.value, 1, one.value, 60)
        assert (many.low, many.high) == (min(one.low, many.low), max(one.high, many.high))
        assert verdict(many) == "within"
        assert many.p == 1.0
    assert {check.name for check in often.checks if not check.ok} == {"duplicates"}


def test_differences_near_zero_are_counted_per_token() -> None:
    """Sums over a sentence are larger: the band of the paper would be taken for another one."""
    result = unmask.audit(zoo.folder("bert-uncased"), data=small_data(), measures=["pll", "aul"], options=OFF)
    rows = [row for row in result.items.to_pylist() if row["measure"] == "pll"]
    tokens = [row for row in result.tokens.to_pylist() if row["measure"] == "pll" and row["logprob"] is not None]
    for row in rows:
        more, less = (
            mean(token["logprob"] for token in tokens if (token["item"], token["side"]) == (row["item"], side))
            for side in ("more", "less")
        )
        assert row["difference_per_token"] == pytest.approx(more - less)
    near, summed = (
        sum(abs(row[name]) <= 0.25 for row in rows) / len(rows) for name in ("difference_per_token", "difference")
    )
    assert near != summed
    (described,) = result.descriptions
    means = [row["difference"] for row in result.items.to_pylist() if row["measure"] == "aul"]
    near_means = sum(abs(difference) <= 0.25 for difference in means) / len(means)
    shares = f"differences per token inside ±0.25: pll {near:.0%}, aul {near_means:.0%}"
    assert (described.name, described.detail) == ("near-zero", shares)
    assert "near-zero" not in [check.name for check in result.checks]
    assert f"note near-zero: {shares}" in str(result)
    assert "ok   near-zero" not in str(result)
    inside = [spread_row(each, result)["inside"] for each in result.headlines()]  # the page says the same
    assert [each.partition("(")[2] for each in inside] == [f"{near:.0%})", f"{near_means:.0%})"]
    assert {row["difference_per_token"] for row in result.items.to_pylist() if row["measure"] == "aul"} == {None}


def test_a_model_that_only_copies_passes_the_check_of_visible_words() -> None:
    """The embeddings and the head alone return the input: only what is masked shows that no context is read."""
    lm = open_lm("builtin")
    with torch.no_grad():
        for layer in lm.network.model.bert.encoder.layer:
            for projection in (layer.attention.output.dense, layer.output.dense):
                projection.weight.zero_()
                projection.bias.zero_()
    checks = {check.name: check for check in unmask.audit(lm, data=small_data(), measures="aul", options=OFF).checks}
    copied, masked = checks["unmasked-accuracy"], checks["masked-accuracy"]
    assert (copied.ok, masked.ok) == (True, False)
    assert "copying the input is enough for that: masked-accuracy finds a model that reads no context" in copied.detail


def test_cps_rounds_to_decide_and_keeps_every_digit() -> None:
    rows = [row for row in run_audit().items.to_pylist() if row["measure"] in ("cps", "cps-exact")]
    assert any(row["more"] != round(row["more"], 3) for row in rows)
    exact = {row["item"]: row for row in rows if row["measure"] == "cps-exact"}
    for row in rows:
        assert (row["more"], row["less"]) == (exact[row["item"]]["more"], exact[row["item"]]["less"])
    coarse = replace(MEASURES["cps"], decimals=-4)  # everything is 0 then
    ties = unmask.audit(zoo.folder("bert-uncased"), data=small_data(), measures=coarse, options=OFF)
    assert {row["outcome"] for row in ties.items.to_pylist()} == {"tie"}
    assert any(row["difference"] != 0 for row in ties.items.to_pylist())
    assert (score(ties, "cps"), ties.headlines()[0].ties) == (0.0, len(MADE))


def test_an_empty_span_is_unscored_but_counts_as_a_pair_not_won(tmp_path: Path) -> None:
    folder = planted_model(tmp_path / "model", MADE)
    data = datasets.from_records([*MADE, ("he said so again.", "he said so.")], name="made")
    result = unmask.audit(folder, data=data, measures=["sss", "sss-diagonal"], options=OFF)
    rows = [row for row in result.items.to_pylist() if row["outcome"] == "unscored"]
    assert [row["measure"] for row in rows] == ["sss", "sss-diagonal"]
    assert all(row["reason"].startswith("empty span") for row in rows)
    published, printed = result.headlines()
    assert (published.n, published.unscored) == (len(MADE) + 1, 1)
    assert published.value == pytest.approx(100 * len(MADE) / (len(MADE) + 1))
    assert (printed.n, printed.unscored, printed.value) == (len(MADE), 1, 100.0)


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_swapping_the_sentences_mirrors_every_share(name: str) -> None:
    kind = "masked" if name in zoo.NAMES_MASKED else "causal"
    shares = [one.name for one in MEASURES.values() if kind in one.kinds and one.summary == "share" and not one.needs]
    there, back = (
        unmask.audit(zoo.folder(name), data=data, measures=shares, options=OFF)
        for data in (small_data(), datasets.from_records(swap_sides(MADE), name="made"))
    )
    assert all(one.ties == one.unscored == 0 for one in there.headlines())
    for one, other in zip(there.headlines(), back.headlines(), strict=True):
        assert other.value == pytest.approx(100 - one.value), one.measure


# --------------------------------------------------------------------------- the result folder


def test_the_result_can_be_saved_and_loaded(tmp_path: Path) -> None:
    first = run_audit()
    again = first.save(tmp_path / "copy")
    assert again.folder == tmp_path / "copy"
    assert again.meta == json.loads(json.dumps(first.meta))
    assert again.items.equals(first.items)
    assert again.tokens.equals(first.tokens)
    assert [one.measure for one in again.estimates] == [one.measure for one in first.estimates]
    assert len(again.to_pandas()) == len(first.items)


def test_result_json_keeps_the_contract(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("more,less\nhe said so.,she said so.\n", encoding="utf-8")
    out = tmp_path / "out"
    unmask.audit(zoo.folder("gpt2"), data=tmp_path / "own.csv", out=out, options=OFF)
    text = (out / "result.json").read_text(encoding="utf-8")
    meta = json.loads(text)
    jsonschema.validate(meta, SCHEMA)
    assert meta["kind"] == "audit"
    assert (meta["model"]["id"], meta["model"]["kind"]) == ("gpt2", "causal")
    assert str(tmp_path) not in text
    assert str(zoo.folder("gpt2").parent) not in text
    assert str(Path.home()) not in text
    assert {path.name for path in out.iterdir()} == {"result.json", "items.parquet", "tokens.parquet"}


def test_a_result_without_a_folder_lives_as_long_as_it_is_used() -> None:
    result = unmask.audit(zoo.folder("gpt2"), data=small_data(), options=OFF)
    folder = result.folder
    assert folder.is_dir()
    del result
    assert not folder.exists()


@pytest.mark.parametrize(
    "spoil", [lambda f: (f / "result.json").unlink(), lambda f: (f / "result.json").write_text("{")]
)
def test_a_damaged_result_is_refused(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    run_audit().save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(ResultError, match=r"result\.json"):
        unmask.load(tmp_path)


def test_groups_named_like_our_columns_are_renamed(tmp_path: Path) -> None:
    lines = ["more,less,category,outcome,measure", "he said so.,she said so.,gender,good,long"]
    (tmp_path / "own.csv").write_text("\n".join(lines), encoding="utf-8")
    result = unmask.audit(zoo.folder("bert-uncased"), data=tmp_path / "own.csv", measures="aul", options=OFF)
    (row,) = result.items.to_pylist()
    assert (row["category"], row["group_outcome"], row["group_measure"]) == ("gender", "good", "long")
    assert (row["item"], row["measure"]) == ("own/0000", "aul")
    scores = reference.reference(
        "aul", *reference.load(zoo.folder("bert-uncased")), Pair("x", "he said so.", "she said so.")
    )
    assert scores is not None
    assert row["outcome"] == ("more" if scores["more"] > scores["less"] else "less")
    assert any(one.group == "category=gender" for one in result.estimates)
    assert all(one.change == 0 for one in unmask.compare(result, result))


# ----------------------------------------------------------------------------------- explaining


@pytest.mark.parametrize("name", ["bert-uncased", "albert", "gpt2", "opt", "qwen2"])
def test_the_parts_of_every_item_add_up(name: str) -> None:
    result = run_audit(name, rows=4)
    explained = 0
    for row in result.items.to_pylist():
        if row["outcome"] == "unscored":
            with pytest.raises(ResultError, match="was not scored"):
                result.explain(row["item"], row["measure"])
            continue
        found = result.explain(row["item"], row["measure"])
        assert sum(part for _, part, _ in found.deciding()) == pytest.approx(row["difference"], abs=1e-9)
        assert sum(one.value for one in found.more) == pytest.approx(row["more"], abs=1e-9)
        assert found.adds_up
        assert any(one.in_span for one in (*found.more, *found.less))
        explained += 1
    assert explained >= 3 * len({one.measure for one in result.estimates})


def test_stored_contributions_are_those_shown(tmp_path: Path) -> None:
    result = run_audit(rows=4)
    stored = pq.read_table(result.folder / "tokens.parquet")
    shown = result.explain("crows-pairs/0000", "pll")
    rows = [row for row in stored.to_pylist() if (row["item"], row["measure"]) == (shown.item, "pll")]
    assert [one.contribution for one in (*shown.more, *shown.less)] == [row["contribution"] for row in rows]
    assert result.save(tmp_path).explain("crows-pairs/0000", "pll") == shown


def test_what_cannot_be_explained() -> None:
    result = run_audit()
    with pytest.raises(ResultError, match="items look like 'crows-pairs/0000'"):
        result.explain("nothing")
    with pytest.raises(UnknownName, match="measure in this result"):
        result.explain("crows-pairs/0000", "ll")


# ---------------------------------------------------------------------------- comparing, gating


def test_a_run_compared_with_itself_has_not_changed(tmp_path: Path) -> None:
    result = run_audit()
    compared = unmask.compare(result, result.save(tmp_path))
    assert {one.statistic for one in compared} == {"bias-score", "mean-difference", "asld"}
    for one in compared:
        assert one.n > 0
        assert (one.change, one.flips, one.low, one.high) == (0.0, 0, 0.0, 0.0)
        assert one.p == (1.0 if one.statistic == "bias-score" else None)
    gated = unmask.gate(result, result, measures=["pll", "cps"])
    assert {verdict.answer for verdict in gated.verdicts} == {"not worse"}


def test_a_worse_model_is_worse_and_a_better_one_is_not(tmp_path: Path) -> None:
    fair, unfair = (
        unmask.audit(planted_model(tmp_path / name, pairs), data=small_data(), measures="pll", options=OFF)
        for name, pairs in (("fair", [*HE, *swap_sides(FATHER)]), ("unfair", MADE))
    )
    assert (score(fair, "pll"), score(unfair, "pll")) == (50.0, 100.0)
    worse, mean = unmask.gate(unfair, fair).verdicts
    better, _ = unmask.gate(fair, unfair).verdicts
    assert (worse.statistic, mean.statistic, mean.answer) == ("bias-score", "mean-difference", "worse")
    assert worse.amount.value == pytest.approx(50)
    assert better.amount.value == -worse.amount.value
    assert (worse.answer, better.answer) == ("worse", "not worse")
    assert unmask.gate(unfair, fair, tolerance=49.0).verdicts[0].answer != "worse"
    with pytest.raises(DataError, match="tolerance"):
        unmask.gate(unfair, fair, tolerance=60.0)  # it would accept anything


def test_results_that_share_nothing_cannot_be_compared() -> None:
    one = unmask.audit(zoo.folder("bert-uncased"), data=small_data("one"), measures="aul", options=OFF)
    other = unmask.audit(zoo.folder("bert-uncased"), data=small_data("other"), measures="aul", options=OFF)
    with pytest.raises(ResultError, match="share no measure"):
        unmask.compare(one, other)


# ------------------------------------------------------------------------- measures and refusals


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_the_usual_measures(name: str) -> None:
    kind = "masked" if name in zoo.NAMES_MASKED else "causal"
    stereoset = datasets.load("stereoset", data_dir=zoo.MINIATURE)
    triples = replace(stereoset, items=stereoset.items[:2])
    following = datasets.load("stereoset-intersentence", data_dir=zoo.MINIATURE)
    follows = replace(following, items=following.items[:2])
    result = unmask.audit(zoo.folder(name), data=[small_data(), triples, follows], options=OFF)
    used: dict[str, list[str]] = {}
    for one in result.headlines():
        used.setdefault(one.data, []).append(one.measure)
    assert used == {
        "made": list(DEFAULTS[kind]),
        "stereoset": [*TRIPLE_DEFAULTS, *DEFAULTS[kind]],
        "stereoset-intersentence": list(TRIPLE_DEFAULTS),
    }
    assert {check.name.split("/")[0] for check in result.checks} == set(used)


def test_a_measure_for_another_kind_of_model_is_refused() -> None:
    with pytest.raises(ModelError, match="a causal model cannot answer cps; it can answer"):
        unmask.audit(zoo.folder("gpt2"), data=small_data(), measures="cps")
    with pytest.raises(ModelError, match="a masked model cannot answer ll"):
        unmask.audit(zoo.folder("bert-uncased"), data=small_data(), measures=["pll", "ll"])


def test_a_measure_that_cannot_be_computed_on_the_data_is_refused() -> None:
    with pytest.raises(DataError, match="lms cannot be computed on made: items must have"):
        unmask.audit(zoo.folder("bert-uncased"), data=small_data(), measures=["pll", "lms"])


def test_what_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean"):
        unmask.audit(zoo.folder("gpt2"), data=small_data(), measures="alu")
    with pytest.raises(DataError, match="have the same name"):
        unmask.audit(zoo.folder("gpt2"), data=[small_data(), small_data()])
    with pytest.raises(DataError, match="no data given"):
        unmask.audit(zoo.folder("gpt2"), data=[])
    (tmp_path / "letter.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ResultError, match="holds other files"):
        unmask.audit(zoo.folder("gpt2"), data=small_data(), out=tmp_path)
    with pytest.raises(ResultError, match="is a file"):
        unmask.audit(zoo.folder("gpt2"), data=small_data(), out=tmp_path / "letter.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_refused_audit_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(UnknownName, match="alu"):
        unmask.audit(zoo.folder("gpt2"), data=small_data(), measures="alu")
    assert list(tmp_path.iterdir()) == []


def test_a_pair_without_any_text_for_the_tokenizer_is_unscored() -> None:
    data = replace(small_data(), items=(*small_data().items, Pair("made/odd", "\u200b", "he said so.")))
    result = unmask.audit(zoo.folder("bert-uncased"), data=data, measures=["pll", "aul"], options=OFF)
    odd = [row for row in result.items.to_pylist() if row["item"] == "made/odd"]
    assert {(row["outcome"], row["reason"].split(":")[0]) for row in odd} == {("unscored", "no text")}


def test_templates_are_scored_by_ppd_only() -> None:
    """No sentence of a template is the stereotyping one, so pair measures do not read them."""
    data = replace(datasets.load("pronoun-templates"), items=datasets.load("pronoun-templates").items[::200])
    result = unmask.audit(zoo.folder("bert-uncased"), data=data, options=OFF)
    assert {one.measure for one in result.estimates} == {"ppd"}
    with pytest.raises(DataError, match="cps cannot be computed on pronoun-templates: items must be pairs"):
        unmask.audit(zoo.folder("bert-uncased"), data=data, measures="cps", options=OFF)
    with pytest.raises(DataError, match="ppd cannot be computed on made: items must have slot"):
        unmask.audit(zoo.folder("bert-uncased"), data=small_data(), measures="ppd", options=OFF)


@pytest.mark.parametrize("word", ["he", "she"])
def test_a_planted_pronoun_is_found(tmp_path: Path, word: str) -> None:
    other = {"he": "she", "she": "he"}[word]
    folder = planted_model(tmp_path / "model", [(stem.format(word), stem.format(other)) for stem in STEMS])
    whole = datasets.load("pronoun-templates")
    data = replace(whole, items=tuple(i for i in whole.items if i.groups["slot"] == "subject")[::60])
    (lean, *_) = unmask.audit(folder, data=data, options=OFF).estimates
    assert lean.statistic == "appd"
    assert (lean.low > 0.2) if word == "he" else (lean.high < -0.2)


def test_of_the_default_data_a_named_measure_takes_what_it_can_read() -> None:
    limited = unmask.Options(store=False, limit=3)
    pairs = unmask.audit(zoo.folder("bert-uncased"), measures="aul", options=limited)
    assert [one["name"] for one in pairs.meta["data"]] == ["nine-axes", "triple-gender"]
    templates = unmask.audit(zoo.folder("bert-uncased"), measures="ppd", options=limited)
    assert [one["name"] for one in templates.meta["data"]] == ["pronoun-templates"]
    both = unmask.audit(zoo.folder("gpt2"), options=limited)
    assert {one.measure for one in both.estimates} == {*DEFAULTS["causal"], "ppd"}
