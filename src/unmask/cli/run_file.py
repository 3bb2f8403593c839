"""Run files: a command, its options, and the versions and checksums of what it read, so that it can be repeated.

The options are those of the command itself, by their names without dashes; a run file has no list of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import typer

from unmask.cli.console import find_command, invoked, split_names
from unmask.cli.options import Output
from unmask.core.boundary import MAX_YAML, parse_yaml, read_text, validate
from unmask.core.errors import DataError, ModelError, ResultError, UnknownName, UnmaskError, quote
from unmask.core.files import sha256_of, write_text
from unmask.findings.envelope import RESULT, Result, read_meta, versions

Scalar = bool | int | float | str
NOT_SAVED = ("out", *(each.name for each in fields(Output)))  # parameters: where the result goes, not what it is
RUN_CODE = ("allow-pickle", "trust-remote-code")  # never taken from a file: a file may come from others
SAVE = "save_config"
HEAD = "# Repeat with: unmask run {name}\n"

repeated: ContextVar[tuple[str, RunFile] | None] = ContextVar("repeated", default=None)  # name and content of its file


@dataclass(frozen=True, slots=True)
class RecordedData:
    """A dataset that was read, with the checksum of its file."""

    name: str
    sha256: str | None = None
    n: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """A model that was run, with the hash of its weights and configuration."""

    id: str
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class RunFile:
    """The content of a run file; only the command is required."""

    command: str
    options: dict[str, Scalar | list[Scalar]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # sha256 of the files that options name
    data: list[RecordedData] = field(default_factory=list)
    models: list[RecordedModel] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


# ------------------------------------------------------------------------------------------ read and write


def read_run(path: Path) -> RunFile:
    """Read a run file, or what the result folder of an audit says about its command."""
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

    run = _add_records(_parse_words(invoked.get()), result.meta)
    run = replace(run, files=_checksums(run.options))
    content = {name: value for name, value in _plain(run).items() if value}
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    return write_text(path, HEAD.format(name=path.name) + text)


def _of_result(folder: Path) -> RunFile:
    """The run of a result folder, from the command that its result records."""
    meta = read_meta(folder)
    said = meta["details"].get("command")
    try:
        words = shlex.split(said) if isinstance(said, str) else []
        if words[:1] != ["unmask"]:
            raise ResultError(
                f"{folder / RESULT} does not say which command repeats it: "
                "run the command again with --save-config FILE, then unmask run FILE"
            )
        run = _add_records(_parse_words(words[1:]), meta)
    except UnmaskError:
        raise
    except Exception as error:  # of the parser of words or of the command line
        reason = error.format_message() if hasattr(error, "format_message") else str(error)
        raise ResultError(f"{folder / RESULT}: the command {quote(said)} cannot be read ({reason})") from error
    named = _strings(run.options.get("data", []))  # in the order of the records
    pairs = zip(split_names(named), run.data, strict=False)
    return replace(run, files={path: record.sha256 for path, record in pairs if record.sha256})


def _add_records(run: RunFile, meta: Mapping[str, Any]) -> RunFile:
    """The run with the data, models and versions of its result."""
    models = [facts for facts in (meta.get("models") or [meta["model"]]) if facts]
    return replace(
        run,
        data=[RecordedData(facts["name"], facts.get("sha256"), facts.get("n")) for facts in meta["data"]],
        models=[RecordedModel(facts["id"], facts.get("fingerprint") or "") for facts in models],
        versions=dict(meta["versions"]),
    )


def _plain(run: RunFile) -> dict[str, Any]:
    """The content as YAML has it, without what is not known."""
    listed: dict[str, list[Any]] = {"data": [*run.data], "models": [*run.models]}
    rows = {
        name: [{f.name: v for f in fields(each) if (v := getattr(each, f.name)) not in (None, "")} for each in some]
        for name, some in listed.items()
    }
    return {each.name: rows.get(each.name, getattr(run, each.name)) for each in fields(run)}


# -------------------------------------------------------------------------------------- words and options


def _find_command(name: str) -> Any:
    """The command of a name such as `audit` or `corpus count`; UnknownName if a run file cannot have it."""
    from unmask.cli import COMMANDS, make_app

    words = name.split() or [""]
    if words[0] not in COMMANDS:
        raise UnknownName("command", words[0], COMMANDS)
    command, used = find_command(typer.main.get_command(make_app(words[:1])), words)
    if used < len(words):
        raise UnknownName(f"command of unmask {words[0]}", words[used], getattr(command, "commands", {}))
    if not any(parameter.name == SAVE for parameter in command.params):
        raise DataError(f"unmask {name} cannot be repeated from a run file: it has no option --save-config")
    return command


def _parameters(command: Any) -> dict[str, Any]:
    """The parameters of a command by their names in a run file: options without dashes, arguments as they are.

    An option that is written like an argument, such as the --model of an endpoint, has its own name (served-model).
    """
    arguments = {each.name: each for each in command.params if _is_argument(each)}
    named = dict(arguments)
    for each in command.params:
        if not _is_argument(each):
            written = _flag(each).lstrip("-")
            named[each.name.replace("_", "-") if written in arguments else written] = each
    return {name: each for name, each in named.items() if each.name not in (SAVE, "help")}


def _flag(parameter: Any) -> str:
    """An option as it is written on the command line, by its long name."""
    return str(min(parameter.opts, key=lambda word: word[:2] != "--"))


def _parse_words(words: Sequence[str]) -> RunFile:
    """The command and the options of words of the command line."""
    from unmask.cli import make_app

    _, used = find_command(typer.main.get_command(make_app(words[:1])), words)
    name, rest = " ".join(words[:used]), [*words[used:]]
    command = _find_command(name)
    with command.make_context(name, rest) as context:
        given = {key: context.params[each.name] for key, each in _parameters(command).items()}
        saved = {key: value for key, value in given.items() if _parameters(command)[key].name not in NOT_SAVED}
    return RunFile(name, {key: _scalars(value) for key, value in saved.items() if _is_set(value)})


def _is_set(value: Any) -> bool:
    return value is not None and value is not False and value not in ((), [])


def _scalars(value: Any) -> Scalar | list[Scalar]:
    """A value of the command line in the types of YAML."""
    if isinstance(value, list | tuple):
        return [str(each) for each in value]
    value = getattr(value, "value", value)  # a choice
    return value if isinstance(value, bool | int | float) else str(value)


def run_words(run: RunFile, extra: Sequence[str] = (), *, name: str = "the run file") -> tuple[RunFile, list[str]]:
    """The words of the command line that do this run; `extra` words replace options of the file.

    Also returned is the run with the options that are left of it.
    """
    command = _find_command(run.command)
    known = _parameters(command)
    for key in run.options:
        if key not in known:
            raise UnknownName(f"option of unmask {run.command} ({name})", key, known)
    with command.make_context(run.command, [*extra], resilient_parsing=True) as context:
        sources = {key: context.get_parameter_source(each.name) for key, each in known.items()}
    given = {key for key, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    left = {key: value for key, value in run.options.items() if key not in given}
    for key in RUN_CODE:
        if left.get(key):
            raise ModelError(f"{name} asks for {key}, which can run code: if you trust the model, add --{key}")
    options = [word for key, value in left.items() for word in _option_words(name, key, value, known[key])]
    arguments = [word for key, value in left.items() if _is_argument(known[key]) for word in _strings(value)]
    kept = replace(run, options=left, data=[] if "data" in given else run.data)
    kept = replace(kept, models=[] if given & {"model", "models"} else run.models)
    return kept, [*run.command.split(), *options, *extra, *(["--", *arguments] if arguments else [])]


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _strings(value: Scalar | list[Scalar]) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _option_words(name: str, key: str, value: Scalar | list[Scalar], parameter: Any) -> list[str]:
    """The words for one option; its value is checked by the command's own parser."""
    several = parameter.nargs == -1 or getattr(parameter, "multiple", False)
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise DataError(f"{name}: {key} is {quote(value)}, expected true or false")
        return [_flag(parameter)] if value else []
    if isinstance(value, bool) or (isinstance(value, list) and not several):
        raise DataError(f"{name}: {key} is {quote(value)}, expected {'values' if several else 'one value'}")
    return [] if _is_argument(parameter) else [f"{_flag(parameter)}={each}" for each in _strings(value)]


