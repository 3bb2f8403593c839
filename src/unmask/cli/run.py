"""`unmask run`: repeat the request of a run file or of a result, with the checksums of what it read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.console import find_command, repeat_options, split_names, valued_options
from unmask.core.boundary import MAX_YAML, parse_yaml, read_text, validate
from unmask.core.errors import DataError, ModelError, ResultError, UnknownName, quote
from unmask.core.files import sha256_of, write_text
from unmask.core.request import Request, assignments, latest_request
from unmask.findings.envelope import RESULT, Result, read_meta, versions
from unmask.findings.terminal import say

if TYPE_CHECKING:
    from typer.core import TyperCommand

RUN_CODE = ("allow_pickle", "trust_remote_code")  # never taken from a file: a file may come from others
SAVE = "save_config"
HEAD = "# Repeat with: unmask run {name}\n"


@dataclass(frozen=True)
class RecordedData:
    """A dataset that was read, with the checksum of its file."""

    name: str
    sha256: str | None = None
    n: int | None = None


@dataclass(frozen=True)
class RecordedModel:
    """A model that was run, with the hash of its weights and configuration."""

    id: str
    fingerprint: str = ""


@dataclass(frozen=True)
class RunFile(Request):
    """A request, and what it read; only the command is required."""

    files: dict[str, str] = field(default_factory=dict)  # sha256 of the files that it names
    data: list[RecordedData] = field(default_factory=list)
    models: list[RecordedModel] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, request: Request, meta: Mapping[str, Any], files: Mapping[str, str]) -> RunFile:
        """A request with the data, models and versions of its result."""
        data = [RecordedData(facts["name"], facts.get("sha256"), facts.get("n")) for facts in meta["data"]]
        models = [facts for facts in (meta.get("models") or [meta["model"]]) if facts]
        recorded = [RecordedModel(facts["id"], facts.get("fingerprint") or "") for facts in models]
        return cls(**asdict(request), files=dict(files), data=data, models=recorded, versions=dict(meta["versions"]))

    @property
    def names(self) -> list[str]:
        """All that is named in arguments and options."""
        values = [*self.on.values(), *self.options.values()]
        several = [value if isinstance(value, list) else [value] for value in values]
        return split_names([name for value in several for name in value if isinstance(name, str)])


repeated: ContextVar[tuple[str, RunFile] | None] = ContextVar("repeated", default=None)  # name and content of its file


def run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Run file that --save-config wrote, or a result folder.")],
    changed: Annotated[bool, typer.Option("--changed", help="Run also if data have changed since.")] = False,
) -> None:
    """Repeat a command from its run file or its result.

    Further options are those of the command, and replace the ones in the file: unmask run audit.yaml --limit 20.
    """
    name = str(file)
    kept, repeat = prepare(read_run(file), context.args, name=name)
    if not changed:
        check_data(kept, name)
    if line := describe_versions(kept, name):
        say(f"unmask: {line}")
    token = repeated.set((name, kept))
    try:
        with repeat as inner:
            inner.command.invoke(inner)
    finally:
        repeated.reset(token)


# ------------------------------------------------------------------------------------------ read and write


def read_run(path: Path) -> RunFile:
    """Read a run file, or the request of a result folder."""
    if path.is_dir():
        return _of_result(path)
    content = parse_yaml(read_text(path, most=MAX_YAML), str(path))
    if not isinstance(content, dict):
        raise DataError(f"{path} holds {quote(content)}, expected a mapping with a command: see docs/run-files.md")
    for name in content:
        if name not in RunFile.__dataclass_fields__:
            raise UnknownName(f"key of a run file ({path})", str(name), RunFile.__dataclass_fields__)
    return validate(RunFile, content, str(path))


def save_run(path: Path, result: Result) -> Path:
    """Write the run file of the command that computed this result."""
    import yaml

    request = latest_request()
    assert request is not None, "a command that has --save-config records its request"
    run_file = RunFile.of(request, result.meta, {})
    content = asdict(replace(run_file, files=_checksums(run_file.names)))
    for name in ("data", "models"):
        content[name] = [{key: value for key, value in row.items() if value not in (None, "")} for row in content[name]]
    kept = {name: value for name, value in content.items() if value}
    text = yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=100)
    return write_text(path, HEAD.format(name=path.name) + text)


def _of_result(folder: Path) -> RunFile:
    """The run of a result folder."""
    result = Result(read_meta(folder), folder)
    request = result.request
    if request is None or not request.has_names:
        raise ResultError(
            f"{folder / RESULT} does not say which command repeats it: it was computed of objects of Python, "
            "which have no names"
        )
    run_file = RunFile.of(request, result.meta, {})
    named = request.options.get("data")  # in the order of the records
    pairs = zip([named] if isinstance(named, str) else named or (), run_file.data, strict=False)
    return replace(run_file, files={str(path): record.sha256 for path, record in pairs if record.sha256})


# ----------------------------------------------------------------------------------- the command to repeat


def _find_command(request: Request) -> tuple[TyperCommand, list[str]]:
    """The command of a request, and the words that are left; UnknownName if there is none that can be repeated."""
    from unmask.cli import COMMANDS, make_app

    words = [*request.command.split(), *filter(None, [request.target])] or [""]
    if words[0] not in COMMANDS:
        raise UnknownName("command", words[0], COMMANDS)
    command, used = find_command(typer.main.get_command(make_app(words[:1])), words)
    if hasattr(command, "commands"):
        raise UnknownName(f"command of unmask {words[0]}", " ".join(words[used:]), command.list_commands(None))
    if not any(parameter.name == SAVE for parameter in command.params):
        raise DataError(f"unmask {request.command} cannot be repeated from a run file: it has no option --save-config")
    return command, words[used:]


def prepare(run_file: RunFile, extra: Sequence[str] = (), *, name: str = "the run file") -> tuple[RunFile, Any]:
    """The command that does this run, ready to be invoked; `extra` words replace options of the file.

    Also returned is the run with the options that are left of it.
    """
    command, words = _find_command(run_file)
    words += repeat_options([*extra], valued_options(command))
    with command.make_context(run_file.command, [*words], resilient_parsing=True) as context:
        given = {parameter.name for parameter in command.params if _is_given(context, parameter.name)}
    values = _values(command, run_file.on | run_file.options, name)
    for option in RUN_CODE:
        if values.get(option) and option not in given:
            flag = option.replace("_", "-")
            raise ModelError(f"{name} asks for {flag}, which can run code: if you trust the model, add --{flag}")
    usual = {
        key: value
        for key, value in run_file.defaults.items()
        if key in {parameter.name for parameter in command.params}
    }
    values = {key: value for key, value in (_values(command, usual, name) | values).items() if value is not None}
    kept = replace(
        run_file,
        on={key: value for key, value in run_file.on.items() if key not in given},
        options={key: value for key, value in run_file.options.items() if _parameter(command, key).name not in given},
        data=[] if "data" in given else run_file.data,
        models=[] if given & {"model", "models"} else run_file.models,
    )
    return kept, command.make_context(f"unmask {run_file.command}", words, default_map=values)


def _is_given(context: Any, name: str | None) -> bool:
    source = context.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


def _parameter(command: TyperCommand, key: str) -> Any:
    """The parameter of a command by its name, or as it is written without dashes; None if it has none."""
    by_name = {
        parameter.name: parameter for parameter in command.params if parameter.name not in (SAVE, "help", "context")
    }
    by_flag = {
        flag.lstrip("-"): parameter
        for parameter in by_name.values()
        for flag in parameter.opts
        if flag.startswith("--")
    }
    return {**by_flag, **by_name}.get(key)


def _values(command: TyperCommand, values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The values of parameters as the command takes them; they are checked by the command itself."""
    taken: dict[str, Any] = {}
    for key, value in values.items():
        parameter = _parameter(command, key)
        if parameter is not None:
            taken[parameter.name] = _value(parameter, key, value, name)
        elif isinstance(value, dict) and _parameter(command, "settings") is not None:
            taken.setdefault("settings", []).extend(assignments(key, value))
        else:
            raise UnknownName(f"option of unmask {command.name} ({name})", key, [each.name for each in command.params])
    return taken


