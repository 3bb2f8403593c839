"""Training: steps by hand, checkpoints, and a killed run that resumes to the same weights."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from training import killed
from unmask.core.errors import DataError, ModelError, ResultError
from unmask.models.network import Network
from unmask.training import EvalCallback, TrainSettings, collators, train
from unmask.training.checkpoints import last_complete_checkpoint
from unmask.training.trainer import ShuffledRows


class Line(torch.nn.Module):
    """y = a·x, so that steps can be computed by hand."""

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self.a = torch.nn.Parameter(torch.tensor([start]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a * x


def pairs(rows: Any, _: np.random.Generator) -> dict[str, torch.Tensor]:
    x, y = torch.tensor(rows, dtype=torch.float32).T
    return {"x": x, "y": y}


def squares(model: Any, batch: Any) -> torch.Tensor:
    return ((model(batch["x"]) - batch["y"]) ** 2).mean()


ROWS = [(1.0, 2.0), (2.0, 4.0), (3.0, 6.0), (4.0, 8.0), (5.0, 10.0)]


@pytest.mark.thorough
def test_steps_equal_adam_with_linear_decay(tmp_path: Path) -> None:
    settings = TrainSettings(epochs=2, lr=0.1, batch=2, clip=1e9, seed=4)
    model = Line()
    trained = train(model, ROWS, pairs, settings, tmp_path / "work", loss=squares)
    order = [i for epoch in (0, 1) for i in np.random.default_rng((4, epoch)).permutation(5)]
    a, m, v = 0.0, 0.0, 0.0
    steps = [order[at : at + 2] for at in range(0, 10, 2)]
    for t, batch in enumerate(steps, start=1):
        gradient = np.mean([2 * ROWS[i][0] * (a * ROWS[i][0] - ROWS[i][1]) for i in batch])
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        lr = 0.1 * (len(steps) - (t - 1)) / len(steps)
        a -= lr * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
    assert trained.steps == 5
    assert model.a.item() == pytest.approx(a, abs=1e-5)
    assert not (tmp_path / "work").exists()


@pytest.mark.thorough
def test_reported_losses_are_those_of_the_batches(tmp_path: Path) -> None:
    seen: list[float] = []

    def loss(model: Any, batch: Any) -> torch.Tensor:
        value = squares(model, batch)
        seen.append(value.item())
        return value

    reports: list[tuple[str, float, int, str]] = []
    trained = train(
        *(Line(), ROWS, pairs, TrainSettings(epochs=2, batch=2), tmp_path),
        loss=loss,
        progress=lambda *report: reports.append(report),  # type: ignore[arg-type]
    )
    assert [step for step, _ in trained.losses] == [1, 2, 3, 4, 5]
    assert [value for _, value in trained.losses] == pytest.approx(seen, abs=1e-3)
    assert [report[:3] for report in reports] == [("training", step / 5, 5) for step in range(1, 6)]
    assert [report[3] for report in reports] == ["", *(f"loss {value:.3f}" for _, value in trained.losses[:-1])]


@pytest.mark.thorough
@pytest.mark.parametrize("accumulate", [1, 2])
def test_gradients_of_several_batches_are_averaged(tmp_path: Path, accumulate: int) -> None:
    rows = ROWS[:4]
    model = Line()
    settings = TrainSettings(epochs=1, lr=0.5, batch=4 // accumulate, accumulate=accumulate, clip=1e-3)
    trained = train(model, rows, pairs, settings, tmp_path, loss=squares)
    assert trained.steps == 1
    assert model.a.item() == pytest.approx(0.5, abs=1e-4)  # Adam's first step has the size of the learning rate


def test_every_row_occurs_once_per_epoch() -> None:
    dataset = ShuffledRows("abcdefg", range(21), seed=5)
    epochs = [[dataset[index][1] for index in range(first, first + 7)] for first in (0, 7, 14)]
    assert all(sorted(epoch) == list("abcdefg") for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


def test_the_order_of_rows_is_random_whatever_their_length() -> None:
    """Otherwise classes that depend on length come in blocks, and tokens of short texts weigh more."""
    dataset = ShuffledRows(["x" * length for length in range(64)], range(128), seed=5)
    order = [len(dataset[index][1]) for index in range(128)]
    assert order == [row for epoch in (0, 1) for row in np.random.default_rng((5, epoch)).permutation(64)]


@pytest.mark.parametrize(("name", "loss"), [("bert-uncased", True), ("bert-uncased", False), ("gpt2", False)])
def test_training_in_parts_of_batches_gives_the_weights_of_whole_batches(
    tmp_path: Path, name: str, loss: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collators, "CPU_PART", 8)
    weights, losses, passes = [], [], []
    for in_parts in (False, True):
        model, tokenizer = zoo.make(name)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        model.config.attn_pdrop = model.config.attention_probs_dropout_prob = 0.0
        collate = collators.collator_for(tokenizer, causal=name == "gpt2", positions=loss)
        rows = collators.encode_rows(
            ["The nurse said it. " * n for n in range(1, 17)], tokenizer, causal=name == "gpt2"
        )
        runs: list[int] = []
        hook = model.get_input_embeddings().register_forward_hook(lambda *_, runs=runs: runs.append(1))
        own = collators.MaskedTokenLoss(Network(model.eval())) if loss else None
        settings = TrainSettings(epochs=2, batch=16, lr=1e-2, epsilon=1e-3)  # as Adam divides noise by itself
        done = train(model, rows, collate, settings, tmp_path, loss=own, count=collate.count if in_parts else None)
        hook.remove()
        weights.append(model.state_dict())
        losses.append([value for _, value in done.losses])
        passes.append(len(runs))
    assert passes[1] > passes[0]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
    assert all(torch.allclose(weight, weights[1][key], atol=1e-5) for key, weight in weights[0].items())


def test_the_precision_is_recorded(tmp_path: Path) -> None:
    assert train(Line(), ROWS, pairs, TrainSettings(epochs=1), tmp_path, loss=squares).precision == "fp32"


def test_bf16_is_refused_where_the_device_lacks_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="bf16 was asked for, but cpu does not compute in bfloat16"):
        train(Line(), ROWS, pairs, TrainSettings(bf16=True), tmp_path, loss=squares)


def test_a_gpu_with_bfloat16_trains_in_it_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = torch.device("cuda:0")
    for has in (True, False):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, has=has: has)
        assert TrainSettings().for_device(gpu).bf16 is has
        assert TrainSettings(bf16=False).for_device(gpu).bf16 is False
        assert TrainSettings().for_device(torch.device("cpu")).bf16 is False


def test_autocast_covers_a_loss_of_parts_of_the_model_but_no_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trainer's own bf16 patches the model's forward: parts of it would train in fp32, evaluations run in bf16."""
    monkeypatch.setattr(TrainSettings, "for_device", lambda settings, _: settings)
    seen: list[tuple[str, bool]] = []

    def loss(model: Any, batch: Any) -> torch.Tensor:
        seen.append(("loss", torch.is_autocast_enabled("cpu")))
        return squares(model, batch)

    evaluation = EvalCallback(1, lambda *_: seen.append(("evaluation", torch.is_autocast_enabled("cpu"))))
    model = Line()
    settings = TrainSettings(epochs=1, batch=4, bf16=True)
    trained = train(model, ROWS, pairs, settings, tmp_path, loss=loss, callbacks=[evaluation])
    assert set(seen) == {("loss", True), ("evaluation", False)}
    assert trained.precision == "bf16 autocast"
    assert "forward" not in vars(model)


