"""`unmask.corpus.bias`: one call trains on the corpus and on its placebo, and compares."""

from __future__ import annotations

from pathlib import Path

import pytest

import unmask
import zoo
from corpus.test_training_effect import few_looks
from unmask.core.errors import DataError
from unmask.corpus import training_effect


@pytest.mark.slow
def test_the_effect_of_a_corpus_is_a_result_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_effect, "evaluate_model", few_looks)
    path, out = tmp_path / "text.txt", tmp_path / "out"
    lines = [f"The guard number {number} said that he was tired of the rain." for number in range(200)]
    path.write_text("\n".join(lines), encoding="utf-8")
    labels: set[str] = set()
    result = unmask.corpus.bias(
        path,
        str(zoo.folder("bert-uncased")),
        out=out,
        lr=1e-3,
        limit=60,
        store=False,
        device="cpu",
        progress=lambda label, share, total, note="": labels.add(label),
    )
    assert labels == {"training on the corpus", "training on the placebo"}
    assert unmask.load(out).meta == result.meta
    assert (result.kind, result.meta["details"]["documents"]) == ("corpus", 60)
    assert result.meta["options"]["epochs"] == 1.0
    first = result.estimates[0]
    assert (first.measure, first.statistic, first.null) == ("sld", "asld-corpus-minus-placebo", 0.0)
    abilities = {(one.model, one.statistic) for one in result.estimates if one.model}
    assert len(abilities) == 6  # accuracy and perplexity of start, corpus and placebo
    assert (out / "corpus-0" / "model.safetensors").is_file()
    with pytest.raises(DataError, match="give as many, or limit the corpus"):
        unmask.corpus.bias(path, placebo=_write(tmp_path / "short.txt", "One sentence."))


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
