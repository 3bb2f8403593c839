"""`aul-loss`: its AUL and gradient are right, its training data is never evaluated, and the training is resumable."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch

import reference
import zoo
from mitigate.tiny import CORPUS, make_context, make_options
from unmask import data
from unmask.core.errors import DataError, ModelError
from unmask.measures import find as measure
from unmask.mitigate import find
from unmask.mitigate.checkpoint import check_request, request_of
from unmask.mitigate.evaluation import check_overlap, evaluated_data, trained_data
from unmask.mitigate.methods.aul_loss import (
    AulCollator,
    AulLoss,
    EncodedPair,
    aul_scores,
    collate_pairs,
    encode_pairs,
    squared_differences,
)
from unmask.mitigate.spec import PairOptions
from unmask.models import Engine, open_lm
from unmask.models.network import Network
from unmask.training.collators import encode_rows

METHOD = find("aul-loss")
PAIRS = (
    ("The nurse said that she was late.", "The nurse said that he was late."),
    ("My old mother left.", "My father left the house."),
)


def small_pairs(lm: object) -> list[EncodedPair]:
    return [EncodedPair(lm.encode(more), lm.encode(less)) for more, less in PAIRS]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "albert"])
def test_what_is_trained_on_is_the_measure(name: str) -> None:
    """Otherwise something else than AUL would be made equal: padding or special tokens counted, a sum for a mean."""
    lm = open_lm(zoo.folder(name))
    pairs = small_pairs(lm)
    with torch.no_grad():
        mine = aul_scores(lm.network, collate_pairs(pairs, lm.tokenizer.pad_token_id)).view(2, -1).T
    aul, engine = measure("aul"), Engine(lm)
    for at, (more, less) in enumerate(PAIRS):
        item = data.from_records([(more, less)]).items[0]
        probes = aul.probes(item, lm)
        for side, text in enumerate(("more", "less")):
            readings = engine.read(probes[text])
            value = aul.score(probes[text], [readings[probe] for probe in probes[text]]).value
            assert float(mine[at, side]) == pytest.approx(value, abs=1e-5)


@reference.one_thread()
def test_the_gradient_equals_finite_differences() -> None:
    """A wrong gradient would train towards something else, and still lower some loss."""
    lm = open_lm(zoo.folder("bert-uncased"))
    model, pairs = copy.deepcopy(lm.network.model).double().eval(), small_pairs(lm)
    batch = collate_pairs(pairs, lm.tokenizer.pad_token_id)
    batch["weights"] = batch["weights"].double()

    def value() -> torch.Tensor:
        return squared_differences(Network(model), batch).mean()

    value().backward()
    step, checked = 1e-5, 0
    for name, weight in model.named_parameters():
        if weight.grad is None:
            continue
        place = tuple(int(at) for at in np.unravel_index(int(weight.grad.abs().argmax()), weight.shape))
        exact = float(weight.grad[place])
        if abs(exact) < 1e-9:
            continue
        values = []
        with torch.no_grad():
            for sign in (1, -2):
                weight[place] += sign * step
                values.append(float(value()))
            weight[place] += step
        assert exact == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-3, abs=1e-8), name
        checked += 1
    assert checked > 15


def losses_of(strength: float) -> tuple[float, float]:
    """The loss of the original model, and of one that was changed."""
    lm = open_lm(zoo.folder("bert-uncased"))
    rows = encode_rows(["The weather was bad all week.", "The engineer wrote a long letter."], lm.tokenizer)
    batch = AulCollator(lm.tokenizer, rows)(small_pairs(lm), np.random.default_rng(0))
    network, original = (Network(copy.deepcopy(lm.network.model).eval()) for _ in range(2))
    with torch.no_grad():
        scale = float(squared_differences(original, batch).mean())
        loss = AulLoss(network, original, strength, scale)
        same = float(loss(network.model, batch))
        for weight in network.model.parameters():
            weight.mul_(1.3)
        return same, float(loss(network.model, batch))


def test_the_loss_of_the_original_is_its_strength() -> None:
    """Its bias term is relative to itself, and it does not diverge from itself."""
    assert losses_of(0.3)[0] == pytest.approx(0.3, abs=1e-4)
    assert losses_of(1 - 1e-9)[0] == pytest.approx(1.0, abs=1e-4)
    same, other = losses_of(1e-9)
    assert same == pytest.approx(0.0, abs=1e-4)
    assert other > 0.01  # predictions of masked tokens changed


def own_pairs(tmp_path: Path, *rows: tuple[str, str]) -> Path:
    path = tmp_path / "own.csv"
    path.write_text("more,less\n" + "".join(f'"{more}","{less}"\n' for more, less in rows), encoding="utf-8")
    return path


def test_training_data_is_left_out_of_the_evaluation() -> None:
    """A measure on the data it was trained on would show an effect that no other data has."""
    assert trained_data(PairOptions()) == {"nine-axes"}
    assert trained_data(PairOptions(train_pairs=Path("paraphrases"))) == {"paraphrases", "nine-axes"}
    assert trained_data(make_options()) == frozenset()
    names = {dataset.card.name for _, dataset in evaluated_data("masked", {"nine-axes"})}
    assert "nine-axes" not in names
    assert "triple-gender" in names


def test_pairs_that_share_a_sentence_with_the_evaluated_data_are_refused(tmp_path: Path) -> None:
    evaluated = data.load("triple-gender")
    taken = evaluated.items[3]
    path = own_pairs(tmp_path, PAIRS[0], (f" {taken.more.upper()}", "Something else."))
    with pytest.raises(DataError, match=rf"1 pairs of triple-gender, on which .* \({taken.id}\)"):
        check_overlap(PairOptions(train_pairs=path), [evaluated])
    check_overlap(PairOptions(train_pairs=own_pairs(tmp_path, *PAIRS)), [evaluated])
    check_overlap(make_options(), [evaluated])  # it does not train on pairs


def test_a_changed_file_of_pairs_is_another_request(tmp_path: Path) -> None:
    """Otherwise a checkpoint trained on the old pairs would be taken for the new one."""
    lm, found = open_lm(zoo.folder("bert-uncased")), []
    for rows in (PAIRS, PAIRS[:1], PAIRS):
        options = make_options("aul-loss", train_pairs=own_pairs(tmp_path, *rows))
        found.append(request_of(METHOD, lm, CORPUS, options))
    assert found[0] == found[2] != found[1]
    elsewhere = make_options("aul-loss", train_pairs=own_pairs(tmp_path, *PAIRS), data_dir=tmp_path)
    assert request_of(METHOD, lm, CORPUS, elsewhere) == found[0]  # where the data lies makes no difference
    assert str(tmp_path) not in str(found)


def test_published_pairs_are_found_in_the_data_directory(miniature: Path) -> None:
    options = PairOptions(train_pairs=Path("crows-pairs"), data_dir=miniature)
    assert trained_data(options) == {"crows-pairs"}


def test_causal_models_and_useless_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="aul-loss works on masked models"):
        check_request(METHOD, open_lm(zoo.folder("gpt2")), PairOptions(), tmp_path / "out")
    path = own_pairs(tmp_path, ("The same.", "The same."), ("Again.", "Again."))
    with pytest.raises(DataError, match="AUL is equal within every pair"):
        METHOD.apply(make_context(tmp_path, method="aul-loss", train_pairs=path), CORPUS)
    path = own_pairs(tmp_path, PAIRS[0], ("It is long " + "and long " * 300, "It is short."))
    with pytest.raises(DataError, match="own: 1 of 2 pairs can be scored"):
        METHOD.apply(make_context(tmp_path, method="aul-loss", train_pairs=path), CORPUS)


def test_pairs_that_do_not_fit_are_counted() -> None:
    lm = open_lm(zoo.folder("bert-uncased"))
    items = data.from_records([PAIRS[0], ("long " * 600, "short"), PAIRS[1]]).items
    assert [len(some) if isinstance(some, list) else some for some in encode_pairs(lm, items, 128)] == [2, 1]


@pytest.mark.slow
def test_the_difference_falls_and_a_seed_determines_the_weights(tmp_path: Path) -> None:
    options = {"epochs": 12, "lr": 3e-4, "batch": 2, "seed": 3, "strength": 0.5}
    path = own_pairs(tmp_path, *PAIRS)
    outcomes = []
    for number in range(2):
        context = make_context(tmp_path / f"{number}", method="aul-loss", train_pairs=path, **options)
        outcomes.append(METHOD.apply(context, CORPUS))
    first, second = outcomes
    assert first.facts["after"]["squared_difference"] < 0.5 * first.facts["before"]["squared_difference"]
    assert first.facts["pairs_of"] == "own"
    for one, other in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(one, other)
