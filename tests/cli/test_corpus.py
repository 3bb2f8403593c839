"""`unmask corpus`, as a user runs it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import unmask
from report.htmls import Page
from unmask.cli import main
from unmask.core.errors import ResultError, UnknownName


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    code = 0
    try:
        main(list(argv))
    except SystemExit as done:
        code = int(done.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("She is a nurse.\nHe is a cook and his brother is one, too.\nThe women left.\n", encoding="utf-8")
    return path


def test_counts_are_printed_with_their_interval(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "corpus", "count", str(text), "--quiet")
    assert code == 0
    assert "2 feminine and 3 masculine words among 17 in 3 documents" in out
    assert "ILPS = ln(P_feminine / P_masculine): −0.405" in out
    assert "nurse" in out


def test_json_page_and_table_hold_the_same(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, table = tmp_path / "out", tmp_path / "rows.csv"
    code, out, _ = run(
        capsys, "corpus", "count", str(text), "--json", "--out", str(folder), "--per-document", str(table), "--quiet"
    )
    assert code == 0
    whole = json.loads(out)
    assert whole["kind"] == "corpus"
    details = whole["details"]
    assert details["counts"] == {"feminine": 2, "masculine": 3}
    assert details["terms"] == {"she": 1, "women": 1, "he": 1, "his": 1, "brother": 1}
    nurse = {"profession": "nurse", "sentences": 1, "first": 1, "second": 0}
    assert details["professions"][1].items() >= nurse.items()
    assert whole == json.loads((folder / "result.json").read_text(encoding="utf-8"))
    page = Page((folder / "report.html").read_text(encoding="utf-8")).text
    assert "2 feminine and 3 masculine words among 17 in 3 documents" in page
    assert "−0.405, no interval: too few words over 3 documents" in page  # one document has all of "he"
    assert "feminine 2 117.647 (0.000 to 724.585) 2 272 masculine 3 176.471" in page
    assert len(table.read_text(encoding="utf-8").splitlines()) == 4


def test_other_sets_and_names(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms = tmp_path / "terms.csv"
    terms.write_text("a,b\nnurse,cook\n,brother\n", encoding="utf-8")
    argv = ("corpus", "count", str(text), "--terms", str(terms), "--names", "care", "rest", "--no-professions")
    code, out, _ = run(capsys, *argv, "--quiet")
    assert code == 0
    assert "1 care and 2 rest words" in out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("none.txt",), "no file 'none.txt'"),
        (("TEXT", "--documents", "page"), "unit is 'page', expected line, block or file"),
        (("TEXT", "--terms", "a.csv", "--lists", "b", "c"), "give one of them"),
        (("TEXT", "--per-document", "rows.txt"), "must end in .csv or .parquet"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    text: Path, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], said: str
) -> None:
    named = [str(text) if one == "TEXT" else one for one in argv]
    code, out, err = run(capsys, "corpus", "count", *named, "--quiet")
    assert code == 2
    assert out == ""
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_python_counts_with_the_defaults_of_the_command(text: Path, tmp_path: Path) -> None:
    """`unmask.corpus` is a package, and its functions are the commands."""
    result = unmask.corpus.count(text, out=tmp_path / "out", processes=1)
    assert unmask.load(tmp_path / "out").meta == result.meta
    first, feminine, masculine, *professions = result.estimates
    assert (first.measure, first.statistic, first.null, first.n) == ("corpus-count", "ilps", 0.0, 3)
    assert first.value == pytest.approx(math.log(2 / 3))
    assert (feminine.group, masculine.group) == ("set=feminine", "set=masculine")
    assert (feminine.value, masculine.value) == pytest.approx((2 / 17, 3 / 17))
    shares = {one.group: (one.statistic, one.value, one.n) for one in professions}
    assert shares == {
        "profession=nurse": ("feminine-share", 1.0, 1), "profession=cook": ("feminine-share", 0.0, 1),
    }  # fmt: skip
    with pytest.raises(UnknownName, match="whitespce"):
        unmask.corpus.count(text, whitespce=True)


def test_two_corpora_can_be_compared(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their estimates are of the same words, whatever their files are called."""
    other = tmp_path / "other.txt"
    other.write_text("She met her sister.\nHe is here.\nShe left.\n", encoding="utf-8")
    for path in (text, other):
        unmask.corpus.count(path, out=tmp_path / path.stem)
    code, out, _ = run(capsys, "compare", str(tmp_path / "text"), str(tmp_path / "other"))
    assert code == 0
    assert "ilps" in out


def test_a_folder_of_other_files_is_refused_before_any_work(text: Path, tmp_path: Path) -> None:
    """`unmask corpus bias` refused it only after hours of training."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    for function in (unmask.corpus.count, unmask.corpus.bias):
        with pytest.raises(ResultError, match="holds other files"):
            function(text, out=tmp_path / "mine")


def test_the_unit_of_documents_has_two_names(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("--unit", "--documents"):
        _, out, _ = run(capsys, "corpus", "count", str(text), name, "file", "--quiet")
        assert "in 1 documents" in out
