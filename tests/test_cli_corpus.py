"""`unmask corpus`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from report.htmls import Page
from unmask.cli import main


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
    path.write_text(
        "She is a nurse.\nHe is a cook and his brother is one, too.\nThe women left.\n", encoding="utf-8"
    )
    return path


def test_counts_are_printed_with_their_interval(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "corpus", "count", str(text), "--quiet")
    assert code == 0
    assert "2 feminine and 3 masculine words among 17 in 3 documents" in out
    assert "ILPS = ln(P_feminine / P_masculine) = -0.405" in out
    assert "nurse" in out


def test_json_page_and_table_hold_the_same(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, table = tmp_path / "out", tmp_path / "rows.csv"
    code, out, _ = run(
        capsys,
        "corpus",
        "count",
        str(text),
        "--json",
        "--out",
        str(folder),
        "--per-document",
        str(table),
        "--quiet",
    )
    assert code == 0
    whole = json.loads(out)
    assert whole["counts"] == {"feminine": 2, "masculine": 3}
    assert whole["terms"] == {"she": 1, "women": 1, "he": 1, "his": 1, "brother": 1}
    assert whole == json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    page = Page((folder / "report.html").read_text(encoding="utf-8")).text
    assert "2 feminine and 3 masculine words among 17 in 3 documents" in page
    assert "-0.405 (no interval: too few words over 3 documents)" in page  # one document has all of "he"
    assert "feminine 2 117.647 (0.000 to 724.585) 2 272 masculine 3 176.471" in page
    assert len(table.read_text(encoding="utf-8").splitlines()) == 4


def test_other_sets_and_names(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms = tmp_path / "terms.csv"
    terms.write_text("a,b\nnurse,cook\n,brother\n", encoding="utf-8")
    argv = (
        "corpus",
        "count",
        str(text),
        "--terms",
        str(terms),
        "--names",
        "care",
        "rest",
        "--no-professions",
    )
    code, out, _ = run(capsys, *argv, "--quiet")
    assert code == 0
    assert "1 care and 2 rest words" in out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("none.txt",), "no file 'none.txt'"),
        (("TEXT", "--documents", "page"), "line or block or file"),
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