@pytest.mark.thorough
@pytest.mark.parametrize(("epochs", "steps"), [(1, 3), (2, 5), (0.5, 1), (1.4, 4)])
def test_epochs_may_be_fractional(tmp_path: Path, epochs: float, steps: int) -> None:
    trained = train(Line(), ROWS, pairs, TrainSettings(epochs=epochs, batch=2), tmp_path, loss=squares)
    assert trained.steps == steps


@pytest.mark.thorough
def test_steps_are_limited(tmp_path: Path) -> None:
    settings = TrainSettings(epochs=3, batch=1, steps=4)
    trained = train(Line(), ROWS[:2], pairs, settings, tmp_path, loss=squares)
    assert (trained.steps, trained.rows) == (4, 2)


@pytest.mark.thorough
def test_an_epoch_is_announced_before_its_first_step(tmp_path: Path) -> None:
    epochs: list[tuple[int, float]] = []
    train(
        Line(),
        ROWS[:4],
        pairs,
        TrainSettings(epochs=2, batch=2),
        tmp_path,
        loss=squares,
        on_epoch_begin=lambda epoch, model: epochs.append((epoch, model.a.item())),
    )
    assert [epoch for epoch, _ in epochs] == [0, 1]
    assert epochs[0][1] == 0.0
    assert epochs[1][1] != 0.0


