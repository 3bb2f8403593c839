"""Run files: what they record, that they repeat a command exactly, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import unmask
import zoo
from unmask.cli import main
from unmask.cli.run import prepare, read_run
from unmask.core.errors import UnmaskError

PAIRS = "more,less,category\nHe said so.,She said so.,gender\nMy father left.,My mother left.,family\n"
Say = Callable[..., tuple[int, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run a command in a folder with `own.csv` and the folder `bert` of a tiny model: its exit code and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text(PAIRS, encoding="utf-8")
    if not (tmp_path / "bert").exists():
        (tmp_path / "bert").symlink_to(zoo.folder("bert-uncased"))

    def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr("warnings.showwarning", None)
            with pytest.raises(SystemExit) as left:
                main([*words])
        return int(left.value.code or 0), capsys.readouterr().err

    return run


@pytest.fixture
def run_file(say: Say, tmp_path: Path) -> Path:
    """The run file of an audit whose result is in `first`."""
    words = ["audit", "bert", "--data", "own.csv", "--measure", "cps", "aul", "--seed", "3", "--no-store"]
    code, said = say(*words, "--out", "first", "--no-report", "--save-config", "audit.yaml")
    assert (code, "run file in audit.yaml" in said) == (0, True), said
    return tmp_path / "audit.yaml"


def edit(path: Path, **changes: object) -> None:
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes), encoding="utf-8")


def test_a_run_file_has_the_options_the_checksums_and_the_versions(run_file: Path) -> None:
    content = yaml.safe_load(run_file.read_text())
    first = unmask.load("first")
    assert content["command"] == "audit"
    assert content["on"] == {"model": "bert"}
    assert content["options"] == {"data": ["own.csv"], "measures": ["cps", "aul"], "seed": 3, "store": False}
    defaults = {"precision": "plain", "dtype": "fp32", "parallel": 4, "timeout": 120.0, "retries": 6}
    assert defaults.items() <= content["defaults"].items()
    assert content["files"] == {"own.csv": first.meta["data"][0]["sha256"]}
    assert content["models"] == [{"id": first.models[0]["id"], "fingerprint": first.models[0]["fingerprint"]}]
    assert content["versions"] == first.meta["versions"]


def test_an_audit_is_repeated_exactly_from_its_file_and_from_its_folder(run_file: Path, say: Say) -> None:
    first = unmask.load("first")
    assert first.request is not None
    assert first.request.command_line() == (
        "unmask audit bert --data own.csv --measure cps --measure aul --seed 3 --no-store"
    )
    for source in ("audit.yaml", "first"):
        code, said = say("run", source, "--out", "again", "--no-report")
        assert code == 0, said
        again = unmask.load("again")
        assert again.meta["estimates"] == first.meta["estimates"]
        assert again.items.equals(first.items)
        assert again.meta["tables"] == first.meta["tables"]
        assert again.request == first.request


def test_further_options_replace_those_of_the_file(run_file: Path, say: Say) -> None:
    code, said = say("run", "audit.yaml", "--measure", "pll", "--out", "again", "--no-report", "--quiet")
    assert (code, said) == (0, "")
    assert unmask.load("again").measures() == ("pll",)
    assert unmask.load("again").request.options["seed"] == 3  # type: ignore[union-attr]


def test_changed_data_are_refused_unless_accepted(run_file: Path, say: Say, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(PAIRS + "He ran.,She ran.,gender\n", encoding="utf-8")
    for source in ("audit.yaml", "first"):
        code, said = say("run", source, "--out", "again")
        assert code == 2
        assert said.startswith(f"unmask: own.csv has changed since {source} was written (sha256 ")
        assert said.count("\n") == 1
    code, _ = say("run", "audit.yaml", "--changed", "--out", "again", "--no-report", "--quiet")
    assert (code, unmask.load("again").meta["data"][0]["n"]) == (0, 3)


def test_changed_built_in_data_are_refused(run_file: Path, say: Say) -> None:
    edit(
        run_file, options={"data": "nine-axes", "limit": 3}, data=[{"name": "nine-axes", "sha256": "0" * 64}], files={}
    )
    code, said = say("run", "audit.yaml")
    assert code == 2
    assert "the data nine-axes has changed since audit.yaml was written" in said


def test_another_model_and_other_versions_are_said_in_one_line_each(run_file: Path, say: Say) -> None:
    content = yaml.safe_load(run_file.read_text())
    edit(run_file, models=[{"id": "bert", "fingerprint": "f" * 32}], versions=content["versions"] | {"torch": "1.0"})
    code, said = say("run", "audit.yaml", "--out", "again", "--no-report", "--quiet")
    lines = said.splitlines()
    assert code == 0
    assert lines[0].startswith("unmask: audit.yaml was written with other versions, so numbers can differ: torch ")
    assert lines[0].endswith(" instead of 1.0")
    assert lines[1] == "unmask: bert is not the model of audit.yaml: its weights or configuration have changed"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[audit]", "holds ['audit'], expected a mapping with a command"),
        ("options: {}", "audit.yaml has no command"),
        ("command: audti", "no command named 'audti'. Did you mean audit?"),
        ("command: corpus cont", "no command of unmask corpus named 'cont'. Did you mean count?"),
        ("command: explore", "unmask explore cannot be repeated from a run file"),
        ("command: run", "unmask run cannot be repeated from a run file"),
        ("{command: audit, option: {}}", "no key of a run file (audit.yaml) named 'option'. Did you mean options?"),
        ("{command: audit, options: {limt: 3}}", "no option of unmask audit (audit.yaml) named 'limt'. Did you mean"),
        ("{command: audit, options: {limit: [3, 4]}}", "audit.yaml: limit is [3, 4], expected one value"),
        ("{command: audit, options: {limit: true}}", "audit.yaml: limit is True, expected one value"),
        ("{command: audit, options: {no-store: maybe}}", "no-store is 'maybe', expected true or false"),
        ("{command: audit, options: {limit: many}}", "Invalid value for '--limit'"),
        ("{command: audit, options: {limit: 0}}", "limit is 0, expected at least 1"),
        ("{command: audit, options: {dtype: fp8}}", "dtype is 'fp8', expected fp32, bf16, fp16, int8 or int4"),
        ("{command: audit, options: {data: gone.csv}}", "gone.csv"),
        ("{command: audit, options: {model: [bert, bert]}}", "model is ['bert', 'bert'], expected one value"),
        ("{command: audit, options: {seed: .nan}}", "Invalid value for '--seed'"),
        ("{command: audit, options: {trust-remote-code: true}}", "trust-remote-code, which can run code"),
        ("command: audit\ncommand: audit\n", "line 2: not YAML"),
    ],
)
def test_a_bad_run_file_is_refused_in_one_line(content: str, reason: str, say: Say, tmp_path: Path) -> None:
    (tmp_path / "audit.yaml").write_text(content, encoding="utf-8")
    code, said = say("run", "audit.yaml", "--quiet")
    assert (code, said.count("\n")) == (2, 1), said
    assert reason in said


def test_what_is_no_run_file_is_refused_in_one_line(say: Say, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, reason in (("gone.yaml", "gone.yaml cannot be read"), ("empty", "no result.json in empty")):
        code, said = say("run", name)
        assert (code, said.count("\n")) == (2, 1)
        assert reason in said


def test_a_result_whose_command_is_unknown_or_damaged_is_refused(run_file: Path, say: Say, tmp_path: Path) -> None:
    path = tmp_path / "first" / "result.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    request = meta["request"]
    for damaged in (
        *(None, 3, "", [], {}),
        *({**request, "command": command} for command in (None, 3, "", "rm -rf /", "data show", "run")),
        *({**request, "options": options} for options in (None, [], {"limit": "x"}, {"nope": 1}, {"data": [None]})),
    ):
        meta["request"] = damaged
        path.write_text(json.dumps(meta), encoding="utf-8")
        code, said = say("run", "first")
        assert (code, said.count("\n")) == (2, 1), said


def test_code_of_a_model_needs_the_flag_on_the_command_line(run_file: Path) -> None:
    edit(run_file, on={"model": "bert"}, options={"trust-remote-code": True})
    with pytest.raises(UnmaskError, match="add --trust-remote-code"):
        prepare(read_run(run_file))
    _, command = prepare(read_run(run_file), ["--trust-remote-code"])
    assert command.params["trust_remote_code"] is True


def test_options_can_be_named_as_they_are_written(run_file: Path) -> None:
    """In a file written by hand."""
    content = {"model": "bert", "measure": "cps", "no-store": True, "data-dir": "d", "tf32": True}
    run_file.write_text(yaml.safe_dump({"command": "audit", "options": content}), encoding="utf-8")
    params = prepare(read_run(run_file))[1].params
    assert (params["model"], params["measures"], params["tf32"]) == ("bert", ["cps"], True)
    assert (params["store"], str(params["data_dir"])) == (True, "d")  # the switch --no-store is on


def test_a_command_of_two_words_is_repeated(say: Say, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("The nurse said that she was late. He told her so.\n" * 40, encoding="utf-8")
    words = ["corpus", "count", "text.txt", "--out", "one", "--no-report", "--quiet", "--save-config", "count.yaml"]
    code, said = say(*words)
    assert (code, said) == (0, "")
    content = yaml.safe_load((tmp_path / "count.yaml").read_text())
    assert content["command"] == "corpus count"
    assert "text.txt" in content["files"]
    code, said = say("run", "count.yaml", "--out", "two", "--no-report", "--quiet")
    assert (code, said) == (0, "")
    assert unmask.load("two").meta["findings"] == unmask.load("one").meta["findings"]


def test_objects_of_python_have_no_command(tmp_path: Path, say: Say) -> None:
    own = unmask.data.from_records([("He ran home.", "She ran home."), ("He sat.", "She sat.")])
    result = unmask.audit(zoo.folder("bert-uncased"), data=own, measures="pll", out=tmp_path / "own")
    assert result.request is not None
    assert not result.request.has_names
    code, said = say("run", "own")
    assert (code, "objects of Python" in said) == (2, True)


def test_an_absolute_path_is_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(PAIRS, encoding="utf-8")
    model = zoo.folder("bert-uncased")
    result = unmask.audit(model, data=tmp_path / "own.csv", measures="pll", limit=1, data_dir=tmp_path)
    assert result.request is not None
    assert result.request.command_line() == f"unmask audit {model.name} --data own.csv --measure pll --limit 1"
