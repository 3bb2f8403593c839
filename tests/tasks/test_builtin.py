"""The built-in model learns tasks on a CPU, from built-in sentences and from a part of published data."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import zoo
from unmask.cli import main
from unmask.data import examples, nli, stsb
from unmask.tasks import Grid
from unmask.tasks.nlibias import NliBiasOptions
from unmask.tasks.stsbias import StsBiasOptions

from .tiny_models import evaluate

pytestmark = pytest.mark.slow


WHO = ("man", "woman", "girl", "boy", "baker", "soldier", "tourist", "dancer")
DOING = {
    "carrying": "carries",
    "painting": "paints",
    "washing": "washes",
    "selling": "sells",
    "repairing": "repairs",
    "drawing": "draws",
}
WHAT = ("a chair", "a boat", "an old bicycle", "a basket", "two lamps", "a wooden door")
WHERE = ("in the garden", "on the beach", "at the station", "in a dark cellar", "near the church")
BESIDE = (
    "is waiting for a friend",
    "has won a prize",
    "lives in the next village",
    "is going home soon",
    "likes cold soup",
)


def write_table(path: Path, rows: Sequence[tuple[Any, ...]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return path


def own_captions(number: int, seed: int) -> list[tuple[str, str, float]]:
    """Two captions that have none, one, two or all of doer, deed and thing in common."""
    rng, rows = random.Random(seed), []
    for at in range(number):
        first, second = zip(*(rng.sample(words, 2) for words in (WHO, list(DOING), WHAT)), strict=True)
        same = rng.sample(range(3), at % 4)
        who, doing, what = (first[part] if part in same else second[part] for part in range(3))
        pair = (f"A {first[0]} is {first[1]} {first[2]}.", f"A {who} {DOING[doing]} {what}.")
        rows.append((*pair, 5 * len(same) / 3))
    return rows


def published_captions(folder: Path, part: str, most: int) -> list[tuple[str, str, float]]:
    """The video captions of a part of STS-B, which are short."""
    (source,) = [file for file in examples.published_sources(stsb.CARD, data_dir=folder) if part in file.name]
    lines = source.path.read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if "\tMSRvid\t" in line][:most]
    return [(row[5], row[6], float(row[4])) for row in cells]


def test_similarity_is_learnt_and_its_bias_has_an_interval(tmp_path: Path, data_dir: Path) -> None:
    ours = data_dir == zoo.MINIATURE
    parts = {
        part: own_captions(number, seed) if ours else published_captions(data_dir, part, number)
        for seed, (part, number) in enumerate((("train", 400 if ours else 700), ("dev", 120 if ours else 250)))
    }
    paths = {
        part: write_table(tmp_path / f"{part}.csv", [("sentence1", "sentence2", "score"), *rows])
        for part, rows in parts.items()
    }
    settings = StsBiasOptions(
        data_dir=data_dir, train=paths["train"], dev=paths["dev"], grid=Grid((8,), (1.5e-4,), (3.0,)), limit=6
    )
    done = evaluate("stsbias", ["builtin"], settings)
    fine_tuned, found = done.observations[0].fine_tuned, done.observations[0].result
    assert fine_tuned.dev.value >= 0.70
    r = found.r["BLS 2015"]
    assert r.low < r.value < r.high


def own_inferences(number: int, seed: int) -> list[examples.Example]:
    """What follows, what may be, and what cannot be, of people who do something somewhere."""
    rng, rows = random.Random(seed), []
    for at in range(number):
        who, (doing, other), (where, elsewhere) = (rng.choice(WHO), rng.sample(list(DOING), 2), rng.sample(WHERE, 2))
        hypotheses = {
            "entailment": [f"A {who} is {where}.", f"Somebody is {doing} something."],
            "neutral": [f"The {who} {rng.choice(BESIDE)}."],
            "contradiction": [f"The {who} is {elsewhere}.", f"Nobody is {doing} or {other} anything."],
        }
        label = nli.LABELS[at % 3]
        premise = f"A {who} is {doing} {rng.choice(WHAT)} {where}."
        rows.append(examples.Example(premise, rng.choice(hypotheses[label]), label))
    return rows


def published_inferences(folder: Path) -> dict[str, list[examples.Example]]:
    """A part of both corpora, short sentences."""
    train, dev, _ = examples.published_sources(nli.CARD, data_dir=folder)
    more = nli.load(examples.user_source(folder / nli.MNLI_DEV))
    short = [one for one in more if len(f"{one.text} {one.second}") < 120]
    return {"train": [*nli.load(train)[:2500], *short[:500]], "dev": [*nli.load(dev)[:400], *short[500:600]]}


def test_inference_is_learnt(tmp_path: Path, data_dir: Path) -> None:
    """Far above the majority class."""
    ours = data_dir == zoo.MINIATURE
    parts = {"train": own_inferences(600, 0), "dev": own_inferences(150, 1)} if ours else published_inferences(data_dir)
    for name, rows in parts.items():
        lines = [json.dumps({"premise": row.text, "hypothesis": row.second, "label": row.label}) for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    settings = NliBiasOptions(
        train=tmp_path / "train.jsonl",
        dev=tmp_path / "dev.jsonl",
        grid=Grid((16,), (2e-4,), (2.0,)),
        length=64,
        triples=400,
    )
    done = evaluate("nlibias", ["builtin"], settings)
    fine_tuned, found = done.observations[0].fine_tuned, done.observations[0].result
    assert found.estimates[0].n == 400
    assert fine_tuned.dev.low > fine_tuned.majority_share + 0.05
    assert not any("not learnt" in note for note in done.conclusion.finding.notes)


def test_biographies_end_to_end(tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["task", "biasbios", "--data-dir", str(data_dir), "--grid", "batch=16 rate=1e-4 epochs=1"]
    words += ["--rows", "320", "--length", "48", "--out", str(tmp_path / "out"), "--quiet", "--scrub"]
    with pytest.raises(SystemExit) as left:
        main(words)
    assert not left.value.code
    said = capsys.readouterr().out
    assert "mean TPR gap" in said
    assert "are a small sample" in " ".join(said.split())
    assert (tmp_path / "out" / "report.html").is_file()


def test_winobias_in_one_command(tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["task", "winobias", "--data-dir", str(data_dir), "--limit", "60", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as left:
        main([*words, "--quiet", "--no-store"])
    assert not left.value.code
    said = " ".join(capsys.readouterr().out.split())
    assert "builtin: " in said
    assert "accuracy, pro, %" in said