@pytest.mark.thorough
def test_an_eval_callback_does_not_affect_the_training(tmp_path: Path) -> None:
    class Noisy(Line):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.dropout(self.a * x, 0.5, training=self.training)

    plain, evaluated, seen = Noisy(0.7), Noisy(0.7), []

    def evaluate(step: int, model: Any) -> None:
        torch.rand(7)
        seen.append((step, model.training, torch.is_grad_enabled()))

    settings = TrainSettings(epochs=2, batch=2, lr=0.1)
    train(plain, ROWS, pairs, settings, tmp_path / "a", loss=squares)
    train(evaluated, ROWS, pairs, settings, tmp_path / "b", loss=squares, callbacks=[EvalCallback(2, evaluate)])
    assert seen == [(2, False, False), (4, False, False)]
    assert plain.a.item() == evaluated.a.item() != 0.7


def run(folder: Path, out: Path, pause: float = 0.0) -> subprocess.Popen[str]:
    command = [sys.executable, killed.__file__, str(folder), str(out), str(pause)]
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_checkpoint(tmp_path: Path) -> None:
    uninterrupted = run(tmp_path / "w1", tmp_path / "whole")
    with run(tmp_path / "w2", tmp_path / "resumed", 0.2) as again:
        for line in again.stdout or ():
            if line.strip() == "10":  # checkpoints at 4 and 8
                os.kill(again.pid, signal.SIGKILL)
                break
    assert not (tmp_path / "resumed").exists()
    output = run(tmp_path / "w2", tmp_path / "resumed").communicate()[0]
    assert "resumed 8 steps 20" in output
    assert output.splitlines()[0] == "9"
    assert "resumed 0 steps 20" in uninterrupted.communicate()[0]
    first, second = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "resumed"))
    assert first == second
    assert first != (zoo.folder("bert-uncased") / "model.safetensors").read_bytes()
    assert not (tmp_path / "w1").exists()
    assert not (tmp_path / "w2").exists()


def test_an_incomplete_checkpoint_is_skipped(tmp_path: Path) -> None:
    for step, state in ((4, json.dumps({"global_step": 4})), (8, '{"global')):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text(state)
    assert last_complete_checkpoint(tmp_path) == tmp_path / "checkpoint-4"
    assert not (tmp_path / "checkpoint-8").exists()


@pytest.mark.thorough
def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    def stop(step: int, model: Any) -> None:
        raise KeyboardInterrupt

    settings = TrainSettings(epochs=2, batch=1, save_every=2)
    with pytest.raises(KeyboardInterrupt):
        train(Line(), ROWS, pairs, settings, tmp_path, loss=squares, callbacks=[EvalCallback(3, stop)])
    with pytest.raises(ResultError, match="unfinished training with other settings"):
        train(Line(), ROWS, pairs, TrainSettings(epochs=3, batch=1), tmp_path, loss=squares)
    with pytest.raises(ResultError, match="unfinished training with other settings"):
        train(Line(), ROWS, pairs, settings, tmp_path, loss=squares, key="another corpus")
    assert train(Line(), ROWS, pairs, settings, tmp_path, loss=squares).resumed == 2


@pytest.mark.thorough
def test_a_diverged_training_is_refused(tmp_path: Path) -> None:
    def burst(model: Any, batch: Any) -> torch.Tensor:
        return squares(model, batch) * float("inf")

    with pytest.raises(ModelError, match="diverged"):
        train(Line(), ROWS, pairs, TrainSettings(epochs=1), tmp_path, loss=burst)


def test_a_training_stops_at_the_first_loss_that_is_not_finite(tmp_path: Path) -> None:
    steps: list[int] = []

    def burst(model: Any, batch: Any) -> torch.Tensor:
        steps.append(len(steps))
        return squares(model, batch) * (float("nan") if len(steps) == 4 else 1.0)

    with pytest.raises(ModelError, match="diverged"):
        train(Line(), ROWS, pairs, TrainSettings(epochs=10, batch=1, save_every=1), tmp_path, loss=burst)
    assert len(steps) == 4
    last = last_complete_checkpoint(tmp_path)
    assert last is not None
    assert last.name == "checkpoint-3"  # what was saved is finite


def test_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to train on"):
        train(Line(), [], pairs, TrainSettings(), tmp_path)


@pytest.mark.parametrize("bad", [{"epochs": 0}, {"lr": -1}, {"batch": 0}, {"steps": 0}, {"seed": -1}])
def test_invalid_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=next(iter(bad))):
        TrainSettings(**bad)
