"""`unmask vectors` against plain computations: files written here, tiny models, and what it refuses."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zoo
from unmask.cli import main
from unmask.models import open_lm
from unmask.vectors.contextual import text_vectors
from unmask.vectors.directions import GENDER
from unmask.vectors.questions import read_questions, weat_questions
from vectors.weat_reference import effect  # type: ignore[import-not-found]


def code(*words: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    return int(left.value.code or 0)


def glove(path: Path, rows: dict[str, list[float]]) -> Path:
    """A file in GloVe's format."""
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows.items()))
    return path


def question(path: Path) -> Path:
    """A question small enough for pen and paper."""
    sets = {"x": ["he", "man"], "y": ["she", "woman"], "a": ["work"], "b": ["home"]}
    path.write_text(json.dumps({"name": "tiny", **{k: {"name": k, "texts": v} for k, v in sets.items()}}))
    return path


TINY = {
    "he": [1.0, 0.0],
    "man": [0.6, 0.8],
    "she": [0.0, 1.0],
    "woman": [0.8, 0.6],
    "work": [1.0, 0.0],
    "home": [0.0, 1.0],
}


def read_finding(out: Path, number: int = 0) -> dict[str, Any]:
    whole = json.loads((out / "result.json").read_text(encoding="utf-8"))
    return dict(whole["findings"][number])


