"""The forecast of a dry run against a run: a user decides by it whether to start a study."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from unmask.core.options import Opening
from unmask.models import open_lm
from unmask.studies import Runtime, find
from unmask.studies.forecast import CPU, FORWARD, expected_duration, weights_per_token
from unmask.studies.run import plan_study, run_plan

pytestmark = [pytest.mark.slow]
MODEL = "builtin"
DEBIASING = {
    "methods": ["CDA"],
    "tasks": ["STS-bias"],
    "documents": 40,
    "train": {"epochs": 1.0, "lr": 1e-4, "batch": 8},
    "use": {"grid": {"batch": [8], "rate": [1e-4], "epochs": [1.0]}, "every": 4, "steps": 8, "rows": 60, "length": 64},
    "each": {"STS-bias": {"limit": 2}},
}


def measure_rate() -> float:
    """Operations per second of processor time that this machine reaches on one thread, by plain forward passes."""
    torch.set_num_threads(1)
    encoder = open_lm(MODEL, Opening(device="cpu", offline=True)).network.model.base_model
    ids = torch.randint(1000, 20_000, (32, 17))
    with torch.inference_mode():
        encoder(ids)
        start, passes = time.process_time(), 0
        while time.process_time() - start < 1.0:
            encoder(ids)
            passes += 1
    return FORWARD * weights_per_token(MODEL) * passes * ids.numel() / (time.process_time() - start)


@pytest.mark.parametrize(
    ("name", "limit", "settings"),
    [("prompts", 20, {"prompts": 4}), ("paraphrase", 24, {}), ("debiasing", 16, DEBIASING)],
)
def test_a_forecast_is_within_a_factor_of_two(name: str, limit: int, settings: dict[str, Any], tmp_path: Path) -> None:
    """In processor time on one thread, at the speed of this machine: other programs on it do not matter."""
    chosen = dict(models=(MODEL,), limit=limit, reduced=True, **settings)
    plan = plan_study(find(name), chosen, Runtime(zoo.MINIATURE, device="cpu", offline=True, threads=1))
    operations = sum(expected_duration(step, plan.runtime)[CPU] for step in plan.steps) * CPU.ops_per_second
    before, start = measure_rate(), time.process_time()
    result = run_plan(plan, tmp_path)
    took = time.process_time() - start
    rate = (before + measure_rate()) / 2  # neighbours on the processor's cores slow it down, now more, now less
    forecast = operations / rate
    assert not result.meta["details"]["failed"]
    assert 0.5 < forecast / took < 2.0, f"forecast {forecast:.1f} s, took {took:.1f} s"
