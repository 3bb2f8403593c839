"""Parameters that are option groups become one option of the command for every field."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from unmask.cli.options import Groups, Output, Without, common_options, things_app, with_groups
from unmask.core.errors import DataError, UnmaskError
from unmask.core.options import OptionGroup, Options, check_values, option
from unmask.core.registry import Registry


@dataclass(frozen=True)
class Training:
    rate: float = option(0.1, "Learning rate.", flag="--lr", least=0.0)
    level: Literal["token", "sentence"] | None = option(None, "token or sentence.", shown="by model")
    many_words: tuple[str, ...] = option(help="", factory=tuple)
    store: bool = option(True, "Do not use the cache.", flag="--no-store")
    folder: Path | None = option(None, "Folder of data.")
    offline: bool = option(False, "Never use the network.")

    def __post_init__(self) -> None:
        check_values(self)


@dataclass(frozen=True)
class Network:
    offline: bool = option(False, "Never use the network.")
    retries: int = option(1, "Retries.")


def run(*words: str, without: tuple[str, ...] = ()) -> tuple[Any, dict[str, Any]]:
    """Run a command with the two groups; its output and what it was called with."""
    got: dict[str, Any] = {}
    group = Annotated[Training, Without(*without)]

    def command(name: str, training: Training, network: Network) -> None:
        got.update(name=name, training=training, network=network)

    command.__annotations__ = {"name": str, "training": group, "network": Network, "return": None}
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(with_groups(command))
    return CliRunner().invoke(app, words, env={"COLUMNS": "120"}), got


def test_fields_are_options_with_their_defaults() -> None:
    done, got = run("a")
    assert done.exit_code == 0, done.output
    assert got == {"name": "a", "training": Training(), "network": Network()}


def test_values_reach_their_group_and_a_shared_field_both() -> None:
    words = ["a", "--lr", "0.5", "--level", "token", "--folder", "x", "--offline", "--retries", "3"]
    done, got = run(*words)
    assert done.exit_code == 0, done.output
    assert got["training"] == Training(rate=0.5, level="token", folder=Path("x"), offline=True)
    assert got["network"] == Network(offline=True, retries=3)


def test_a_no_switch_sets_its_field_to_false() -> None:
    assert run("a", "--no-store")[1]["training"].store is False
    assert run("a")[1]["training"].store is True


def test_a_value_the_group_refuses_is_its_own_line() -> None:
    done, _ = run("a", "--level", "word")
    assert isinstance(done.exception, DataError)
    assert str(done.exception) == "level is 'word', expected token or sentence"


def test_the_help_shows_flags_help_and_defaults_but_no_field_without_help() -> None:
    said = run("--help")[0].output
    assert all(part in said for part in ("--lr", "Learning rate.", "by model", "--no-store", "--retries"))
    assert "many" not in said
    assert said.count("--offline") == 1


def test_fields_left_out_are_no_options_and_keep_their_default() -> None:
    assert "--lr" not in run("--help", without=("rate",))[0].output
    assert run("a", "--lr", "0.5", without=("rate",))[0].exit_code == 2
    assert run("a", without=("rate",))[1]["training"].rate == 0.1


class FakeResult:
    """What a command gives back."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.meta = {"kind": "audit", "title": "å"}


def test_json_is_the_result_object_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).finish(FakeResult(None), show=lambda _: pytest.fail("no table"))  # type: ignore[arg-type]
    said = capsys.readouterr()
    assert json.loads(said.out) == {"kind": "audit", "title": "å"}
    assert said.err == ""


