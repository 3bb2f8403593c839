"""Bias during training: bias curves of fine-tuning and the callback for the Trainer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from transformers import AutoModelForMaskedLM, AutoTokenizer, Trainer, TrainingArguments

import unmask
from unmask.core.errors import ModelError, UnknownName
from unmask.data import biasbios
from unmask.tasks import BiasCallback, Grid, TaskOptions
from unmask.tasks.biasbios import BiasBiosOptions
from unmask.tasks.winogender import WinogenderOptions

from .tiny_models import biographies, evaluate, untrained_model

QUICK = BiasBiosOptions(grid=Grid((16,), (1e-3,), (2.0,)), length=16, every=10)


@pytest.mark.thorough
def test_the_curve_ends_at_the_result_of_plain_fine_tuning(tmp_path: Path) -> None:
    path = biographies(tmp_path / "bios.jsonl", planted=True, n=200)
    settings = replace(QUICK, train=path)
    models = [untrained_model(), untrained_model("roberta")]
    done = unmask.task("biasbios", models, settings=settings, out=tmp_path / "out", offline=True)
    table, plot = done.findings[0].finding.tables[0], done.findings[0].finding.plots[0]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    names = list(dict.fromkeys(row["model"] for row in rows))
    assert names == ["untrained-bert-uncased", "untrained-roberta"]
    train = [one for one in biasbios.load(biasbios.files(path, None)) if biasbios.part_of(one.text) == "train"]
    steps = -(-2 * len(train) // 16)
    assert [row["step"] for row in rows if row["model"] == names[0]] == list(range(0, steps + 1, 10))
    assert plot.id == "relearning-biasbios"
    plain = unmask.task("biasbios", untrained_model(), settings=replace(settings, every=None), offline=True)
    # evaluation did not change the training
    of_first = [replace(each, model="") for each in done.estimates if each.model == names[0]]
    assert repr(of_first) == repr(list(plain.estimates))
    points = [point for curve in done.meta["details"]["curves"] for point in curve["points"]]
    assert [point["bias"]["value"] for point in points] == [
        row[headline].value for row in rows for headline in table.columns[2:3]
    ]


@pytest.mark.thorough
def test_points_of_an_earlier_run_are_kept(tmp_path: Path) -> None:
    path = biographies(tmp_path / "bios.jsonl", planted=True, n=80)
    settings = replace(QUICK, train=path, every=2, grid=Grid((16,), (1e-3,), (1.0,)))
    out = tmp_path / "out"
    first = unmask.task("biasbios", untrained_model(), settings=settings, out=out, offline=True)
    points = next(out.rglob("points.jsonl"))
    lines = points.read_text(encoding="utf-8").splitlines()
    points.write_text("\n".join([*lines[:-1], lines[-1][:20]]), encoding="utf-8")  # the last was cut short
    again = unmask.task("biasbios", untrained_model(), settings=settings, out=out, offline=True)
    assert again.meta["findings"] == first.meta["findings"]


def test_a_zero_shot_task_has_no_bias_curve() -> None:
    with pytest.raises(UnknownName, match="no option named 'every'"):
        unmask.task("winobias", untrained_model(), every=5, offline=True)


class Lines(torch.utils.data.Dataset[Any]):
    """A few sentences as masked-language-model rows."""

    def __init__(self, tokenizer: Any) -> None:
        encoded = tokenizer(["he is old", "she is sick", "the old school"] * 8, padding=True, return_tensors="pt")
        self.ids, self.kept = encoded["input_ids"], encoded["attention_mask"]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, at: int) -> dict[str, Any]:
        return {"input_ids": self.ids[at], "attention_mask": self.kept[at], "labels": self.ids[at]}


def trainer(folder: Path, report_to: str = "none") -> Trainer:
    torch.manual_seed(0)
    model = AutoModelForMaskedLM.from_pretrained(untrained_model())
    tokenizer = AutoTokenizer.from_pretrained(untrained_model())
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=4,
        per_device_train_batch_size=4,
        report_to=report_to,
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
        logging_steps=2,
        dataloader_pin_memory=False,
    )
    return Trainer(model, arguments, train_dataset=Lines(tokenizer), processing_class=tokenizer)


@pytest.mark.thorough
def test_the_callback_logs_through_the_trainer_without_changing_the_training(tmp_path: Path, miniature: Path) -> None:
    options = WinogenderOptions(data_dir=miniature, limit=4)
    plain = trainer(tmp_path / "a")
    plain.train()
    watched = trainer(tmp_path / "b")
    callback = BiasCallback(watched, "winogender", every=2, options=options)
    watched.add_callback(callback)
    watched.train()
    assert list(callback.headlines) == [2, 4]
    logged = {row["step"]: row["bias_winogender"] for row in watched.state.log_history if "bias_winogender" in row}
    assert logged == {step: one.value for step, one in callback.headlines.items()}
    for one, other in zip(plain.model.parameters(), watched.model.parameters(), strict=True):
        assert torch.equal(one, other)
    folder = tmp_path / "saved"
    watched.save_model(str(folder))
    after = evaluate("winogender", [folder], options)
    assert callback.headlines[4].value == pytest.approx(after.observations[0].result.gaps["all"].gap.value)


@pytest.mark.thorough
def test_bias_is_logged_to_tensorboard(tmp_path: Path, miniature: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "logs"))
    watched = trainer(tmp_path / "run", "tensorboard")
    watched.add_callback(BiasCallback(watched, "winobias", every=2, options=TaskOptions(data_dir=miniature, limit=3)))
    watched.train()
    file = next(tmp_path.rglob("events.out.tfevents*"))
    read = EventAccumulator(str(file.parent))
    read.Reload()
    tags = [tag for tag in read.Tags()["scalars"] if "bias_winobias" in tag]
    assert any(tag.endswith("bias_winobias") for tag in tags)
    assert [one.step for one in read.Scalars(min(tags, key=len))] == [2, 4]


def test_the_callback_needs_a_tokenizer(tmp_path: Path) -> None:
    bare = trainer(tmp_path)
    bare.processing_class = None
    with pytest.raises(ModelError, match="the Trainer has no tokenizer"):
        BiasCallback(bare, "winobias")
