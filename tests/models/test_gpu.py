"""On a GPU scores equal those of the CPU, and half precision is near; skipped where there is no GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import unmask
import zoo
from unmask import data as datasets
from unmask.measures import MEASURES

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def rows(architecture: str, device: str, dtype: str = "fp32") -> list[dict[str, Any]]:
    """All measures of pairs on the hard cases of the miniature data."""
    kind = "masked" if architecture in zoo.NAMES_MASKED else "causal"
    measures = [name for name, measure in MEASURES.items() if kind in measure.kinds and not measure.needs]
    whole = datasets.load("crows-pairs", data_dir=zoo.MINIATURE)
    opening = unmask.Opening(device=device, dtype=dtype)
    result = unmask.audit(
        zoo.folder(architecture),
        data=replace(whole, items=whole.items[:16]),
        measures=measures,
        opening=opening,
        options=unmask.Options(store=False),
    )
    return list(result.items.to_pylist())


@pytest.mark.parametrize("architecture", [*zoo.NAMES_MASKED, *zoo.NAMES_CAUSAL])
@pytest.mark.parametrize(("dtype", "tolerance"), [("fp32", 1e-4), ("bf16", 0.05)])
def test_scores_on_a_gpu_equal_those_of_the_cpu(architecture: str, dtype: str, tolerance: float) -> None:
    pairs = list(zip(rows(architecture, "cpu"), rows(architecture, "cuda", dtype), strict=True))
    assert len(pairs) > 50
    for cpu, gpu in pairs:
        assert (cpu["item"], cpu["measure"]) == (gpu["item"], gpu["measure"])
        for side in ("more", "less"):
            if cpu[side] is None:
                assert gpu[side] is None
            else:
                relative = tolerance if dtype != "fp32" else 0
                assert gpu[side] == pytest.approx(cpu[side], abs=tolerance, rel=relative)
