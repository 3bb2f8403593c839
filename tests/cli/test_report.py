"""`unmask report` as a user runs it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from report import made
from unmask import data
from unmask.cli import main
from unmask.core.estimate import Estimate, Value
from unmask.core.types import Dataset
from unmask.findings import Finding, Section, Table
from unmask.findings.envelope import build
from unmask.findings.folder import create


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    axes = data.load("nine-axes")
    few = Dataset(axes.card, axes.items[::6], axes.sha256, axes.verified)
    for i, name in enumerate(("one", "two")):
        made.run(folder / name, [(few, ["cps", "aul"])], model=f"model-{name}", seed=i)
    return [str(folder / "one"), str(folder / "two")]


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["report", *map(str, words)])
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("warnings.showwarning", None)


def test_a_page_of_one_run(folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, folders[0])
    assert (code, out, err) == (0, "wrote report.html\n", "")
    assert "<title>Social bias measured in model-one</title>" in (tmp_path / "report.html").read_text("utf-8")


def test_a_page_of_two_runs(folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *folders, "-o", "sub/both.html")
    assert (code, out) == (0, "wrote sub/both.html\n")
    text = (tmp_path / "sub" / "both.html").read_text(encoding="utf-8")
    assert "<title>Social bias compared: model-one, model-two</title>" in text


def test_a_page_in_the_place_of_a_folder_is_one_line_and_leaves_nothing(
    folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    before = sorted(tmp_path.iterdir())
    code, out, err = run(capsys, folders[0], "-o", "mine")
    assert (code, out) == (2, "")
    assert err.startswith("unmask: cannot write mine (Is a directory)")
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.thorough
def test_figures_are_written_three_ways(folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, folders[0], "--figures", "plots")
    assert code == 0
    files = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert files == [f"{name}.{kind}" for name in ("category-0", "differences", "headline-0")
                     for kind in ("pdf", "png", "svg")]  # fmt: skip
    assert out.endswith("wrote plots\n")
    assert (tmp_path / "plots" / "headline-0.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "plots" / "headline-0.pdf").read_bytes().startswith(b"%PDF")
    drawn = (tmp_path / "plots" / "headline-0.svg").read_text(encoding="utf-8")
    assert "currentColor" not in drawn
    assert ">cps<" in drawn


@pytest.mark.parametrize(("kind", "sign"), [("md", "| cps | bias-score |"), ("latex", "\\toprule")])
def test_tables_go_to_stdout(
    kind: str, sign: str, folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, folders[0], "--format", kind, "--card", "card.md")
    assert code == 0
    assert sign in out
    assert "Changes" not in out
    assert err == "wrote card.md\n"
    assert ModelCard.load(tmp_path / "card.md").data.model_name == "model-one"
    assert not (tmp_path / "report.html").exists()


def test_tables_of_two_runs_have_the_changes(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *folders, "--format", "md")
    titles = [line for line in out.splitlines() if line.startswith("## ")]
    assert titles == ["## Headline estimates", "## Verdicts", "## By category", "## Changes from model-one"]
    _, out, _ = run(capsys, *folders, "--format", "latex")
    assert "would show a difference of" not in out  # sentences are no table of a paper
    _, out, _ = run(capsys, *folders, "--format", "latex", "--table", "checks", "--table", "headline")
    assert out.index("Checks.") < out.index("Headline estimates.")
    assert out.count("\\begin{table}") == 2


def test_csv_is_one_table(folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *folders, "--format", "csv")
    every = list(csv.DictReader(io.StringIO(out)))
    assert {row["model"] for row in every} == {"model-one", "model-two"}
    _, out, _ = run(capsys, *folders, "--format", "csv", "--table", "headline")
    assert {row["group"] for row in csv.DictReader(io.StringIO(out))} == {"all"}
    _, out, _ = run(capsys, *folders, "--format", "csv", "--table", "category")
    groups = {row["group"] for row in csv.DictReader(io.StringIO(out))}
    assert groups == {row["group"] for row in every if row["group"].startswith("category=")}
    _, out, _ = run(capsys, *folders, "--format", "csv", "--table", "changes", "-o", "c.csv")
    assert out == "wrote c.csv\n"
    with (tmp_path / "c.csv").open(encoding="utf-8", newline="") as file:
        assert {(row["a"], row["b"]) for row in csv.DictReader(file)} == {("model-one", "model-two")}
    _, out, _ = run(capsys, folders[0], "--format", "csv", "--table", "checks")
    assert out.splitlines()[0] == "model,name,ok,detail"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--table", "headline"], "tables are selected in the formats md, latex and csv"),
        (["--format", "csv", "--table", "checks", "--table", "headline"], "CSV has one table, 2 were given"),
        (["--format", "md", "--table", "changes"], "needs at least two results"),
    ],
)
def test_invalid_option_combinations_are_reported(
    words: list[str], told: str, folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, folders[0], *words)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_card_takes_one_run(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *folders, "--card", "card.md")
    assert code == 2
    assert "a model card takes one audit, 2 results were given" in err


def test_a_folder_without_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, tmp_path)
    assert code == 2
    assert "no result.json in" in err


def test_results_of_other_commands_have_a_page_and_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A task's result is reported like an audit's: alone, and compared with another by its estimates."""
    table = Table("Gaps", ("who", "gap"), (("nurse", Value(0.5, 0.2, 0.8)),))
    for name, value in (("one", 0.5), ("two", 0.9)):
        estimate = Estimate(value, value - 0.1, value + 0.1, "bca", "toy", "made", "all", "gap", null=0.0, n=9)
        section = Section("toy", "A toy", "How large?", Finding(("It leans.",), (table,)))
        meta = build("task", title=f"Toy of {name}", models=[{"id": name}], estimates=[estimate], findings=[section])
        create(meta, tmp_path / name)
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]
    code, out, _ = run(capsys, folders[0])
    assert (code, out) == (0, "wrote report.html\n")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "It leans." in text
    assert "<h1>Toy of one</h1>" in text
    code, _, _ = run(capsys, *folders, "-o", "both.html")
    assert code == 0
    text = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert "Compared: one, two" in text
    assert "+0.40" in text
    _, out, _ = run(capsys, *folders, "--format", "csv", "--table", "changes")
    (change,) = csv.DictReader(io.StringIO(out))
    assert float(change["change"]) == pytest.approx(0.4)
    assert float(change["low"]) == pytest.approx(0.4 - 0.1 * 2**0.5)  # MOVER: both intervals, in quadrature
    _, out, _ = run(capsys, folders[0], "--format", "md")
    assert "| nurse | 0.50 (0.20 to 0.80) |" in out
