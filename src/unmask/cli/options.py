"""Options of the commands: one for every field of an option group, and those of every command's output."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from unmask.cli.console import split_names
from unmask.core.errors import DataError
from unmask.core.options import Opening, OptionGroup, Options, Serving, literal_choices, option
from unmask.findings import terminal
from unmask.training import TrainSettings

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
Measures = Annotated[
    list[str] | None, typer.Option("--measure", help="Measure; can be repeated.", autocompletion=complete_measures)
]
COMPLETIONS = {"measures": complete_measures}  # by the field of an option group
Groups = Mapping[str, OptionGroup]  # a parameter that takes the options of several things, by name
Out = Annotated[Path | None, typer.Option("--out", help="Result folder.", show_default="unmask-runs/NAME-TIME")]


@dataclass(frozen=True, slots=True)
class Output:
    """What a command prints and writes besides `result.json`."""

    report: bool = option(True, "Do not write report.html.", flag="--no-report", common=True)
    as_json: bool = option(False, "Print the result object instead of tables.", flag="--json", common=True)
    quiet: bool = option(False, "No progress output.", common=True)
    save_config: Path | None = option(
        None, "Also write a run file, which `unmask run` repeats.", shown="none", common=True
    )

    def say(self, line: str) -> None:
        """Print a line to stderr, unless quiet."""
        if not self.quiet:
            terminal.say(line)

    def finish(self, result: Result, show: Callable[[Any], None] | None = None) -> None:
        """Print the result (`show` if it has its own form), write its page and run file, and say where it is."""
        from unmask.cli.run import describe_difference, save_run

        if self.as_json:
            terminal.print_json(result.meta)
        elif show is not None:
            show(result)
        else:
            terminal.show_sections(result.findings)
        if difference := describe_difference(result):
            terminal.say(f"unmask: {difference}")
        if self.save_config is not None:
            self.say(f"run file in {save_run(self.save_config, result)}")
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


class Given(dict[str, Any]):
    """The options that the command line sets, by their fields: a parameter beside the groups themselves."""


@dataclass(frozen=True, slots=True)
class _Group:
    """An option group among the parameters of a command, or among those that a mapping of groups takes."""

    parameter: str
    thing: str  # its key in a mapping of groups
    type: type[Any]
    without: tuple[str, ...] = ()

    def options(self) -> dict[str, tuple[Field[Any], Any]]:
        """The fields that are options, with their types."""
        types = get_type_hints(self.type)
        chosen = [field for field in fields(self.type) if field.metadata.get("help") and field.name not in self.without]
        return {field.name: (field, types[field.name]) for field in chosen}

    def build(self, values: Mapping[str, Any]) -> Any:
        """The group with the values that are given."""
        return self.type(**{name: values[name] for name in self.options() if name in values})


def with_groups(
    function: Callable[..., None], things: Mapping[str, Any] | None = None, name: str = ""
) -> Callable[..., None]:
    """A command whose parameters of an option group are replaced by one option for every field.

    A field that several groups share is one option, and sets it in all of them. A parameter annotated `OptionGroup`
    takes the group that the one thing names as its `options`; `Mapping[str, OptionGroup]` takes that of every thing.
    With `name`, that is the value of the first parameter.
    """
    hints = get_type_hints(function, include_extras=True)
    given = dict([*inspect.signature(function).parameters.items()][bool(name) :])
    groups = [group for parameter in given for group in _groups(parameter, hints[parameter], things or {})]
    options = _options(groups)
    plain = {key: each for key, each in given.items() if not _is_group(hints[key]) and hints[key] is not Given}
    arguments = [
        parameter.replace(annotation=hints[key], kind=parameter.KEYWORD_ONLY) for key, parameter in plain.items()
    ]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @functools.wraps(function)
    def command(context: typer.Context, **words: Any) -> None:
        values = {key: _value(field, words[key]) for key, (field, _) in options.items() if _is_set(context, key)}
        built: dict[str, Any] = {key: {} for key, hint in hints.items() if hint == Groups}
        built |= {key: Given(values) for key, hint in hints.items() if hint is Given}
        for group in groups:
            if group.thing:
                built[group.parameter][group.thing] = group.build(values)
            else:
                built[group.parameter] = group.build(values)
        function(*filter(None, [name]), **{key: words[key] for key in plain}, **built)

    signature = inspect.Signature([context, *arguments, *(_parameter(*option) for option in options.values())])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {key: parameter.annotation for key, parameter in signature.parameters.items()}
    command.__doc__ = f"{inspect.getdoc(function) or ''}\n\n{_common(field for field, _ in options.values())}"
    return command


def _is_group(hint: Any) -> bool:
    """Whether a parameter is an option group, or a mapping of some."""
    return hint == Groups or is_dataclass(get_args(hint)[0] if get_origin(hint) is Annotated else hint)


def _groups(parameter: str, hint: Any, things: Mapping[str, Any]) -> list[_Group]:
    """The option groups of a parameter; none if it is an ordinary one."""
    if hint == Groups:
        return [_Group(parameter, name, thing.options) for name, thing in things.items()]
    if hint is OptionGroup:
        return [_Group(parameter, "", thing.options) for thing in things.values()]
    parts: tuple[Any, ...] = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    group, *notes = parts
    without = tuple(name for note in notes if isinstance(note, Without) for name in note.names)
    is_group = isinstance(group, type) and is_dataclass(group)
    return [_Group(parameter, "", group, without)] if is_group else []


def _options(groups: Iterable[_Group]) -> dict[str, tuple[Field[Any], Any]]:
    """The options of several groups by the names of their fields; one name has one type."""
    options: dict[str, tuple[Field[Any], Any]] = {}
    for group in groups:
        for name, (field, hint) in group.options().items():
            if options.setdefault(name, (field, hint))[1] != hint:
                raise DataError(f"the option {name} of {group.thing or group.type.__name__} has another type elsewhere")
    return options


def _is_set(context: typer.Context, name: str) -> bool:
    """Whether the command line has an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _value(field: Field[Any], given: Any) -> Any:
    """The value of a field from the command line: several in a tuple, a switch that turns off as False."""
    if _is_switch_off(field):
        return not given
    if isinstance(given, list):
        return tuple(given if field.metadata["verbatim"] else split_names(given))
    return given


