"""Checkpoints with an eraser: other programs get the mitigated predictions, or refuse the folder."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf

import zoo
from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.models import open_lm
from unmask.models.classifier import new_classifier, open_classifier
from unmask.models.eraser import Eraser, attach, attached_eraser, detach, fold
from unmask.models.folder import ERASER, HELD, WEIGHTS, quiet
from unmask.training.checkpoints import save_model

SIZE = 32
FOLDED = ["bert-uncased", "roberta", "distilbert", "albert", "electra-generator", "deberta-v2"]
IDS = torch.tensor([[5, 6, 7, 8, 9, 10]])
HOW = Opening(device="cpu")


def projection(layer: int = -1) -> Eraser:
    rows = torch.linalg.qr(torch.randn(SIZE, 2, generator=torch.Generator().manual_seed(1)))[0].T
    return Eraser("projection", {"removed": rows}, layer, "a test")


def leace(layer: int = -1) -> Eraser:
    generator = torch.Generator().manual_seed(2)
    left, right, mean = torch.randn(3, SIZE, generator=generator)
    return Eraser("leace", {"left": left[None], "right": (right / (left @ right))[None], "mean": mean}, layer, "a test")


def oscar(layer: int = -1) -> Eraser:
    first = torch.nn.functional.normalize(torch.ones(SIZE), dim=0)
    second = torch.nn.functional.normalize(torch.arange(float(SIZE)), dim=0)
    return Eraser("oscar", {"first": first, "second": second}, layer, "a test")


def saved(name: str, eraser: Eraser, folder: Path) -> Any:
    """Save a model with an eraser as the commands do; its logits before that."""
    lm = open_lm(zoo.folder(name), HOW)
    attach(lm.network.model, eraser)
    expected = logits(lm.network.model)
    folder.mkdir()
    save_model(lm.network.model, lm.tokenizer, folder)
    return expected


def logits(model: Any) -> Any:
    with torch.inference_mode():
        return model.eval()(input_ids=IDS).logits


def load_plainly(folder: Path) -> Any:
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hf.AutoModelForMaskedLM.from_pretrained(folder)


@pytest.mark.parametrize("make", [projection, leace])
@pytest.mark.parametrize("name", [name for name in FOLDED if name in zoo.NAMES_MASKED])
def test_plain_loaders_get_the_mitigated_predictions(name: str, make: Any, tmp_path: Path) -> None:
    expected = saved(name, make(), tmp_path / "erased")
    torch.testing.assert_close(logits(load_plainly(tmp_path / "erased")), expected, atol=1e-5, rtol=1e-5)
    assert (expected - logits(load_plainly(zoo.folder(name)))).abs().max() > 0.01
    ours = open_lm(tmp_path / "erased", HOW)  # applies the eraser again, which changes nothing
    torch.testing.assert_close(logits(ours.network.model), expected, atol=1e-4, rtol=1e-5)
    assert attached_eraser(ours.network.model) is not None


@pytest.mark.parametrize(
    ("name", "eraser"), [("bert-uncased", projection(1)), ("bert-uncased", oscar()), ("gpt2", projection())]
)
def test_plain_loaders_refuse_what_cannot_be_folded(name: str, eraser: Eraser, tmp_path: Path) -> None:
    """They would load the model as it was before the mitigation, without a word."""
    expected = saved(name, eraser, tmp_path / "erased")
    with quiet():
        for auto in (hf.AutoModel, hf.AutoModelForMaskedLM, hf.AutoModelForCausalLM, hf.BertForMaskedLM):
            with pytest.raises((OSError, ValueError)):
                auto.from_pretrained(tmp_path / "erased")
    torch.testing.assert_close(logits(open_lm(tmp_path / "erased", HOW).network.model), expected, atol=1e-5, rtol=1e-5)
    assert not (tmp_path / "erased" / WEIGHTS).exists()


def test_weights_are_never_opened_without_their_eraser(tmp_path: Path) -> None:
    saved("gpt2", projection(), tmp_path / "erased")
    (tmp_path / "erased" / ERASER).unlink()
    with pytest.raises(ModelError, match=f"{HELD}.* must be used with {ERASER}"):
        open_lm(tmp_path / "erased")


def test_a_head_that_cannot_be_folded_is_left_as_it_was() -> None:
    lm = open_lm(zoo.folder("bert-uncased"), HOW)
    before = {name: tensor.clone() for name, tensor in lm.network.model.state_dict().items()}
    attach(lm.network.model, projection(1))
    assert not fold(lm.network.model)
    detach(lm.network.model)
    assert all(torch.equal(tensor, before[name]) for name, tensor in lm.network.model.state_dict().items())


def test_a_classifier_made_from_a_folded_model_still_has_the_eraser(tmp_path: Path) -> None:
    """Folding changes the language-modelling head only, which a classifier does not have."""
    saved("bert-uncased", projection(), tmp_path / "erased")
    classifier = new_classifier(tmp_path / "erased", HOW, labels=("a", "b"), seed=0)
    assert attached_eraser(classifier.model) is not None
    (tmp_path / "classifier").mkdir()
    save_model(classifier.model, classifier.tokenizer, tmp_path / "classifier")
    assert (tmp_path / "classifier" / HELD).is_file()
    again = open_classifier(tmp_path / "classifier", HOW)
    torch.testing.assert_close(logits(again.model), logits(classifier.model))
