"""Quantised loading: torchao's own forward pass is the reference, and no reading is shared with the original."""

from __future__ import annotations

import copy
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

import unmask
import zoo
from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.models import open_lm
from unmask.models.precision import quantise

NAMES = ("bert-uncased", "roberta", "llama")
BITS = ("int8", "int4")


def run_by_torchao(model: Any, dtype: str, ids: torch.Tensor, group: int | None = None) -> torch.Tensor:
    """The logits of a model whose layers are quantised and run by torchao itself."""
    from torchao.quantization import Int8WeightOnlyConfig, IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup

    head = model.get_output_embeddings()
    config = Int8WeightOnlyConfig()
    if dtype == "int4":
        granularity = PerAxis(0) if group is None else PerGroup(group)
        config = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=granularity)
    quantize_(model, config, filter_fn=lambda module, _: type(module) is torch.nn.Linear and module is not head)
    with torch.inference_mode():
        return model(input_ids=ids).logits  # type: ignore[no-any-return]


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("name", NAMES)
def test_logits_are_those_of_the_layers_that_torchao_runs(name: str, dtype: str, torchao: None) -> None:
    lm = open_lm(zoo.folder(name), Opening(dtype=dtype))  # type: ignore[arg-type]
    ids = torch.tensor([lm.encode("The nurse said that she slept.").ids])
    with torch.inference_mode():
        ours, plain = (
            lm.network.model(input_ids=ids).logits,
            open_lm(zoo.folder(name)).network.model(input_ids=ids).logits,
        )
    torch.testing.assert_close(
        ours, run_by_torchao(open_lm(zoo.folder(name)).network.model, dtype, ids), rtol=1e-4, atol=1e-4
    )
    assert (ours - plain).abs().max() > 1e-3
    assert lm.facts.dtype == dtype
    assert "linear layers to" in lm.facts.origin["quantised"]
    assert any("another model than the original" in warning for warning in lm.facts.warnings)


def test_int4_has_a_scale_for_32_inputs_where_they_can_be_divided(torchao: None) -> None:
    sizes = {"vocab_size": 50, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1}
    model = BertForMaskedLM(BertConfig(**sizes, num_attention_heads=2)).eval()
    other, ids = copy.deepcopy(model), torch.tensor([[1, 7, 9, 2]])
    assert "a scale for 32 inputs" in quantise(model, dtype="int4", name="tiny")[1]["quantised"]
    with torch.inference_mode():
        ours = model(input_ids=ids).logits
    torch.testing.assert_close(ours, run_by_torchao(other, "int4", ids, group=32), rtol=1e-4, atol=1e-5)


def test_no_reading_is_shared_between_precisions(torchao: None) -> None:
    opened = [open_lm(zoo.folder("bert-uncased"), Opening(dtype=dtype)) for dtype in ("fp32", *BITS)]  # type: ignore[arg-type]
    assert len({lm.facts.fingerprint for lm in opened}) == 3
    assert len({lm.namespace for lm in opened}) == 3
    again = open_lm(zoo.folder("bert-uncased"), Opening(dtype="int4"))
    assert again.namespace == opened[2].namespace


@pytest.mark.thorough
def test_nothing_is_printed_when_torchao_is_imported(torchao: None) -> None:
    code = "import sys, unmask; print(unmask.open_model(sys.argv[1], unmask.Opening(dtype='int8')).facts.dtype)"
    words = [sys.executable, "-c", code, str(zoo.folder("bert-uncased"))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("int8\n", "")


def test_only_the_lines_that_say_nothing_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    for name, line in (("torchao", "Failed to load x.so"), ("torchao", "out of memory"), ("other", "Failed to load y")):
        logging.getLogger(name).warning(line)
    assert [record.getMessage() for record in caplog.records] == ["out of memory", "Failed to load y"]


def test_an_audit_of_a_quantised_model_records_it_and_passes_no_precision_check(tmp_path: Path, torchao: None) -> None:
    result = unmask.audit(
        zoo.folder("bert-uncased"), data="nine-axes", measures="aul", limit=8, dtype="int8", store=False
    )
    assert result.meta["model"]["dtype"] == "int8"
    assert result.meta["model"]["origin"]["quantised"].startswith("19 linear layers to int8")
    assert not [check for check in result.checks if check.name == "precision"]
    with pytest.raises(ModelError, match="dtype is int8, but certified decisions are those of fp32"):
        unmask.audit(zoo.folder("bert-uncased"), data="nine-axes", dtype="int8", precision="certified", limit=4)


def test_the_diagnosis_of_precision_takes_quantised_weights(torchao: None) -> None:
    found = unmask.diagnose(
        "precision",
        zoo.folder("bert-uncased"),
        data="nine-axes",
        measures="aul",
        dtypes=("int8", "int4"),
        limit=12,
        store=False,
    )
    groups = {estimate.group for estimate in found.estimates}
    assert groups == {"precision=int8", "precision=int4"}


def test_a_model_without_linear_layers_is_refused(torchao: None) -> None:
    with pytest.raises(ModelError, match=r"has no linear layers that torchao can quantise \(GPT2LMHeadModel\)"):
        open_lm(zoo.folder("gpt2"), Opening(dtype="int8"))


def test_without_torchao_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.models.precision.find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"dtype is int8, which needs torchao: run .pip install 'unmask\[quantised\]'"):
        open_lm(zoo.folder("bert-uncased"), Opening(dtype="int8"))
