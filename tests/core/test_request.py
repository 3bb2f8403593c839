"""Requests: what a public function was asked, by name, and the command line that asks it again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import typer

from unmask.cli import make_app
from unmask.cli.console import find_command
from unmask.core.options import OptionGroup, fill_groups, option
from unmask.core.progress import silent
from unmask.core.request import FLAGS, Request, current_request, latest_request, with_request


@dataclass(frozen=True)
class Rate(OptionGroup):
    rate: float = option(0.1, "Rate.")
    store: bool = option(True, "Keep.", flag="--no-store")
    words: tuple[str, ...] = option((), "Words.")
    limit: int | None = option(None, "Items.")
    progress: Any = None


@with_request("change", "model", target="method")
def change(method: Any, model: Any = None, *, data: Any = (), times: int = 2, out: Any = None, **given: Any) -> Request:
    """What it was asked, as it says while it runs."""
    fill_groups(given, how=Rate)
    other(data)
    fill_groups({"rate": 0.9}, how=Rate)  # within it: not what was asked
    request = current_request()
    assert request is not None
    return request


@with_request("other", "data")
def other(data: Any) -> Request | None:
    return current_request()


def test_a_request_has_what_was_set_apart_from_the_defaults() -> None:
    request = change("swap", Path("a/b"), data=["x", Path("y")], rate=0.5, store=False, progress=silent, out="o")
    assert request == Request(
        "change", "swap", {"model": "a/b"}, {"rate": 0.5, "store": False, "data": ["x", "y"]}, {"times": 2}
    )
    assert latest_request() == request
    assert current_request() is None


def test_groups_and_fields_make_the_same_request() -> None:
    assert change("swap", how=Rate(rate=0.5, words=("a", "b"))) == change("swap", rate=0.5, words=("a", "b"))


def test_defaults_can_be_repeated_although_they_were_not_set() -> None:
    assert change("swap").defaults == {"times": 2, "rate": 0.1, "store": True}
    assert change("swap", times=2).options == {}


def test_an_object_without_a_name_cannot_be_repeated() -> None:
    assert change("swap", "model").has_names
    assert not change("swap", object()).has_names
    assert not change("swap", data=["x", object()]).has_names


def test_paths_are_relative_or_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One rule, which the page states: other paths would say where on a machine the files are."""
    folder = tmp_path / "deep" / "inside"
    folder.mkdir(parents=True)
    (folder / "own.csv").touch()
    monkeypatch.chdir(tmp_path)
    for path in ("deep/inside/own.csv", "deep/../deep/inside/own.csv", str(folder / "own.csv")):
        request = Request("audit", on={"model": "org/model"}, options={"data": [path], "data_dir": str(tmp_path)})
        assert request.without_paths().command_line() == "unmask audit org/model --data deep/inside/own.csv"
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    request = Request("audit", on={"model": "../deep"}, options={"data": ["../deep/inside/own.csv", "crows-pairs"]})
    assert request.without_paths().command_line() == "unmask audit deep --data own.csv --data crows-pairs"


def test_the_command_line_has_what_was_set() -> None:
    request = Request("mitigate", "cda", {"model": "a b"}, {"lr": 1e-5, "store": False, "lora": True}, {"epochs": 3.0})
    assert shlex.split(request.command_line()) == [
        *("unmask", "mitigate", "cda", "a b", "--lr", "1e-05", "--no-store", "--lora")
    ]
    assert replace(request, options={"measures": ["pll", "aul"]}).command_line().endswith("--measure pll --measure aul")


def commands() -> list[Any]:
    """Every command that can be repeated."""
    group: Any = typer.main.get_command(make_app())
    found = []
    for name, command in group.commands.items():
        inner = command.list_commands(None) if hasattr(command, "list_commands") else [""]
        found += [find_command(group, [name, *filter(None, [second])])[0] for second in inner]
    return [command for command in found if any(parameter.name == "save_config" for parameter in command.params)]


def test_every_option_is_written_as_its_name_says() -> None:
    """So the command line of a request needs no table of options; `FLAGS` has the exceptions."""
    for command in commands():
        for parameter in command.params:
            if parameter.param_type_name != "option" or parameter.name in ("help", "save_config", "report", "as_json"):
                continue
            flag = FLAGS.get(parameter.name, f"--{parameter.name.replace('_', '-')}")
            flags = [*parameter.opts, *parameter.secondary_opts]
            assert flag in flags or f"--no-{flag[2:]}" in flags, (command.name, parameter.name)


def test_groups_of_settings_are_written_with_set() -> None:
    request = Request("study", "aul", options={"train": {"epochs": 1, "on": ["a"]}})
    assert request.command_line() == """unmask study aul --set train.epochs=1 --set 'train.on=["a"]'"""