def test_known_values_of_a_glove_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By hand: s = 1, −0.2, −1, 0.2; means 0.4 and −0.4; squares 2.08, sample deviation √(2.08 / 3)."""
    path, asked, out = glove(tmp_path / "tiny.txt", TINY), question(tmp_path / "tiny.json"), tmp_path / "out"
    assert code("vectors", path, "--questions", asked, "--out", out, "--quiet") == 0
    (row,) = read_finding(out)["tables"][0]["rows"]
    assert row["effect size"]["value"] == pytest.approx(0.8 / (2.08 / 3) ** 0.5)
    s = [1.0, -0.2, -1.0, 0.2]
    as_much = [sum(s[i] for i in some) for some in combinations(range(4), 2)]
    assert row["p"] == pytest.approx(sum(one >= 0.8 - 1e-9 for one in as_much) / 6)
    assert row["p (Holm)"] == row["p"]
    assert row["partitions"] == "6 exact"
    assert "tiny" in capsys.readouterr().out
    assert sorted(one.name for one in out.iterdir()) == ["report.html", "result.json", "weat-effects.svg"]
    again = tmp_path / "population"
    assert code("vectors", path, "--questions", asked, "--out", again, "--population", "--no-report", "--quiet") == 0
    (row,) = read_finding(again)["tables"][0]["rows"]
    assert row["effect size"]["value"] == pytest.approx(0.8 / (2.08 / 4) ** 0.5)


def test_weat_and_words_on_random_vectors(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    jobs = ["nurse", "doctor", "clerk", "pilot"]
    words = dict.fromkeys(
        [*(t for q in weat_questions()[5:8] for t in q.texts()), *(w for p in GENDER for w in p), *jobs]
    )
    rows = {word.lower(): rng.normal(size=12).round(4).tolist() for word in words}
    path = glove(tmp_path / "random.txt", rows)
    (tmp_path / "jobs.txt").write_text("\n".join([*jobs, "unheardof"]))
    out = tmp_path / "out"
    asked = ["--measure", "weat,direct-bias,ripa,knn-bias", "--questions", "weat-6", "--questions", "weat-7"]
    told = ["--words", tmp_path / "jobs.txt", "--neighbours", "20", "--lower", "--no-report", "--quiet"]
    assert code("vectors", path, *asked, *told, "--out", out) == 0
    vectors = {word: np.array(row) for word, row in rows.items()}
    for row, one in zip(read_finding(out)["tables"][0]["rows"], weat_questions()[5:7], strict=True):
        sets = [[vectors[text.lower()] for text in group.texts] for group in one.groups()]
        assert row["effect size"]["value"] == pytest.approx(effect(*sets))
    unit = {word: row / np.linalg.norm(row) for word, row in vectors.items()}
    pairs = [(a.lower(), b.lower()) for a, b in GENDER]
    along = np.linalg.svd(np.array([unit[a] - unit[b] for a, b in pairs]))[2][0]
    direct = read_finding(out, 1)["tables"][0]["rows"][0]["mean over words"]["value"]
    assert direct == pytest.approx(np.mean([abs(unit[job] @ along) for job in jobs]))
    apart = np.linalg.svd(np.array([vectors[a] - vectors[b] for a, b in pairs]))[2][0]
    size = read_finding(out, 2)["tables"][0]["rows"][1]["mean over words"]["value"]
    assert size == pytest.approx(np.mean([abs(vectors[job] @ apart) for job in jobs]))
    assert read_finding(out, 3)["tables"][0]["rows"][0]["words"] == 4
    assert any("no vector for unheardof" in note for note in read_finding(out, 1)["notes"])


def test_neighbours_lean_as_before_the_mitigation(tmp_path: Path) -> None:
    """Without --before the gender that a mitigation removed would be gone from the leans, and its traces unseen.

    Words lean along the first axis and have company along the second; the mitigation removed the first.
    """
    jobs, side = [f"job{number}" for number in range(20)], {}
    rng = np.random.default_rng(2)
    before = {"he": [1.0, 0.0, 0.1], "she": [-1.0, 0.0, 0.1]}
    for number, job in enumerate(jobs):
        side[job] = 1 if number % 2 else -1
        before[job] = [side[job] * (0.5 + number / 100), side[job], *rng.normal(scale=0.1, size=1).tolist()]
    after = {word: [row[0] if word in ("he", "she") else 0.0, *row[1:]] for word, row in before.items()}
    files = glove(tmp_path / "before.txt", before), glove(tmp_path / "after.txt", after)
    (tmp_path / "jobs.txt").write_text("\n".join(jobs))
    (tmp_path / "pairs.csv").write_text("m,f\nhe,she\n")
    told = ["--words", tmp_path / "jobs.txt", "--pairs", tmp_path / "pairs.csv", "--neighbours", "5", "--no-report"]
    asked = ["vectors", files[1], "--measure", "knn-bias", *told, "--quiet"]
    assert code(*asked, "--before", files[0], "--out", tmp_path / "with") == 0
    (row,) = read_finding(tmp_path / "with")["tables"][0]["rows"]
    assert row["correlation"]["value"] > 0.9
    assert "in before.txt" in read_finding(tmp_path / "with")["tables"][0]["note"]
    assert code(*asked, "--out", tmp_path / "without") == 0
    (row,) = read_finding(tmp_path / "without")["tables"][0]["rows"]
    assert row["correlation"]["value"] is None


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_seat_of_a_model_equals_a_plain_one(name: str, tmp_path: Path, data_dir: Path) -> None:
    out = tmp_path / "out"
    asked = ["--measure", "seat", "--questions", "seat-6", "--data-dir", data_dir, "--layer", "1"]
    assert code("vectors", zoo.folder(name), *asked, "--out", out, "--no-report", "--quiet") == 0
    (one,) = read_questions(data_dir / "bias_bench" / "seat" / "sent-weat6.jsonl")
    lm = open_lm(zoo.folder(name))
    sets = [list(text_vectors(lm, group.texts, layer=1)) for group in one.groups()]
    (row,) = read_finding(out)["tables"][0]["rows"]
    assert row["effect size"]["value"] == pytest.approx(effect(*sets), abs=1e-6)
    assert row["partitions"] == "100,000 sampled"
    assert row["interval"].endswith("over 8+8+8+8")


def test_ceat_samples_from_a_corpus_and_reports_missing_words(tmp_path: Path) -> None:
    asked, corpus, out = question(tmp_path / "tiny.json"), tmp_path / "corpus.txt", tmp_path / "out"
    texts = json.loads(asked.read_text())
    texts["x"]["texts"].append("nowhere")
    asked.write_text(json.dumps(texts))
    corpus.write_text("".join(f"{a} saw {word} there.\n" for word in TINY for a in ("We", "You", "They")))
    told = ["--measure", "ceat", "--questions", asked, "--corpus", corpus, "--draws", "30", "--no-report", "--quiet"]
    assert code("vectors", zoo.folder("bert-uncased"), *told, "--out", out) == 0
    (row,) = read_finding(out)["tables"][0]["rows"]
    assert row["draws"] == 30
    assert row["contexts a word"] == "3"
    assert row["combined effect"]["low"] <= row["combined effect"]["value"] <= row["combined effect"]["high"]
    assert any("no vector for nowhere" in note for note in read_finding(out)["notes"])


@pytest.mark.thorough
def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = glove(tmp_path / "tiny.txt", TINY)
    model = str(zoo.folder("bert-uncased"))
    capsys.readouterr()  # what making the model printed
    for words, line in (
        (["nofile.txt"], "'nofile.txt' is not a file: give a file of word vectors, a hub name or a folder"),
        ([str(path), "--measure", "weet"], "no vector measure named 'weet'. Did you mean weat"),
        ([str(path), "--measure", "seat"], "seat needs a model: tiny.txt has static word vectors only"),
        ([str(path), "--questions", "weat-1"], "has none of the"),
        ([str(path), "--pooling", "max"], "pooling is 'max', expected first, last, mean or mean-all"),
        ([model, "--measure", "ceat"], "give a corpus"),
        ([model, "--questions", "weat-6-sentences", "--layer", "99"], "there is no layer 99"),
    ):
        assert code("vectors", *words, "--out", str(tmp_path / "out"), "--quiet") == 2
        said = capsys.readouterr()
        assert line in said.err
        assert said.err.count("\n") == 1
