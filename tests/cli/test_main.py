"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

import unmask
import zoo
from unmask.cli import main
from unmask.cli.console import find_command

PAIRS = "more,less,category\nHe said so.,She said so.,gender\nMy father left.,My mother left.,family\n"


class Printed:
    """What one command gave back."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text(PAIRS, encoding="utf-8")

    def run(*words: str | Path) -> Printed:
        capsys.readouterr()
        with monkeypatch.context() as patch:  # main replaces it for the life of its process
            patch.setattr("warnings.showwarning", None)
            with pytest.raises(SystemExit) as left:
                main([str(word) for word in words])
        said = capsys.readouterr()
        return Printed(int(left.value.code or 0), said.out, said.err)

    return run


@cache
def model() -> str:
    return str(zoo.folder("bert-uncased"))


def commands() -> list[tuple[str, ...]]:
    """Every command, those of groups with their second name."""
    import typer

    from unmask.cli import make_app

    group = typer.main.get_command(make_app())
    inner = {
        name: command.list_commands(None) if hasattr(command, "list_commands") else [""]
        for name, command in group.commands.items()
    }
    return [tuple(filter(None, (name, second))) for name, seconds in inner.items() for second in seconds]


def test_every_command_has_json(say) -> None:
    import typer

    from unmask.cli import make_app

    app = typer.main.get_command(make_app())
    assert len(commands()) > 20
    without = [
        words
        for words in commands()
        if not any("--json" in parameter.opts for parameter in find_command(app, words)[0].params)
    ]
    assert without == [("run",)]  # which takes the options of the command that it repeats


def test_no_help_page_has_more_than_25_options() -> None:
    """The options of many commands are described by `unmask list options` alone."""
    import typer

    from unmask.cli import make_app

    app = typer.main.get_command(make_app())
    pages = {words: find_command(app, words)[0].params for words in commands()}
    shown = {
        words: [each for each in parameters if each.param_type_name == "option" and not each.hidden]
        for words, parameters in pages.items()
    }
    assert {words: len(options) for words, options in shown.items() if len(options) > 25} == {}


def test_help_fits_80_columns_and_cuts_nothing(say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = say("-h").out.splitlines()
    assert max(map(len, lines)) <= 80
    listed = lines[lines.index("Commands:") + 1 :]
    assert len(listed) == len({words[0] for words in commands()}), "a summary takes one line"
    assert not [line for line in listed if line.endswith("...")]


def test_lists_explanations_stores_and_reports_as_json(say, runs: tuple[Path, Path]) -> None:
    assert "cps" in json.loads(say("list", "measures", "--json").out)
    assert "measures" in json.loads(say("list", "--json").out)
    (first, *_) = json.loads(say("explain", "a", "--json").out)
    assert {"item", "measure", "difference", "more", "less"} <= first.keys()
    stores = json.loads(say("store", "--json").out)
    assert {"bert-uncased fp32", "bert-cased fp32"} <= {each["model"] for each in stores["stores"]}
    told = json.loads(say("report", "a", "--format", "md", "-o", "x.md", "--json").out)
    assert told == {"files": ["x.md"]}
    assert "Headline" in json.loads(say("report", "a", "--format", "md", "--json").out)["text"]


def test_a_name_of_the_hub_gets_a_suggestion(say) -> None:
    said = say("audit", model(), "--data", "nyu-mll/crows_pairs")
    assert said.code == 2
    assert said.err == "unmask: nyu-mll/crows_pairs is no file: did you mean the dataset crows-pairs?\n"
    assert "did you mean" not in say("audit", model(), "--data", "./gone").err
    assert "Did you mean cps?" in say("audit", model(), "--measure", "CPS").err


def test_a_shell_can_complete_commands_options_and_names() -> None:
    def complete(line: str) -> list[str]:
        variables = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_UNMASK_COMPLETE": "complete_bash"}
        words = [sys.executable, "-m", "unmask"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **variables})
        return done.stdout.split()

    assert complete("unmask au") == ["audit"]
    assert complete("unmask audit --measure cps") == ["cps", "cps-exact"]


def audit(*words: str) -> list[str]:
    return ["audit", model(), "--data", "own.csv", "--quiet", "--no-report", *words]


@pytest.fixture
def runs(say) -> tuple[Path, Path]:
    """Two results of the same data, `a` by a bert and `b` by another."""
    for name, folder in (("a", "bert-uncased"), ("b", "bert-cased")):
        words = ["audit", zoo.folder(folder), "--data", "own.csv", "--measure", "pll,aul", "--out", name]
        assert say(*words, "--quiet", "--no-report").code == 0
    return Path("a"), Path("b")


# ------------------------------------------------------------------------------------- bad input

BAD = {
    "unknown measure": (audit, ["--measure", "alu"], "Did you mean aul"),
    "unknown data": (list, ["audit", "--data", "crow-pairs"], "Did you mean crows-pairs"),
    "missing folder": (list, ["audit", "./nowhere"], "no folder './nowhere'"),
    "missing file": (list, ["audit", "--data", "nowhere.csv"], "does not exist"),
    "other files": (audit, ["--out", "."], "holds other files"),
    "no items": (audit, ["--limit", "0"], "limit is 0"),
    "dtype": (audit, ["--dtype", "x"], "dtype is 'x', expected fp32, bf16, fp16, int8 or int4"),
    "kind": (audit, ["--kind", "x"], "kind is 'x', expected masked or causal"),
    "unfit measure": (audit, ["--measure", "ll"], "a masked model cannot answer ll"),
    "unfit data": (audit, ["--measure", "lms"], "cannot be computed on own"),
    "unknown model": (list, ["audit", "nobody/nothing", "--offline"], "cannot open nobody/nothing"),
    "no run": (list, ["explain", "nowhere"], "no result.json"),
    "one run": (list, ["compare", "nowhere"], "at least two"),
    "no such list": (list, ["list", "things"], "There are: data, diagnoses, measures, mitigations, models"),
    "no such card": (list, ["data", "show", "crows"], "Did you mean"),
    "no baseline": (list, ["gate", "nowhere", "--baseline", "nowhere"], "no result.json"),
    "no report": (list, ["report", "nowhere"], "no result.json"),
    "no tokens": (audit, ["--tokens", "0"], "tokens is 0, expected at least 1"),
    "fewer than no tokens": (audit, ["--tokens", "-1"], "tokens is -1, expected at least 1"),
    "no seed": (audit, ["--seed", "4294967296"], "seed is 4294967296, expected at most 4,294,967,295"),
    "endless draws": (
        list,
        ["diagnose", "stability", "--draws", "1000000000"],
        "draws is 1000000000, expected at most",
    ),
    "no band": (list, ["diagnose", "paraphrase", "--band", "nan"], "band is nan, expected a finite number"),
    "no effect": (list, ["diagnose", "stability", "--effect", "inf"], "effect is inf, expected at most"),
    "no rate": (list, ["mitigate", "cda", "--lr", "nan"], "lr is nan"),
    "endless epochs": (list, ["mitigate", "cda", "--epochs", "inf"], "epochs is inf, expected a finite number"),
    "no sample": (list, ["data", "show", "nine-axes", "--sample", "-1"], "--sample is -1, expected at least 0"),
    "no top": (list, ["explain", "nowhere", "--top", "0"], "--top is 0, expected at least 1"),
}


def assert_one_line(said: Printed, words: str) -> None:
    assert said.code == 2, said.err
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("unmask: ")
    assert words in line


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case: str, say) -> None:
    make, words, expected = BAD[case]
    words = make(*words) if make is audit else [*words, *(["--quiet"] if words[0] == "audit" else [])]
    assert_one_line(say(*words), expected)


MALFORMED = {
    "no column": ("a,b\nx,y\n", "no column"),
    "empty sentence": ("more,less\nHe said so.,\n", "line 2"),
    "no rows": ("more,less\n", "no rows"),
    "direction": ("more,less,direction\nHe.,She.,up\n", "direction 'up'"),
    "nothing": ("", ""),
    "open quote": ('more,less\n"He said so.,She said so.\n', ""),
    "twice the same id": ("id,more,less\n1,He.,She.\n1,He.,She.\n", "already given"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_file_is_one_line(case: str, say) -> None:
    content, expected = MALFORMED[case]
    Path("bad.csv").write_text(content, encoding="utf-8")
    assert_one_line(say("audit", model(), "--data", "bad.csv", "--quiet"), expected)


@pytest.mark.parametrize("words", [["--device", "nonsense"], ["--device", "cuda:7"], ["--seed", "-1"]])
def test_a_value_that_only_a_library_refuses_is_one_line(words: list[str], say) -> None:
    assert_one_line(say(*audit("--measure", "aul", *words)), words[1])


def test_an_unwritable_cache_is_reported_and_ignored(say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_CACHE_DIR", str(Path("own.csv").resolve()))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        said = say(*audit("--measure", "aul"))
    assert said.code == 0
    assert "own.csv" in said.err
    assert "continuing without a store" in said.err


@pytest.mark.thorough
def test_a_page_makes_the_folder_it_goes_into(say, runs: tuple[Path, Path]) -> None:
    assert say("report", "a", "--out", "nowhere/page.html").code == 0
    assert Path("nowhere/page.html").is_file()


@pytest.mark.parametrize("words", [["--limit", "many"], ["--no-such-option"], ["--tokens", "x"]])
def test_what_typer_refuses_is_exit_code_2_without_a_traceback(words: list[str], say) -> None:
    said = say(*audit(*words))
    assert said.code == 2
    assert "Traceback" not in said.err


def test_a_run_that_is_refused_leaves_the_earlier_result_alone(say) -> None:
    assert say(*audit("--measure", "aul", "--out", "run")).code == 0
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    for words in (["--measure", "alu"], ["--measure", "ll"], ["--limit", "0"]):
        assert say(*audit("--out", "run", *words)).code == 2
        assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before


@pytest.mark.thorough
def test_an_error_is_one_line_in_a_real_process(tmp_path: Path) -> None:
    """The same through a real process: nothing but the line, no traceback of any library."""
    words = [sys.executable, "-c", "from unmask.cli import main; main()", "audit", "--measure", "cpss"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("unmask: no measure named 'cpss'. Did you mean cps")
    assert "Traceback" not in done.stderr


# ------------------------------------------------------------------------------ naming several


@pytest.mark.parametrize(
    "words", [["--measure", "cps", "aul"], ["--measure", "cps,aul"], ["--measure", "cps", "--measure", "aul"]]
)
def test_several_measures_in_three_ways(words: list[str], say) -> None:
    said = say(*audit("--json", *words))
    assert said.code == 0, said.err
    assert json.loads(said.out)["options"]["measures"] == ["cps", "aul"]


def test_a_model_after_the_measures_is_still_the_model(say) -> None:
    Path("local").symlink_to(model())
    said = say("audit", "--data", "own.csv", "--measure", "cps", "local", "--json", "--quiet", "--no-report")
    assert said.code == 0, said.err
    meta = json.loads(said.out)
    assert meta["options"]["measures"] == ["cps"]
    assert not meta["model"]["built_in"]


@pytest.mark.thorough
def test_several_datasets(say) -> None:
    Path("more.csv").write_text(PAIRS, encoding="utf-8")
    words = ["audit", model(), "--data", "own.csv", "more.csv", "--measure", "aul", "--json", "--quiet"]
    assert [one["name"] for one in json.loads(say(*words).out)["data"]] == ["own", "more"]


# ------------------------------------------------------------------------------------- the audit


def test_json_is_all_there_is_on_stdout(say) -> None:
    said = say("audit", model(), "--data", "own.csv", "--json", "--measure", "aul", "--out", "run")
    assert json.loads(said.out) == json.loads(Path("run/result.json").read_text(encoding="utf-8"))
    assert "result in run" in said.err
    assert Path("run/report.html").stat().st_size > 0


def test_quiet_says_nothing_on_stderr(say) -> None:
    said = say(*audit("--measure", "aul"))
    assert said.err == ""
    assert "aul" in said.out
    assert "checks" in said.out
    assert len(list(Path("unmask-runs").iterdir())) == 1


def test_strict_fails_when_a_check_fails(say, tmp_path: Path) -> None:
    folder = zoo.build("bert-uncased", tmp_path / "silent")
    zoo.rewrite(folder, lambda weights: weights["cls.predictions.bias"].zero_())
    words = ["audit", folder, "--data", "own.csv", "--measure", "pll", "--quiet", "--no-report"]
    plain, strict = say(*words), say(*words, "--strict")
    assert (plain.code, strict.code) == (0, 1)
    assert "FAIL masked-accuracy" in strict.out
    assert "do not interpret this number" in strict.out


@pytest.mark.thorough
def test_the_default_needs_nothing(say) -> None:
    said = say("audit", "--limit", "4", "--quiet", "--no-report", "--out", "run")
    assert said.code == 0
    assert "builtin" in said.out
    assert unmask.load("run").meta["data"][0]["name"] == "nine-axes"


def test_a_result_folder_can_be_written_again(say) -> None:
    for _ in range(2):
        assert say(*audit("--measure", "aul", "--out", "run")).code == 0


# ----------------------------------------------------------------------------- the other commands


def test_explain(say, runs: tuple[Path, Path]) -> None:
    one = say("explain", "a", "own/0000", "--measure", "pll")
    assert one.code == 0
    assert "own/0000  pll: the" in one.out
    assert "[he]" in one.out
    assert "changed word" in one.out
    assert one.out.count("not a cause") == 1
    most = say("explain", "a", "--top", "1")
    assert most.out.count(" wins by ") == 1
    assert_one_line(say("explain", "a", "own/9999"), "items look like 'own/0000'")
    assert_one_line(say("explain", "a", "--measure", "cps"), "measure in this result")


def test_compare(say, runs: tuple[Path, Path]) -> None:
    said = say("compare", *runs)
    assert said.code == 0
    assert "Changes from a" in said.out
    assert "Nothing can be said of aul, pll: a check failed" in said.out
    assert "bias-score" in said.out
    visible = [line for line in said.out.splitlines() if "unmasked-accuracy: " in line]
    assert len(visible) == len(runs), "training that damages how visible words are read would not be seen"
    assert all("mean log-probability −" in line for line in visible)
    (listed,) = json.loads(say("compare", *runs, "--json").out)
    assert (listed["a"], listed["b"]) == ("a", "b")
    assert {one["measure"] for one in listed["comparisons"]} == {"pll", "aul"}
    assert "gender" in say("compare", *runs, "--categories").out


def test_compare_prints_true_json_even_where_nothing_is_scored(say) -> None:
    Path("own.csv").write_text("more,less,category\nhe left.,she left.,a\nhe left.,he left now.,b\n", encoding="utf-8")
    assert say(*audit("--measure", "sss", "--out", "a")).code == 0
    said = say("compare", "a", "a", "--json", "--categories")
    json.loads(said.out, parse_constant=pytest.fail)


def test_report(say, runs: tuple[Path, Path]) -> None:
    said = say("report", "a", "-o", "page.html")
    assert said.out == "wrote page.html\n"
    assert "<html" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("what", "words"), [("measures", "[masked/causal]"), ("data", "crows-pairs"), ("models", "builtin")]
)
def test_list(what: str, words: str, say) -> None:
    said = say("list", what)
    assert said.code == 0
    assert words in said.out


def test_list_tells_pairs_from_tables(say) -> None:
    lines = {line.split()[0]: line for line in say("list", "data").out.splitlines()}
    assert lines.keys() == {*unmask.data.SOURCES}
    assert "  [pairs] " in lines["pronoun-templates"]
    assert "  [table] " in lines["prompts"]
    assert "  [task] " in lines["stsb"]
    assert "  [scores] " in lines["stereoset-scores"]


def test_list_alone_names_the_lists(say) -> None:
    """It was an error."""
    names = [line.split()[2] for line in say("list").out.splitlines()]
    assert names[:2] == ["measures", "vectors"]
    assert all(say("list", name).code == 0 for name in names)


def test_list_says_which_data_is_on_this_machine(say, monkeypatch: pytest.MonkeyPatch) -> None:
    def places() -> dict[str, str]:
        return {line.split()[0]: line.rpartition(" (")[2] for line in say("list", "data").out.splitlines()}

    absent = places()
    assert (absent["nine-axes"], absent["crows-pairs"]) == ("built in)", "unmask data get)")
    monkeypatch.setenv("UNMASK_DATA_DIR", str(zoo.MINIATURE))
    assert places()["crows-pairs"] == "on this machine)"


def test_data_show(say) -> None:
    said = say("data", "show", "nine-axes", "--sample", "2")
    assert "licence: CC BY 4.0" in said.out
    assert said.out.count("  more: ") == 2
    absent = say("data", "show", "crows-pairs", "--data-dir", "empty")
    assert absent.code == 0
    assert "CC" in absent.out
    assert "items: " in absent.out


def test_data_show_of_scores(say) -> None:
    Path("s.csv").write_text("model,item,score,group\na,x,0.5,masked\nb,x,,causal\n", encoding="utf-8")
    said = say("data", "show", "s.csv", "--sample", "1").out
    assert "scores\n  models: 2 (masked, causal)\n  wordings: 1\n  not scored: 1 of 2\n\na\n  x: 0.500\n" in said
    absent = say("data", "show", "gest-masked-scores").out
    assert "11 masked models" in absent
    assert "gest-masked-scores is not on this machine" in absent


def test_data_show_says_what_was_measured(say) -> None:
    said = say("data", "show", "crows-pairs", "--data-dir", str(zoo.MINIATURE), "--sample", "0").out
    assert "agreement of annotators: Fleiss' κ " in said
    facts = unmask.data.facts("gest")
    said = say("data", "show", "gest").out
    assert facts
    for fact in facts:
        assert f"{fact.about}: {fact.value} [{fact.command}; {fact.date}]" in said
    card = json.loads(say("data", "show", "gest", "--json").out)
    assert card["name"] == "gest"
    assert [fact["value"] for fact in card["facts"]] == [fact.value for fact in facts]
    assert json.loads(say("data", "show", "prompts", "--json").out)["size"] == 100


def test_data_show_of_a_table(say) -> None:
    said = say("data", "show", "prompts", "--sample", "2")
    assert said.code == 0
    assert "known problems: " in said.out
    assert "(verified)" in said.out
    assert said.out.count("  text: ") == 2
    assert "  biased: nervous, suspicious, " in said.out
    words = say("data", "show", "word-pairs", "--sample", "1").out
    assert [kind for kind in ("pairs", "names", "proper", "sets", "lists") if f"\n\n{kind}\n" not in words] == []
    assert "  terms: black=Black, " in words
    assert "  career: career, " in words


def test_a_table_cannot_be_audited(say) -> None:
    said = say("audit", "--data", "prompts")
    assert said.code == 2
    assert "is a table, not a dataset of pairs" in said.err


def test_store(say) -> None:
    assert "0 stores" in say("store").out
    say(*audit("--measure", "aul"))
    listed = say("store").out
    assert "1 stores" in listed
    assert " sentences" in listed
    assert "freed" in say("store", "--clear").out
    assert "0 stores" in say("store").out


def test_version_and_help(say) -> None:
    assert say("--version").out.strip() == version("unmask")
    assert "audit" in say("--help").out
