"""Options of the commands: one for every field of an option group, and those of every command's output."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from unmask.cli.console import split_names
from unmask.core.options import literal_choices, option
from unmask.findings import terminal

if TYPE_CHECKING:
    from unmask.findings.envelope import Result

Models = Annotated[
    list[str] | None,
    typer.Argument(
        help="Hub names (name@revision), folders, GGUF files or URLs of endpoints; default: the built-in model.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Argument(
        help="Hub name (name@revision), folder, GGUF file or URL of an endpoint; default: the built-in model.",
        show_default=False,
    ),
]


def complete_data(incomplete: str) -> list[str]:
    """The datasets that begin so, for a shell."""
    from unmask.data import names

    return [name for name in names() if name.startswith(incomplete)]


def complete_measures(incomplete: str) -> list[str]:
    """The measures that begin so, for a shell."""
    from unmask.measures import MEASURES

    return [name for name in MEASURES if name.startswith(incomplete)]


Data = Annotated[
    list[str] | None,
    typer.Option(
        help="Dataset, file of pairs, or hf:owner/name@revision:config/split; can be repeated.",
        autocompletion=complete_data,
    ),
]
Measures = Annotated[list[str] | None, typer.Option(help="Measure; can be repeated.", autocompletion=complete_measures)]
Out = Annotated[Path | None, typer.Option("--out", help="Result folder.", show_default="unmask-runs/NAME-TIME")]


@dataclass(frozen=True, slots=True)
class Output:
    """What a command prints and writes besides `result.json`."""

    report: bool = option(True, "Do not write report.html.", flag="--no-report")
    as_json: bool = option(False, "Print the result object instead of tables.", flag="--json")
    quiet: bool = option(False, "No progress output.")
    save_config: Path | None = option(None, "Also write a run file, which `unmask run` repeats.", shown="none")

    def say(self, line: str) -> None:
        """Print a line to stderr, unless quiet."""
        if not self.quiet:
            terminal.say(line)

    def finish(self, result: Result, show: Callable[[Any], None] | None = None) -> None:
        """Print the result (`show` if it has its own form), write its page and run file, and say where it is."""
        from unmask.cli import run_file

        if self.as_json:
            terminal.print_json(result.meta)
        elif show is not None:
            show(result)
        else:
            terminal.show_sections(result.findings)
        if difference := run_file.describe_difference(result):
            terminal.say(f"unmask: {difference}")
        if self.save_config is not None:
            self.say(f"run file in {run_file.save_run(self.save_config, result)}")
        if result.folder is None:
            return
        from unmask.findings.envelope import PAGE

        if self.report:
            from unmask.report.run import write_page

            write_page(result)
        page = f"; open {result.folder / PAGE} in a browser" if self.report else ""
        self.say(f"result in {result.folder}{page}")


@dataclass(frozen=True, slots=True)
class Without:
    """In `Annotated[Group, Without("field")]`: fields that are no options of this command."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        """Create it with the names of the fields."""
        object.__setattr__(self, "names", names)


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters of an option group are replaced by one option for every field.

    A field that two groups share is one option, and sets both.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, tuple[type, list[str]]] = {}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        group, without = _group(hints[name])
        if group is None:
            parameters[name] = parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            continue
        types = get_type_hints(group)
        chosen = [each for each in fields(group) if each.metadata.get("help") and each.name not in without]
        groups[name] = (group, [each.name for each in chosen])
        for each in chosen:
            parameters.setdefault(each.name, _parameter(each, types[each.name]))

    members = {field for _, names in groups.values() for field in names}
    lists = {name for name in members if parameters[name].default == []}
    switches = {each.name for group, _ in groups.values() for each in fields(group) if _is_switch_off(each)}

    @functools.wraps(function)
    def command(**given: Any) -> None:
        values = {name: not value if name in members & switches else value for name, value in given.items()}
        values |= {name: tuple(split_names(given[name])) for name in lists}
        built = {name: group(**{field: values[field] for field in names}) for name, (group, names) in groups.items()}
        function(**{name: value for name, value in values.items() if name not in members}, **built)

    command.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return command


def _group(hint: Any) -> tuple[Any, tuple[str, ...]]:
    """The option group of a parameter and the fields left out; None if it is an ordinary parameter."""
    if get_origin(hint) is not Annotated:
        return (hint, ()) if is_dataclass(hint) else (None, ())
    group, *notes = get_args(hint)
    without = tuple(name for note in notes if isinstance(note, Without) for name in note.names)
    return (group, without) if is_dataclass(group) else (None, ())


def _parameter(field: Field[Any], hint: Any) -> inspect.Parameter:
    """The command-line option of one field."""
    meta = field.metadata
    default = field.default if field.default is not MISSING else field.default_factory()  # type: ignore[operator]
    names = meta["flag"].split() or [f"--{field.name.replace('_', '-')}"]
    extra: dict[str, Any] = {"show_default": meta["shown"]} if meta["shown"] else {}
    if default == ():  # several values: repeated, or separated by commas
        hint, default = list[str], []
    if hasattr(hint, "parse"):  # text, which the group parses
        hint, default = str | None, None
    if literal_choices(hint):
        hint = str | None if type(None) in get_args(hint) else str  # checked by the group, with its message
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if _is_switch_off(field) else default,
        annotation=Annotated[hint, typer.Option(*names, help=meta["help"], **extra)],
    )


def _is_switch_off(field: Field[Any]) -> bool:
    """Whether the option of a field is a `--no-…` switch, which sets it to False."""
    return str(field.metadata.get("flag", "")).startswith("--no-")
