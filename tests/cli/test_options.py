"""Parameters that are option groups become one option of the command for every field."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from unmask.cli.options import Output, Without, with_groups
from unmask.core.errors import DataError
from unmask.core.options import check_values, option


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
    app = typer.Typer(add_completion=False)
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