# ------------------------------------------------------------------------------------------------ checks


def _checksums(options: Mapping[str, Scalar | list[Scalar]]) -> dict[str, str]:
    """The sha256 of every file that an option names."""
    from unmask.data.formats import is_file, user_path

    named = [each for value in options.values() for each in split_names(_strings(value))]
    return {each: sha256_of(user_path(each)) for each in named if is_file(user_path(each))}


def check_data(run: RunFile, name: str) -> None:
    """Refuse files and datasets that are not those that the run file records."""
    from unmask import data
    from unmask.data.formats import is_file, user_path

    named = {each for value in run.options.values() for each in split_names(_strings(value))}
    for path, expected in run.files.items():
        if path in named and is_file(user_path(path)):
            _refuse_changed(path, sha256_of(user_path(path)), expected, name)
    folder = run.options.get("data-dir")
    for record in run.data:
        if record.sha256 and record.name in data.names():
            where = None if folder is None else Path(str(folder))
            loaded = data.load(record.name, data_dir=where, offline=bool(run.options.get("offline")))
            _refuse_changed(f"the data {record.name}", loaded.sha256, record.sha256, name)


def _refuse_changed(what: str, found: str | None, expected: str, name: str) -> None:
    if found != expected:
        raise DataError(
            f"{what} has changed since {name} was written (sha256 {str(found)[:12]}…, expected {expected[:12]}…): "
            "restore it, or add --changed to run with what is there"
        )


def describe_versions(run: RunFile, name: str) -> str:
    """Which versions differ from those of the run file, in one line; empty if none does."""
    here = versions()
    known = [(package, was) for package, was in run.versions.items() if here.get(package, was) != was]
    other = [f"{package} {here[package]} instead of {was}" for package, was in known]
    return f"{name} was written with other versions, so numbers can differ: {', '.join(other)}" if other else ""


def describe_difference(result: Result) -> str:
    """Whether a repeated command measured another model than its run file records; empty if not."""
    if (expected := repeated.get()) is None:
        return ""
    name, run = expected
    found = {facts.get("fingerprint") for facts in result.models}
    changed = [model.id for model in run.models if model.fingerprint and model.fingerprint not in found]
    if not changed:
        return ""
    return f"{', '.join(changed)} is not the model of {name}: its weights or configuration have changed"