def test_the_place_of_the_result_is_said_on_stderr_unless_quiet(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shown: list[Any] = []
    for quiet in (False, True):
        output = Output(report=False, quiet=quiet)
        output.finish(FakeResult(tmp_path), show=shown.append)  # type: ignore[arg-type]
    said = capsys.readouterr()
    assert len(shown) == 2
    assert said.out == ""
    assert said.err == f"result in {tmp_path}\n"


@dataclass(frozen=True)
class Masking(OptionGroup):
    """Options that two methods share."""

    share: float = option(0.15, "Share of masked tokens.")


@dataclass(frozen=True)
class Swapping(Masking):
    axis: Literal["gender", "race"] = option("gender", "gender or race.")


@dataclass(frozen=True)
class Method:
    name: str
    title: str
    options: type[OptionGroup]


METHODS = Registry("method", Method, home=__name__, group="unmask.no-such")
SWAP = Method("swap", "Swapping words", Swapping)
MASK = Method("mask", "Masking more", Masking)


def things(several: str = "") -> tuple[typer.Typer, dict[str, Any]]:
    """The command of the methods, and what it was called with."""
    got: dict[str, Any] = {}

    def change(
        method: str,
        model: str = "builtin",
        out: Annotated[str, typer.Option(help="Folder.")] = "out",
        *,
        choices: OptionGroup,
        network: Network,
    ) -> None:
        """Change a model."""
        got.update(method=method, model=model, out=out, choices=choices, network=network)

    def change_all(method: str, *, choices: Groups) -> None:
        """Change a model several times."""
        got.update(method=method, choices=choices)

    change.__annotations__ |= {"choices": OptionGroup, "network": Network}
    change_all.__annotations__ |= {"choices": Groups}
    function = change_all if several else change
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback()(lambda: None)
    made = things_app(
        function,
        f"{__name__}:METHODS",
        metavar="METHOD",
        about=lambda method: f"changes {method.name}",
        several=several,
    )
    app.add_typer(made, name="change")
    return app, got


def change(*words: str, several: str = "") -> tuple[Any, dict[str, Any]]:
    app, got = things(several)
    return CliRunner().invoke(app, ["change", *words], env={"COLUMNS": "100"}), got


def test_a_thing_has_its_own_options_and_no_other() -> None:
    done, got = change("swap", "--axis", "race", "--share", "0.3", "--retries", "2", "--out", "x")
    assert done.exit_code == 0, done.output
    assert got == {
        "method": "swap",
        "model": "builtin",
        "out": "x",
        "choices": Swapping(share=0.3, axis="race"),
        "network": Network(retries=2),
    }
    assert change("mask", "--axis", "race")[0].exit_code == 2
    assert "--axis" not in change("mask", "--help")[0].output
    assert "Masking more: changes mask" in change("mask", "--help")[0].output


def test_the_help_of_a_command_lists_its_things_and_the_options_of_all() -> None:
    said = change("--help")[0].output
    options, things = said.split("Commands:")
    assert ("--out" in options, "--axis" in options) == (True, False)
    assert all(name in things for name in ("swap", "mask", "changes mask"))


def test_the_options_of_several_things_are_united() -> None:
    done, got = change("mask,swap", "--axis", "race", several="all")
    assert done.exit_code == 0, done.output
    assert got == {"method": "mask,swap", "choices": {"mask": Masking(), "swap": Swapping(axis="race")}}
    assert change("all", "--share", "0.5", several="all")[1]["choices"] == {"mask": Masking(0.5), "swap": Swapping(0.5)}


@pytest.mark.parametrize("words", [("swop",), ("--axis", "race", "swap")])
def test_an_unknown_thing_and_options_before_it_are_refused(words: tuple[str, ...]) -> None:
    done = change(*words)[0]
    assert isinstance(done.exception, UnmaskError)
    assert ("Did you mean swap?" in str(done.exception)) == (words == ("swop",))


def test_options_of_many_commands_are_named_on_a_line_and_described_once() -> None:
    def command(run: Options, output: Output) -> None: ...

    command.__annotations__ = {"run": Options, "output": Output, "return": None}
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(with_groups(command))
    said = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "400"}).output
    assert "--tokens" not in said
    names = "tokens, no-store, data-dir, mapping, offline, no-report, json, quiet, save-config"
    assert names in " ".join(said.split())
    assert CliRunner().invoke(app, ["--tokens", "8", "--quiet"]).exit_code == 0
    assert {"--tokens", "--json", "--device", "--timeout"} <= {*common_options()}
