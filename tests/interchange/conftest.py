"""An audit of a tiny model, exported by every test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import unmask
import zoo
from unmask.audit.result import AuditResult


def sample(number: int, more: str, less: str, scores: Sequence[float], **doc: Any) -> dict[str, Any]:
    """One line of lm-eval 0.4.13's samples of `crows_pairs_english`."""
    facts = {"bias_type": "age", "stereo_antistereo": "stereo", **doc}
    return {
        "doc_id": number,
        "doc": {"sent_more": more, "sent_less": less, **facts},
        "target": "0",
        "arguments": {f"gen_args_{n}": {"arg_0": "", "arg_1": text} for n, text in enumerate((more, less))},
        "resps": [[[str(score), "False"]] for score in scores],
        "filtered_resps": [[str(score), "False"] for score in scores],
        "filter": "none",
        "metrics": ["likelihood_diff", "pct_stereotype"],
        "likelihood_diff": abs(scores[0] - scores[1]),
        "pct_stereotype": float(scores[0] > scores[1]),
    }


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory, miniature: Path) -> AuditResult:
    """Two datasets, one of them on the hub, two measures, an item that one of them cannot score."""
    folder = tmp_path_factory.mktemp("interchange")
    own = folder / "own.csv"
    own.write_text(
        'more,less,category\n"He said, ""sí"".","She said, ""sí"".",gender\nhi,hi there,x\n', encoding="utf-8"
    )
    return unmask.audit(
        zoo.folder("bert-uncased"),
        data=["crows-pairs", str(own)],
        measures=["aul", "sss"],
        limit=12,
        data_dir=miniature,
        out=folder / "run",
        store=False,
    )
