"""Files of published scores in miniature: the names of the real ones, numbers made from a seed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from unmask import data
from unmask.data.gest import FEMALE, STEREOTYPES

MINIATURE = Path(__file__).parents[1] / "miniature"


def write_gest_scores(folder: Path, *, lean: float = 0.3, seed: int = 0) -> Path:
    """A data directory with GEST in miniature, whose models lean towards the stereotype by `lean` × their number."""
    shutil.copytree(MINIATURE / "gest", folder / "gest", dirs_exist_ok=True)
    rows = (folder / "gest" / "gest.csv").read_text(encoding="utf-8").splitlines()[1:]
    signs = [-1 if STEREOTYPES[int(row.rsplit(",", 1)[1]) - 1] in FEMALE else 1 for row in rows]
    rng = np.random.default_rng(seed)
    for name in ("gest-masked-scores", "gest-causal-scores"):
        for number, file in enumerate(data.card(name).files[1:]):
            path = folder / "gest" / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            scores = 1.0 + lean * number * np.array(signs) + rng.normal(size=len(signs))
            path.write_text("".join(f"{score}\n" for score in scores), encoding="utf-8")
    return folder


def write_stereoset_scores(folder: Path) -> Path:
    """A data directory with StereoSet in miniature, and scores of its three models."""
    shutil.copytree(MINIATURE / "stereoset", folder / "stereoset", dirs_exist_ok=True)
    content = json.loads((folder / "stereoset" / "dev.json").read_text(encoding="utf-8"))
    ids = [each["id"] for example in content["data"]["intrasentence"] for each in example["sentences"]]
    (folder / "stereoset_predictions").mkdir()
    for number, file in enumerate(data.card("stereoset-scores").files[1:]):
        scores = [{"id": own, "score": (1 + place + number) / 1000} for place, own in enumerate(ids)]
        (folder / file.name).write_text(json.dumps({"intrasentence": scores}), encoding="utf-8")
    return folder
