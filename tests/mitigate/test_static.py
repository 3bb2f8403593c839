"""`unmask mitigate` on a file of word vectors would write wrong or unreadable vectors if these failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unmask
from unmask.core.errors import DataError, ModelError, ResultError
from unmask.mitigate.methods.projection import ProjectionOptions
from unmask.mitigate.vectors import gendered_words, make_plan
from unmask.vectors.questions import load_questions
from unmask.vectors.static import Format, WordVectors, format_of, read_vectors, write_vectors, written_name

JOBS = tuple(f"job{number}" for number in range(120))
GENDERED = ("he", "she", "man", "woman", "king", "queen", "father", "mother")


def small_vectors() -> WordVectors:
    """Jobs lean along the first axis and, as much, along the second; WEAT's words are there at random."""
    dice = np.random.default_rng(4)
    questions = load_questions(("weat-1", "weat-2", "weat-6", "weat-7", "weat-8"))
    others = dict.fromkeys(text for question in questions for text in question.texts() if text not in GENDERED)
    words = (*GENDERED, *JOBS, *others)
    matrix = dice.normal(scale=0.2, size=(len(words), 8))
    matrix[: len(GENDERED), 0] += np.tile([1.0, -1.0], len(GENDERED) // 2)
    lean = np.linspace(-1, 1, len(JOBS))
    matrix[len(GENDERED) : len(GENDERED) + len(JOBS), :2] += np.stack([lean, np.sign(lean)], axis=1)
    return WordVectors(words, matrix.astype(np.float32).astype(np.float64), "made")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_vectors(small_vectors(), tmp_path / "made.txt", "glove-text")
    (tmp_path / "pairs.csv").write_text("he,she\nman,woman\nking,queen\n", encoding="utf-8")
    (tmp_path / "jobs.txt").write_text("\n".join(JOBS), encoding="utf-8")
    return tmp_path


def run_mitigation(method: str, files: Path, name: str = "out", **options: Any) -> tuple[unmask.Result, WordVectors]:
    given = {"pairs": files / "pairs.csv", "neutral": files / "jobs.txt", **options}
    result = unmask.mitigate(method, files / "made.txt", out=files / name, **given)
    return result, read_vectors(files / name / "vectors.txt")


@pytest.mark.parametrize("form", ["glove-text", "word2vec-text", "word2vec-binary"])
def test_written_vectors_are_read_back_in_the_same_format(form: Format, tmp_path: Path) -> None:
    path, vectors = tmp_path / written_name(form), small_vectors()
    write_vectors(vectors, path, form)
    again = read_vectors(path)
    assert format_of(path) == form
    assert again.words == vectors.words
    np.testing.assert_array_equal(again.matrix, vectors.matrix)


def test_projection_neutralises_jobs_and_keeps_words_that_have_a_gender(files: Path) -> None:
    result, after = run_mitigation("projection", files, neutralise_only=True)
    before = small_vectors()
    unit = before.matrix / np.linalg.norm(before.matrix, axis=1, keepdims=True)
    kept = after.lookup(GENDERED)
    np.testing.assert_allclose(kept, unit[: len(GENDERED)], atol=1e-6)
    direction = np.linalg.svd(kept[[0, 2, 4]] - kept[[1, 3, 5]])[2][0]
    np.testing.assert_allclose(after.lookup(JOBS) @ direction, 0, atol=1e-6)
    by_name = {(each.measure, each.data): each for each in result.estimates}
    assert by_name["direct-bias", "words"].value == pytest.approx(0, abs=1e-6)
    assert by_name["knn-bias", "words"].value > 0.5  # the second axis is untouched: the company remains
    (probe,) = [each for each in result.estimates if each.measure == "probe"]
    assert probe.low > 50
    earlier = {(each["measure"], each["data"]): each["value"] for each in result.meta["details"]["before"]}
    assert earlier["direct-bias", "words"] > 0.3
    assert result.meta["details"]["outcome"]["changed words"] == len(before.words)  # kept ones are normalised
    assert result.folder is not None
    assert unmask.load(result.folder).meta == result.meta
    again, _ = run_mitigation("projection", files, neutralise_only=True)  # into the same folder
    assert again.estimates == result.estimates


def test_equalised_pairs_are_equally_far_from_every_job(files: Path) -> None:
    (files / "equal.json").write_text(json.dumps([["father", "mother"], ["not", "there"]]), encoding="utf-8")
    result, after = run_mitigation("projection", files, equalise=files / "equal.json")
    father, mother = after.lookup(["father", "mother"])
    np.testing.assert_allclose(after.lookup(JOBS) @ father, after.lookup(JOBS) @ mother, atol=1e-6)
    assert result.meta["details"]["outcome"]["equalised pairs"] == 1


def test_inlp_runs_a_fixed_number_of_rounds_and_hides_the_lean_from_a_probe(files: Path) -> None:
    result, after = run_mitigation(
        "inlp", files, rounds=4, extreme=40, keep=_write(files / "keep.txt", "king\nqueen\n")
    )
    assert result.meta["details"]["outcome"]["directions"] == 4
    np.testing.assert_allclose(after.lookup(["king", "queen"]), small_vectors().lookup(["king", "queen"]), atol=1e-6)
    assert not np.allclose(after.lookup(["father"]), small_vectors().lookup(["father"]), atol=1e-3)  # not in the list
    (probe,) = [each for each in result.estimates if each.measure == "probe"]
    assert probe.value < 75
    free, _ = run_mitigation("inlp", files, "free", extreme=40)
    assert len(free.meta["details"]["outcome"]["accuracies"]) >= 1


def test_oscar_makes_jobs_orthogonal_to_gender_and_keeps_lengths(files: Path) -> None:
    result, after = run_mitigation("oscar", files)
    np.testing.assert_allclose(
        np.linalg.norm(after.matrix, axis=1), np.linalg.norm(small_vectors().matrix, axis=1), rtol=1e-5
    )
    assert 0 < result.meta["details"]["outcome"]["cosine before"] < 1
    leans = [
        abs(float(vectors.lookup(JOBS)[:, 0] @ np.linspace(-1, 1, len(JOBS)))) for vectors in (small_vectors(), after)
    ]
    assert leans[1] < leans[0]


def test_similarities_are_measured_before_and_after(files: Path) -> None:
    judged = "".join(f"job{number},job{number + 60},{number}\n" for number in range(40))
    path = _write(files / "sim.csv", f"one,two,score\n{judged}nowhere,job1,3\n")
    result, after = run_mitigation("projection", files, similarity=path)
    (found,) = [each for each in result.estimates if each.data == "sim.csv"]
    cosines = [float(np.dot(*after.lookup([f"job{n}", f"job{n + 60}"]))) for n in range(40)]
    ranks = np.argsort(np.argsort(cosines))
    assert (found.n, found.value) == (40, pytest.approx(float(np.corrcoef(ranks, np.arange(40))[0, 1])))
    with pytest.raises(DataError, match=r"sim.csv, line 2: found .*expected two words and their similarity"):
        run_mitigation("projection", files, similarity=_write(files / "sim.csv", "a,b,1\nc,d\n"))


def test_words_that_have_a_gender_are_kept_in_every_letter_case() -> None:
    vectors = WordVectors(("he", "she", "King", "QUEEN", "tree"), np.eye(5), "made")
    plan = make_plan(vectors, ProjectionOptions())
    assert plan.keep == {"he", "she", "King", "QUEEN"}
    assert plan.pairs == (("he", "she"),)
    assert {"pregnant", "himself", "actress"} <= {*gendered_words()}


def test_what_cannot_be_done_is_one_line(files: Path) -> None:
    with pytest.raises(ModelError, match=r"cda changes models, and made.txt is a file .* use one of inlp, leace,"):
        unmask.mitigate("cda", files / "made.txt", out=files / "out")
    with pytest.raises(DataError, match="changed without text"):
        unmask.mitigate("inlp", files / "made.txt", corpus=files / "jobs.txt", out=files / "o")
    with pytest.raises(DataError, match="vectors of no pair of words"):
        run_mitigation("projection", files, pairs=_write(files / "p.csv", "emperor,empress\n"))
    with pytest.raises(DataError, match="exclude each other"):
        ProjectionOptions(neutralise_only=True, equalise=files / "pairs.csv")
    (files / "full").mkdir()
    (files / "full" / "mine.txt").write_text("mine")
    with pytest.raises(ResultError, match="give a new or empty folder"):
        run_mitigation("projection", files, "full")


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
