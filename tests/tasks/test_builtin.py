"""The built-in model learns real tasks from a part of real data, on a processor: slow, but whole."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import unmask
from unmask.cli import main
from unmask.data import nli, stsb
from unmask.data.examples import own
from unmask.tasks import Grid, Settings, find, run

pytestmark = pytest.mark.slow


OPTIONS = unmask.Options(store=False, offline=True)


def captions(published: Path, part: str, path: Path, most: int) -> Path:
    """The video captions of a part of STS-B, which are short, as a table."""
    (source,) = [file for file in published(stsb.CARD, data_dir=published) if part in file.name]
    lines = source.path.read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if "\tMSRvid\t" in line][:most]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("sentence1", "sentence2", "score"))
        writer.writerows((row[5], row[6], row[4]) for row in cells)
    return path


def test_similarity_is_learnt_and_its_bias_has_an_interval(tmp_path: Path, published: Path) -> None:
    settings = Settings(
        data_dir=published,
        train=captions(published, "train", tmp_path / "train.csv", 700),
        dev=captions(published, "dev", tmp_path / "dev.csv", 250),
        grid=Grid((8,), (1.5e-4,), (3.0,)),
        limit=6,
    )
    done = run(find("stsbias"), ["builtin"], settings=settings, options=OPTIONS)
    told, found = done.seen[0].taught, done.seen[0].what
    assert told.dev.value >= 0.70
    r = found.r["BLS 2015"]
    assert r.low < r.value < r.high
    assert f"|r| {abs(r.value):.3f}" in done.finding.answers[0]


def test_inference_is_learnt(tmp_path: Path, published: Path) -> None:
    """A part of both corpora, short sentences: far above the commonest class."""
    train, dev, _ = published(nli.CARD, data_dir=published)
    more = [one for one in nli.load(own(published / nli.MNLI_DEV)) if len(f"{one.text} {one.second}") < 120]
    parts = {"train": [*nli.load(train)[:2500], *more[:500]], "dev": [*nli.load(dev)[:400], *more[500:600]]}
    for name, rows in parts.items():
        lines = [
            json.dumps({"premise": one.text, "hypothesis": one.second, "label": one.label}) for one in rows
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    settings = Settings(
        train=tmp_path / "train.jsonl",
        dev=tmp_path / "dev.jsonl",
        grid=Grid((16,), (2e-4,), (2.0,)),
        length=64,
        triples=400,
    )
    done = run(find("nlibias"), ["builtin"], settings=settings, options=OPTIONS)
    told, found = done.seen[0].taught, done.seen[0].what
    assert found.n == 400
    assert told.dev.low > told.base + 0.05
    assert not any("not learnt" in note for note in done.finding.notes)


def test_biographies_end_to_end(tmp_path: Path, published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["task", "biasbios", "--data-dir", str(published), "--grid", "batch=16 rate=1e-4 epochs=1"]
    words += ["--rows", "320", "--length", "48", "--out", str(tmp_path / "out"), "--quiet", "--scrub"]
    with pytest.raises(SystemExit) as left:
        main(words)
    assert not left.value.code
    said = capsys.readouterr().out
    assert "mean TPR gap" in said
    assert "a sample for trying things out" in " ".join(said.split())
    assert (tmp_path / "out" / "report.html").is_file()


def test_winobias_in_one_command(tmp_path: Path, published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "task",
        "winobias",
        "--data-dir",
        str(published),
        "--limit",
        "60",
        "--out",
        str(tmp_path / "out"),
    ]
    with pytest.raises(SystemExit) as left:
        main([*words, "--quiet", "--no-store"])
    assert not left.value.code
    assert "builtin: " in capsys.readouterr().out
