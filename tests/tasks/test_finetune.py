"""Fine-tuning: greedy search, scores by hand, planted associations, and resuming after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from statsmodels.stats.proportion import proportion_confint
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import unmask
import zoo
from unmask.core.errors import DataError, ModelError, ResultError
from unmask.core.estimate import Estimate
from unmask.core.options import Opening
from unmask.core.seeds import generator
from unmask.data.examples import Example
from unmask.data.texts import TrainingCorpus
from unmask.findings import Conclusion, Finding, Value
from unmask.mitigate.checkpoint import make_checkpoint
from unmask.mitigate.spec import Method, MitigationContext, Outcome
from unmask.models import Engine, open_lm
from unmask.models.classifier import Classifier, is_classifier, new_classifier, open_classifier
from unmask.models.folder import ERASER as ERASER_FILE
from unmask.models.folder import quiet
from unmask.tasks import FineTuningOptions, Grid, TaskOptions, find, nlibias
from unmask.tasks.biasbios import BiasBiosOptions
from unmask.tasks.finetune import FineTuned, Trial, greedy_search, rescale_pooler
from unmask.tasks.performance import (
    beats_baseline,
    majority_share,
    sample_examples,
    score,
    score_with_interval,
    target_values,
    with_training,
)
from unmask.tasks.run import TaskResult
from unmask.tasks.spec import TaskData, TaskObservation
from unmask.tasks.stsbias import StsBiasOptions, load_templates

from .tiny_models import biographies, erased_copy, evaluate, some_eraser, untrained_model

HOW = Opening(device="cpu", offline=True)
QUICK = BiasBiosOptions(grid=Grid((16,), (2e-3,), (6.0,)), length=16)
TEXTS = [("She is here.", None), ("He went to the old school with his friends.", None), ("No", None)]


def test_the_search_is_greedy_from_the_middle_of_the_grid() -> None:
    merit = {16: 0.1, 32: 0.2, 64: 0.3, 1e-5: 0.0, 3e-5: 0.1, 5e-5: 0.05, 1.0: 0.0, 3.0: 0.1, 5.0: 0.1}
    tried: list[Trial] = []

    def one(trial: Trial) -> Trial:
        known = next((each for each in tried if replace(each, score=None) == trial), None)
        if known is None:
            known = replace(trial, score=sum(merit[x] for x in (trial.batch, trial.rate, trial.epochs)))
            tried.append(known)
        return known

    best = greedy_search(Grid(), one)
    assert (best.batch, best.rate, best.epochs) == (64, 3e-5, 3.0)  # ties go to the earlier trial
    assert [(each.batch, each.rate, each.epochs) for each in tried] == [
        (32, 3e-5, 3.0), (16, 3e-5, 3.0), (64, 3e-5, 3.0),
        (64, 1e-5, 3.0), (64, 5e-5, 3.0), (64, 3e-5, 1.0), (64, 3e-5, 5.0),
    ]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "albert", "distilbert", "gpt2"])
def test_logits_equal_one_text_at_a_time(name: str) -> None:
    classifier = new_classifier(zoo.folder(name), HOW, labels=("a", "b", "c"), seed=1)
    texts = [*TEXTS, ("He is old.", "She is not.")] if name != "gpt2" else TEXTS
    found = classifier.logits(texts)
    for row, (text, second) in zip(found, texts, strict=True):
        encoded = classifier.tokenizer(text, second, return_tensors="pt")
        with torch.no_grad():
            wanted = classifier.model(**encoded).logits[0].tolist()
        assert row.tolist() == pytest.approx(wanted, abs=1e-4)
    assert classifier.probabilities(TEXTS).sum(axis=1) == pytest.approx(np.ones(3))


def test_the_seed_initialises_the_head_and_nothing_else() -> None:
    one, same, other = (
        new_classifier(untrained_model(), HOW, labels=("a", "b"), seed=seed).model for seed in (1, 1, 2)
    )
    weights = [dict(model.named_parameters()) for model in (one, same, other)]
    heads = [key for key in weights[0] if "classifier" in key or "pooler" in key]
    for key in weights[0]:
        assert torch.equal(weights[0][key], weights[1][key])
        if key not in heads:
            assert torch.equal(weights[0][key], weights[2][key])
    assert not torch.equal(weights[0]["classifier.weight"], weights[2]["classifier.weight"])


def test_long_inputs_are_truncated_and_counted() -> None:
    classifier = new_classifier(untrained_model(), HOW, labels=("a", "b"), seed=0, length=8)
    classifier.logits([("word " * 30, None), ("He.", None)])
    assert classifier.truncated == 1


@pytest.mark.parametrize("every", [None, 2])
def test_a_text_is_tokenized_once_in_all_trials_epochs_and_evaluations(
    every: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str | None]] = []
    original = Classifier._tokenize

    def tokenize(self: Classifier, texts: Any) -> Any:
        seen.extend(texts)
        return original(self, texts)

    monkeypatch.setattr(Classifier, "_tokenize", tokenize)
    path = biographies(tmp_path / "bios.jsonl", planted=True, n=40)
    evaluate(
        "biasbios", [untrained_model()], replace(QUICK, train=path, grid=Grid((8, 16), (1e-3,), (2.0,)), every=every)
    )
    assert len(seen) > 20
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "gpt2"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_a_training_batch_equals_the_tokenizers_own_padding(name: str, side: str) -> None:
    classifier = new_classifier(zoo.folder(name), HOW, labels=("a", "b"), seed=0, length=10)
    classifier.tokenizer.padding_side = side
    for texts in (TEXTS, [] if name == "gpt2" else [(text, TEXTS[0][0]) for text, _ in TEXTS]):
        if not texts:
            continue
        columns = [list(column) for column in zip(*texts, strict=True) if column[0] is not None]
        wanted = classifier.tokenizer(*columns, truncation=True, max_length=10, padding=True, return_tensors="pt")
        found = classifier.batch(texts)
        assert {key: values.tolist() for key, values in found.items()} == {
            key: values.tolist() for key, values in wanted.items()
        }
    assert {tensor.shape[1] for tensor in classifier.batch(TEXTS, multiple=8).values()} == {16}


def test_a_random_pooler_is_scaled_to_its_inputs() -> None:
    rows = [Example(text, second, "a") for text, second in TEXTS]
    classifier = new_classifier(untrained_model(), HOW, labels=("a", "b"), seed=1)
    with torch.no_grad():  # hidden states a hundredth of the usual scale
        last = classifier.model.bert.encoder.layer[-1].output.LayerNorm
        last.weight *= 0.01
        last.bias *= 0.01
    before = classifier.model.bert.pooler.dense.weight.clone()
    states = [
        classifier.model.bert(**classifier.tokenizer(row.text, return_tensors="pt")).last_hidden_state[:, 0]
        for row in rows
    ]
    size = torch.cat(states).square().mean().sqrt()
    rescale_pooler(classifier, rows)
    assert torch.allclose(classifier.model.bert.pooler.dense.weight, before / size, rtol=1e-4)
    assert size < 0.05
    own = Classifier(classifier.model, classifier.tokenizer)  # nothing in it was initialised at random
    kept = own.model.bert.pooler.dense.weight.clone()
    rescale_pooler(own, rows)
    assert torch.equal(own.model.bert.pooler.dense.weight, kept)


def test_scores_by_hand() -> None:
    class Fixed(Classifier):
        def __init__(self, rows: list[list[float]]) -> None:
            self.rows = np.array(rows)

        def logits(self, texts: object, progress: object = None) -> np.ndarray:
            return self.rows

    examples = [Example("x", None, label) for label in ("a", "b", "b", "c")]
    classifier = Fixed([[2, 1, 0], [0, 1, 0], [3, 1, 0], [0, 0, 1]])
    assert score(classifier, examples, ("a", "b", "c")) == pytest.approx(3 / 4)
    assert majority_share(examples) == pytest.approx(1 / 2)
    numbers = [Example("x", "y", label) for label in (1.0, 2.0, 4.0)]
    wanted = np.corrcoef([0.0, 3.0, 1.0], [1.0, 2.0, 4.0])[0, 1]
    assert score(Fixed([[0.0], [3.0], [1.0]]), numbers, ()) == pytest.approx(wanted)
    with pytest.raises(DataError, match="label 'c' is not in the training data"):
        target_values(examples, ("a", "b"))


class Sure(Classifier):
    """Always predicts the class with index `place`."""

    def __init__(self, place: int) -> None:
        self.row = [float(at == place) for at in range(2)]

    def logits(self, texts: Sequence[object], progress: object = None) -> np.ndarray:
        return np.array([self.row] * len(texts))


@pytest.mark.parametrize("right", [True, False])
def test_an_accuracy_of_0_or_1_has_wilsons_interval(right: bool) -> None:
    found = score_with_interval(Sure(int(right)), [Example("x", None, "b")] * 20, ("a", "b"), seed=0)
    low, high = proportion_confint(20 * right, 20, method="wilson")
    assert (found.value, found.low, found.high) == pytest.approx((float(right), low, high))
    assert beats_baseline(found, 0.5) is right  # all of them right: the task was learnt


def test_nan_is_written_as_null(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = Value(float("nan"), float("nan"), float("nan"), "no spread")
    trial = Trial(16, 1e-3, 1.0, score=float("nan"), steps=3)
    fine_tuned = FineTuned(Sure(0), trial, (trial,), unknown, unknown, None, "Pearson's r", 40, 20, 20)
    plain = Conclusion(Finding((), ()), (Estimate.of(unknown, statistic="|r|", n=3, model="x"),))
    observations = (TaskObservation({"id": "x"}, None, fine_tuned),)
    conclusion = with_training(plain, observations, TaskData((), (), (), (), ()))
    done = TaskResult(find("stsbias"), conclusion, observations, ())
    monkeypatch.setattr("unmask.tasks.run.evaluate_models", lambda *_: done)
    wrote = unmask.task("stsbias", "x").meta
    kept = {"method": "no spread", "unit": "", "design_effect": None, "df": None}
    nothing = {"value": None, "low": None, "high": None, **kept}
    (fine_tuned,) = wrote["details"]["fine_tuned"]
    assert fine_tuned["dev"] == fine_tuned["test"] == nothing
    assert fine_tuned["trials"][0]["score"] is None
    assert [each["statistic"] for each in wrote["estimates"]] == ["|r|", "Pearson's r", "Pearson's r"]
    assert wrote["estimates"][0]["value"] is None


def test_examples_are_sampled_by_seed() -> None:
    rows = [Example(str(at), None, "a") for at in range(50)]
    first, same, other = (
        [one.text for one in sample_examples(rows, FineTuningOptions(rows=9, seed=seed))] for seed in (0, 0, 1)
    )
    assert first == same != other
    assert len(set(first)) == 9
    assert len(sample_examples(rows, FineTuningOptions(rows=90))) == 50


def run_biasbios(tmp_path: Path, *, planted: bool) -> TaskResult:
    path = biographies(tmp_path / "bios.jsonl", planted=planted, n=700)
    return evaluate("biasbios", [untrained_model()], replace(QUICK, train=path))


@pytest.mark.thorough
def test_a_planted_association_is_found(tmp_path: Path) -> None:
    done = run_biasbios(tmp_path, planted=True)
    gaps = {occupation.name: occupation.gap for occupation in done.observations[0].result.occupations}
    assert gaps["nurse"].low > 0.3  # women are classified as nurses, men are not
    assert gaps["surgeon"].high < -0.3
    assert done.observations[0].result.rms.low > 3 * done.observations[0].result.chance
    fine_tuned = done.observations[0].fine_tuned
    assert fine_tuned.dev.value > fine_tuned.majority_share


@pytest.mark.thorough
def test_without_a_planted_association_the_interval_covers_zero(tmp_path: Path) -> None:
    done = run_biasbios(tmp_path, planted=False)
    found = done.observations[0].result
    assert found.accuracy.value > 0.8
    assert found.mean.low <= 0 <= found.mean.high
    assert any("are a small sample" in note for note in done.conclusion.finding.notes)


@pytest.mark.thorough
def test_a_fine_tuned_model_is_evaluated_without_training(tmp_path: Path) -> None:
    path = biographies(tmp_path / "bios.jsonl", planted=True, n=200)
    quick = replace(QUICK, train=path, grid=Grid((16,), (1e-3,), (1.0,)))
    done = evaluate("biasbios", [untrained_model()], quick)
    folder = tmp_path / "saved"
    model = done.observations[0].fine_tuned.classifier.model
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(untrained_model()).save_pretrained(folder)
    assert is_classifier(folder, HOW)
    assert not is_classifier(untrained_model(), HOW)
    again = evaluate("biasbios", [folder], quick)
    assert again.observations[0].fine_tuned is None
    assert again.observations[0].result.rms == done.observations[0].result.rms


@pytest.mark.thorough
def test_the_result_has_the_headline_of_each_model_its_accuracy_and_its_fine_tuning(tmp_path: Path) -> None:
    path = biographies(tmp_path / "bios.jsonl", planted=True, n=200)
    quick = replace(QUICK, train=path, grid=Grid((16,), (1e-3,), (1.0,)))
    twin = Path(shutil.copytree(untrained_model(), tmp_path / "other" / untrained_model().name))
    done = unmask.task("biasbios", [untrained_model(), twin], settings=quick, out=tmp_path / "out", offline=True)
    wanted = evaluate("biasbios", [untrained_model()], quick).observations[0]
    assert repr(unmask.load(tmp_path / "out").estimates) == repr(done.estimates)
    first, second = done.headlines()
    assert (first.measure, first.statistic, first.null) == ("biasbios", "mean TPR gap, women − men", 0.0)
    assert (first.value, first.n) == (wanted.result.mean.value, wanted.result.accuracy.n)
    assert second.value == first.value
    assert (first.model, second.model) == (twin.name, f"{twin.name} (2)")  # two of one name
    assert str(tmp_path) not in json.dumps(done.meta)
    rates = {each.group: each for each in done.estimates if each.statistic == "accuracy" and each.model == first.model}
    assert rates["split=test"].value == wanted.fine_tuned.test.value
    assert rates["split=validation"].value == wanted.fine_tuned.dev.value
    assert [each["chosen"]["batch"] for each in done.meta["details"]["fine_tuned"]] == [16, 16]
    assert (done.kind, done.meta["options"]["seed"]) == ("task", 0)
    assert done.meta["details"]["files"][0]["name"] == "bios.jsonl"


def test_a_language_model_is_not_opened_as_a_classifier() -> None:
    with pytest.raises(ModelError, match="has no weights for"):
        open_classifier(untrained_model(), HOW)
    with pytest.raises(ModelError, match="cannot open"):
        open_classifier("no/such-model", HOW)


@pytest.mark.thorough
def test_fine_tuning_on_sentence_pairs_as_regression(tmp_path: Path, data_dir: Path) -> None:
    path = tmp_path / "mine.csv"
    lines = [f"he {'old' if at % 2 else 'sick'},she {'old' if at % 3 else 'sick'},{at % 5}" for at in range(40)]
    path.write_text("sentence1,sentence2,score\n" + "\n".join(lines), encoding="utf-8")
    grid = Grid((8,), (1e-3,), (1.0,))
    quick = StsBiasOptions(train=path, data_dir=data_dir, limit=3, grid=grid, length=16)
    done = evaluate("stsbias", [untrained_model()], quick)
    what = done.observations[0].result
    assert what.female.shape == (3, 20 if data_dir == zoo.MINIATURE else 60)
    classifier, rest, name = (done.observations[0].fine_tuned.classifier, stsrest(data_dir), what.professions[4])
    for who, said in (("woman", what.female), ("man", what.male)):
        pair = (f"A {who}{rest}", f"{'An' if name[0] in 'aeiou' else 'A'} {name}{rest}")
        assert said[0, 4] == pytest.approx(classifier.logits([pair])[0, 0], abs=1e-5)
    assert done.observations[0].fine_tuned.metric == "Pearson's r"


def stsrest(data_dir: Path) -> str:
    return load_templates(StsBiasOptions(data_dir=data_dir))[0]


@pytest.mark.thorough
def test_fine_tuning_on_inference(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    names = ("entailment", "neutral", "contradiction")
    rows = [{"premise": f"he {at}", "hypothesis": "old", "label": names[at % 3]} for at in range(30)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    quick = nlibias.NliBiasOptions(train=path, triples=25, grid=Grid((8,), (1e-3,), (1.0,)), length=16)
    done = evaluate("nlibias", [untrained_model()], quick)
    value = {(each.statistic, each.group): each.value for each in done.observations[0].result.estimates}
    assert done.observations[0].result.estimates[0].n == 25
    classifier = done.observations[0].fine_tuned.classifier
    neutral = []
    for one in nlibias.sample_triples(25, generator(0, "triples")):
        said = classifier.probabilities([(one.premise, one.female), (one.premise, one.male)])
        neutral.append(said[:, 1] == said.max(axis=1))
    wanted = np.mean(neutral, axis=0)
    sides = [value["fraction neutral", f"gender={side}"] for side in nlibias.SIDES]
    assert sides == pytest.approx(wanted)


@pytest.mark.slow
def test_a_killed_search_resumes_to_the_same_result(tmp_path: Path) -> None:
    train = biographies(tmp_path / "bios.jsonl", planted=True, n=160)
    words = [sys.executable, str(Path(__file__).parent / "killed_run.py"), str(untrained_model()), str(train)]
    env = {**os.environ, "UNMASK_CACHE_DIR": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    subprocess.run([*words, str(tmp_path / "whole")], env=env, check=True, timeout=200)
    kills = 0
    for wait in (
        lambda work: list(work.rglob("checkpoint-5/trainer_state.json")),
        lambda work: list(work.rglob("trials.json")),
    ):
        process = subprocess.Popen([*words, str(tmp_path / "cut")], env=env)
        while process.poll() is None and not wait(tmp_path / "cut" / "work"):
            time.sleep(0.02)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills == 2
    subprocess.run([*words, str(tmp_path / "cut")], env=env, check=True, timeout=200)
    whole, cut = (
        json.loads((tmp_path / name / "result.json").read_text(encoding="utf-8")) for name in ("whole", "cut")
    )
    assert cut == whole


def test_a_folder_with_other_files_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x", encoding="utf-8")
    with pytest.raises(ResultError, match="holds other files"):
        unmask.task("biasbios", untrained_model(), settings=QUICK, out=tmp_path)


def test_a_classifier_of_other_labels_is_refused(tmp_path: Path) -> None:
    path = biographies(tmp_path / "bios.jsonl", planted=True, n=60)
    folder = tmp_path / "other"
    model = AutoModelForSequenceClassification.from_pretrained(untrained_model(), num_labels=2)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(untrained_model()).save_pretrained(folder)
    with pytest.raises(ModelError, match="the classifier knows LABEL_0, LABEL_1"):
        evaluate("biasbios", [folder], replace(QUICK, train=path))


# ------------------------------------------------------------------- erasers, and versions of a model


def states(model: Any, tokenizer: Any) -> torch.Tensor:
    """The last hidden states of a sentence."""
    with torch.no_grad():
        return model.base_model(**tokenizer("He went to the old school.", return_tensors="pt"))[0]


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "albert", "gpt2"])
def test_the_classifier_of_an_erased_model_is_erased(name: str, tmp_path: Path) -> None:
    """Fine-tuning would otherwise start from the model before the mitigation and record it as erased."""
    folder = erased_copy(zoo.folder(name), tmp_path / "erased")
    lm, classifier = open_lm(folder, HOW), new_classifier(folder, HOW, labels=("a", "b"), seed=1)
    found, wanted = (states(model, lm.tokenizer) for model in (classifier.model, lm.network.model))
    torch.testing.assert_close(found, wanted)
    plain = new_classifier(zoo.folder(name), HOW, labels=("a", "b"), seed=1)
    assert not torch.allclose(found, states(plain.model, lm.tokenizer), atol=1e-2)
    assert classifier.facts == replace(lm.facts, shortcuts=())
    assert plain.facts == replace(open_lm(zoo.folder(name), HOW).facts, shortcuts=())
    assert classifier.facts.fingerprint != plain.facts.fingerprint
    with quiet():
        classifier.model.save_pretrained(tmp_path / "saved")
        classifier.tokenizer.save_pretrained(tmp_path / "saved")
    again = open_classifier(tmp_path / "saved", HOW)
    np.testing.assert_allclose(again.logits(TEXTS), classifier.logits(TEXTS), atol=1e-6)
    torch.testing.assert_close(states(again.model, lm.tokenizer), wanted)
    (tmp_path / "saved" / ERASER_FILE).unlink()
    unerased = open_classifier(tmp_path / "saved", HOW)
    assert unerased.facts.fingerprint != again.facts.fingerprint


@pytest.mark.parametrize("every", [None, 4])
def test_an_erased_model_is_fine_tuned_and_evaluated_erased(every: int | None, tmp_path: Path) -> None:
    """What is trained, what is evaluated and what is recorded are the same model."""
    folder = erased_copy(untrained_model(), tmp_path / "erased")
    path = biographies(tmp_path / "bios.jsonl", planted=True, n=80)
    seen: list[Classifier] = []

    def observe(classifier: Classifier, settings: TaskOptions) -> object:
        seen.append(classifier)
        return task.observe(classifier, settings)

    task = find("biasbios")
    quick = replace(QUICK, train=path, grid=Grid((16,), (1e-3,), (1.0,)), every=every)
    done = evaluate(replace(task, observe=observe), [folder], quick)
    removed = some_eraser().tensors["removed"]
    before = dict(open_lm(folder, HOW).network.model.named_parameters())
    trained = seen[-1].model
    assert not torch.equal(
        trained.bert.encoder.layer[0].output.dense.weight, before["bert.encoder.layer.0.output.dense.weight"]
    )
    assert all(
        torch.allclose(states(each.model, each.tokenizer) @ removed.T, torch.zeros(1), atol=1e-5) for each in seen
    )
    assert done.observations[0].model == asdict(replace(open_lm(folder, HOW).facts, shortcuts=()))


def test_damaged_weights_are_refused_before_training(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(untrained_model(), tmp_path / "damaged"))
    zoo.rewrite(folder, lambda weights: weights["cls.predictions.bias"][3].fill_(float("nan")))
    path = biographies(tmp_path / "bios.jsonl", planted=True, n=80)
    for every in (None, 4):
        settings = replace(QUICK, train=path, every=every)
        with pytest.raises(ModelError, match="NaN or infinite"):
            unmask.task("biasbios", folder, settings=settings, out=tmp_path / "out", offline=True)
        assert not list((tmp_path / "out").rglob("*.safetensors"))


def original(name: str, folder: Path) -> Path:
    """A checkpoint as published: with its pooler, which language-model classes neither load nor save."""
    model, tokenizer = zoo.make(name)
    whole = getattr(transformers, f"{name.partition('-')[0].capitalize()}ForPreTraining")(model.config)
    zoo.randomise(whole, seed=5)
    with quiet():
        zoo.save(folder, whole, tokenizer)
    assert any("pooler" in key for key in load_file(folder / "model.safetensors"))
    return folder


def mitigated_checkpoint(folder: Path, out: Path) -> Path:
    """A mitigated version of a checkpoint, saved as every mitigation is."""

    def apply(context: MitigationContext, _: TrainingCorpus) -> Outcome:
        with torch.no_grad():
            for weight in context.model.parameters():
                weight.add_(0.01)
        return Outcome(context.model)

    method = Method("shift", "Shift", "Shifts all weights.", apply, "none")
    return make_checkpoint(method, Engine(open_lm(folder, HOW)), TrainingCorpus((), ()), out).folder


@pytest.mark.parametrize("name", ["bert-uncased", "albert"])
def test_all_versions_of_a_model_get_the_same_head_and_pooler(name: str, tmp_path: Path) -> None:
    """Otherwise a comparison of original and mitigated would mix the mitigation with a random pooler."""
    first = original(name, tmp_path / "original")
    second = mitigated_checkpoint(first, tmp_path / "mitigated")
    before = new_classifier(first, HOW, labels=("a", "b"), seed=3)
    torch.rand(3)  # what else draws random numbers does not matter
    after = new_classifier(second, HOW, labels=("a", "b"), seed=3)
    weights = [dict(each.model.named_parameters()) for each in (before, after)]
    assert before.new_weights == after.new_weights
    assert {"pooler", "classifier"} == {
        part for part in ("pooler", "classifier") for key in before.new_weights if part in key
    }
    for key in weights[0]:
        assert torch.equal(weights[0][key], weights[1][key]) == (key in before.new_weights), key
    stored = load_file(first / "model.safetensors")
    pooler = next(key for key in before.new_weights if "pooler" in key and key.endswith("weight"))
    assert not torch.equal(stored[pooler], weights[0][pooler])


def test_a_classifier_with_a_damaged_head_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(zoo.folder("classifier"), tmp_path / "damaged"))
    assert len(open_classifier(folder, HOW).facts.fingerprint) == 32
    zoo.rewrite(folder, lambda weights: weights["classifier.weight"][0].fill_(float("nan")))
    with pytest.raises(ModelError, match=r"NaN or infinite weights in classifier\.weight"):
        open_classifier(folder, HOW)