def _value(parameter: Any, key: str, value: Any, name: str) -> Any:
    if value is None:
        return None
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise DataError(f"{name}: {key} is {quote(value)}, expected true or false")
        turns_off = parameter.opts[0].startswith("--no-") and not parameter.secondary_opts
        return value != (turns_off and key == parameter.name)
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    if isinstance(value, bool) or (isinstance(value, list) and not several):
        raise DataError(f"{name}: {key} is {quote(value)}, expected {'values' if several else 'one value'}")
    return [str(part) for part in value] if isinstance(value, list) else [str(value)] if several else value


# ------------------------------------------------------------------------------------------------ checks


def _checksums(names: Sequence[str]) -> dict[str, str]:
    """The sha256 of every file that is named."""
    from unmask.data.formats import is_file, user_path

    return {name: sha256_of(user_path(name)) for name in names if is_file(user_path(name))}


def check_data(run_file: RunFile, name: str) -> None:
    """Refuse files and datasets that are not those that the run file records."""
    from unmask import data
    from unmask.data.formats import is_file, user_path

    for path, expected in run_file.files.items():
        if path in run_file.names and is_file(user_path(path)):
            _refuse_changed(path, sha256_of(user_path(path)), expected, name)
    folder = run_file.options.get("data_dir")
    for record in run_file.data:
        if record.sha256 and record.name in data.names():
            where = None if folder is None else Path(str(folder))
            loaded = data.load(record.name, data_dir=where, offline=bool(run_file.options.get("offline")))
            _refuse_changed(f"the data {record.name}", loaded.sha256, record.sha256, name)


def _refuse_changed(what: str, found: str | None, expected: str, name: str) -> None:
    if found != expected:
        raise DataError(
            f"{what} has changed since {name} was written (sha256 {str(found)[:12]}…, expected {expected[:12]}…): "
            "restore it, or add --changed to run with what is there"
        )


def describe_versions(run_file: RunFile, name: str) -> str:
    """Which versions differ from those of the run file, in one line; empty if none does."""
    here = versions()
    known = [(package, was) for package, was in run_file.versions.items() if here.get(package, was) != was]
    other = [f"{package} {here[package]} instead of {was}" for package, was in known]
    return f"{name} was written with other versions, so numbers can differ: {', '.join(other)}" if other else ""


def describe_difference(result: Result) -> str:
    """Whether a repeated command measured another model than its run file records; empty if not."""
    if (expected := repeated.get()) is None:
        return ""
    name, run_file = expected
    found = {facts.get("fingerprint") for facts in result.models}
    changed = [model.id for model in run_file.models if model.fingerprint and model.fingerprint not in found]
    if not changed:
        return ""
    return f"{', '.join(changed)} is not the model of {name}: its weights or configuration have changed"