def _parameter(field: Field[Any], hint: Any) -> inspect.Parameter:
    """The command-line option of one field."""
    meta = field.metadata
    default = field.default if field.default is not MISSING else field.default_factory()  # type: ignore[operator]
    extra: dict[str, Any] = {"show_default": meta["shown"]} if meta["shown"] else {}
    extra["autocompletion"] = COMPLETIONS.get(field.name)
    if default == () or Ellipsis in get_args(hint):  # several values: repeated, or separated by commas
        extra |= {"show_default": ", ".join(map(str, default))} if default and not extra else {}
        hint, default = list[str], []
    if hasattr(hint, "parse"):  # text, which the group parses
        hint, default = str | None, None
    if literal_choices(hint):
        hint = str | None if type(None) in get_args(hint) else str  # checked by the group, with its message
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if _is_switch_off(field) else default,
        annotation=Annotated[hint, typer.Option(*_flags(field), help=meta["help"], hidden=meta["common"], **extra)],
    )


def _flags(field: Field[Any]) -> list[str]:
    """How the option of a field is written."""
    return field.metadata["flag"].split() or [f"--{field.name.replace('_', '-')}"]


def _is_switch_off(field: Field[Any]) -> bool:
    """Whether the option of a field is a `--no-…` switch, which sets it to False."""
    return str(field.metadata.get("flag", "")).startswith("--no-")


def _common(options: Iterable[Field[Any]]) -> str:
    """The line of a help page about the options that are described once, in `unmask list options`."""
    names = [_flags(field)[0].partition("/")[0].lstrip("-") for field in options if field.metadata["common"]]
    line = f"Common options, described by `unmask list options`: {', '.join(names)}."
    return "\b\n" + textwrap.fill(line, 76, break_on_hyphens=False) if names else ""


def common_options() -> dict[str, str]:
    """The options that many commands take, with what they mean."""
    groups = [_Group("", "", group) for group in (Opening, Options, Output, Serving, TrainSettings)]
    described = {}
    for field, _ in _options(groups).values():
        default = field.metadata["shown"] or field.default
        shown = (
            f" [default: {default}]" if isinstance(default, str | int | float) and not isinstance(default, bool) else ""
        )
        if field.metadata["common"]:
            described[_flags(field)[0]] = field.metadata["help"] + shown
    return described


# ------------------------------------------------------------------------------------- one command a thing


def things_app(
    function: Callable[..., None], registry: str, *, metavar: str, about: Callable[[Any], str], several: str = ""
) -> typer.Typer:
    """A command with one subcommand for every thing of a registry, which has the options that the thing names.

    Args:
        function: does the work; its first parameter is the name that was given.
        registry: where the things are, such as "unmask.mitigate:METHODS"; imported when it is needed.
        metavar: what a thing is called in the usage, such as "METHOD".
        about: describes a thing in a line.
        several: the name of all things, such as "all"; then several names can be given, separated by commas.
    """

    class Things(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return [*super().list_commands(ctx), *resolve_name(registry)]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name in self.commands:
                return self.commands[cmd_name]
            if cmd_name.startswith("-"):
                raise DataError(f"name the {metavar.lower()} first, then its options: unmask {self.name} {metavar} …")
            known = resolve_name(registry)
            if not several:
                things = [known.find(cmd_name)]
            elif cmd_name == several:
                things = [*known.values()]
            else:
                things = known.find_all(split_names([cmd_name]))
            return _thing_command(function, cmd_name, {thing.name: thing for thing in things}, about)

        def format_options(self, ctx: Any, formatter: Any) -> None:
            shared = _thing_command(function, metavar, {}, about)
            records = [parameter.get_help_record(ctx) for parameter in shared.get_params(ctx)]
            with formatter.section(f"Options of every {metavar.lower()}"):
                formatter.write_dl([record for record in records if record is not None])
            self.format_commands(ctx, formatter)

    return typer.Typer(
        cls=Things,
        help=inspect.getdoc(function),
        no_args_is_help=True,
        rich_markup_mode=None,
        subcommand_metavar=f"{metavar} [OPTIONS] [ARGUMENTS]",
        options_metavar="",
        context_settings={"ignore_unknown_options": True},
    )


def _thing_command(
    function: Callable[..., None], name: str, things: Mapping[str, Any], about: Callable[[Any], str]
) -> Any:
    """The command of the things that one name says."""
    described = [f"{thing.title}: {about(thing)}" for thing in things.values()]
    command = with_groups(function, things, name)
    if len(described) == 1:
        command.__doc__ = f"{described[0]}\n\n{command.__doc__}"
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, short_help=" · ".join(described))(command)
    return typer.main.get_command(app)
