"""Built-in models: found by name, siblings with their low-rank update applied."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import zoo
from unmask.core.errors import ModelError, UnknownName
from unmask.models import builtin, open_lm

NAME = "bert.encoder.layer.0.attention.self.query.weight"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a masked model, a causal one and two siblings."""
    zoo.build("bert-uncased", tmp_path / "masked")
    zoo.build("gpt2", tmp_path / "causal")
    (tmp_path / "siblings").mkdir()
    weights = dict(open_lm(tmp_path / "masked").network.model.named_parameters())
    out, inner = weights[NAME].shape
    for dose in (-2, 0, 10):
        generator = torch.Generator().manual_seed(dose + 5)
        parts = {
            f"{NAME}.a": torch.randn((2, inner), generator=generator).half(),
            f"{NAME}.b": torch.randn((out, 2), generator=generator).half() * dose,
        }
        save_file(parts, tmp_path / "siblings" / f"dose{dose:+d}.safetensors")
    monkeypatch.setattr(builtin, "FOLDER", tmp_path)
    return tmp_path


def test_names_are_ordered_by_dose(package: Path) -> None:
    names = list(builtin.builtin_models(package))
    assert names == ["builtin", "builtin-causal", "builtin-dose-2", "builtin-dose+0", "builtin-dose+10"]


@pytest.mark.usefixtures("package")
def test_the_causal_sibling_is_causal() -> None:
    lm = open_lm("builtin-causal")
    assert (lm.kind, lm.facts.id, lm.facts.built_in) == ("causal", "builtin-causal", True)


def test_a_sibling_is_the_model_plus_its_update(package: Path) -> None:
    from safetensors.torch import load_file

    plain, sibling = open_lm("builtin"), open_lm("builtin-dose-2")
    before, after = (dict(lm.network.model.named_parameters()) for lm in (plain, sibling))
    parts = load_file(package / "siblings" / "dose-2.safetensors")
    added = parts[f"{NAME}.b"].double() @ parts[f"{NAME}.a"].double()
    torch.testing.assert_close((after[NAME] - before[NAME]).double(), added, atol=1e-5, rtol=1e-5)
    assert all(torch.equal(before[name], after[name]) for name in before if name != NAME)
    assert sibling.facts.fingerprint != plain.facts.fingerprint
    assert sibling.namespace != plain.namespace
    assert "planted, dose -2" in sibling.facts.warnings[0]


@pytest.mark.usefixtures("package")
def test_a_sibling_with_a_zero_update_equals_the_model() -> None:
    before, after = (dict(open_lm(name).network.model.named_parameters()) for name in ("builtin", "builtin-dose+0"))
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.usefixtures("package")
def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"no built-in model named 'builtin-dose\+7'.*builtin-causal"):
        open_lm("builtin-dose+7")


def test_an_update_of_another_model_is_refused(package: Path) -> None:
    save_file({"other.weight.a": torch.ones(1, 1), "other.weight.b": torch.ones(1, 1)}, package / "x.safetensors")
    with pytest.raises(ModelError, match=r"x\.safetensors changes other\.weight"):
        builtin.add_low_rank_update(open_lm(package / "masked").network.model, update=package / "x.safetensors")
