"""Result folders: written by one process at a time, and completely or not at all.

An earlier result stays as it is until the new one is complete. Tables are written under temporary names; at the
end the earlier page goes, then the earlier `result.json`, the tables get their names, and `result.json` comes last.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from unmask.core.boundary import read_json
from unmask.core.errors import ResultError
from unmask.core.files import flush, is_partial, lock_folder, make_folder, partial_path, to_json, writing
from unmask.findings.envelope import (
    ITEMS,
    KINDS,
    PAGE,
    RESULT,
    SCHEMA,
    TOKENS,
    Result,
    ResultKind,
    figure_files,
    read_meta,
)

TABLES = (ITEMS, TOKENS)
_new: set[Path] = set()  # folders that this process created and may remove


class ResultFolder:
    """A result folder that this process writes; without a path nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._staged: dict[str, Path] = {}

    def stage(self, name: str) -> Path:
        """A temporary file that gets its name when the result is complete."""
        assert self.path is not None
        self._staged[name] = partial_path(self.path / name)
        return self._staged[name]

    def finish(self, meta: dict[str, Any]) -> Result:
        """Write the result in the place of an earlier one, with what its tables hold; the result as it is read back.

        The tables of a copy are those that its `result.json` describes already.
        """
        text = to_json(meta if meta.get("tables") else {**meta, "tables": self._contents()})
        if self.path is not None:
            with writing(self.path / RESULT):
                self.stage(RESULT).write_text(text, encoding="utf-8", newline="\n")
                for partial in self._staged.values():
                    flush(partial)
                self._remove_old()
                for name, partial in self._staged.items():  # `result.json` is the last
                    partial.replace(self.path / name)
            self.discard()
        return Result(json.loads(text), self.path)

    def discard(self) -> None:
        """Remove the temporary files of a result that was not completed."""
        for partial in self._staged.values():
            with suppress(OSError):
                partial.unlink(missing_ok=True)
        self._staged.clear()

    def _contents(self) -> dict[str, Any]:
        """What each table that was written holds."""
        if not (staged := {name: path for name, path in self._staged.items() if name in TABLES}):
            return {}
        from unmask.findings.contents import TableContent

        return {name: TableContent.of_file(path).facts() for name, path in staged.items()}

    def _remove_old(self) -> None:
        """Remove the earlier result; its page and figures first, so that these never stand beside another result."""
        assert self.path is not None
        old = [PAGE]
        with suppress(ResultError):
            old += figure_files(read_meta(self.path))
        for name in old:
            (self.path / name).unlink(missing_ok=True)
        if set(self._staged) != {RESULT}:
            (self.path / RESULT).unlink(missing_ok=True)  # it must not stand beside new tables


@contextmanager
def result_folder(
    path: str | Path | None, kind: ResultKind, *, also: Collection[str] = (), lock: bool = True
) -> Iterator[ResultFolder]:
    """Open a folder for a result of this kind, and hold it against other processes until the block ends.

    Refused are folders with files of others, and with results of another kind. `also` are further names that an
    unfinished run of the command leaves. Without `lock` (the other processes of a training) nothing is checked.
    """
    if path is None or not lock:
        yield ResultFolder(None if path is None else Path(path))
        return
    folder = Path(path)
    refuse_foreign(folder, kind, also)  # before the folder is created
    with _removed_if_empty(folder), lock_folder(folder):
        refuse_foreign(folder, kind, also)  # another process may have written it since
        for entry in folder.iterdir():
            if is_partial(entry.name) and not entry.name.startswith(tuple(also)):
                with suppress(OSError):
                    entry.unlink()
        opened = ResultFolder(folder)
        try:
            yield opened
        finally:
            opened.discard()


def create_new(path: Path) -> Path:
    """Create a folder that did not exist: `path`, or `path-2`, `path-3` and so on."""
    make_folder(path.parent)
    for number in itertools.count(1):
        folder = path if number == 1 else path.with_name(f"{path.name}-{number}")
        with writing(folder), suppress(FileExistsError):
            folder.mkdir()
            _new.add(folder)
            return folder
    raise AssertionError


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """Remove a folder that is made for a run if the run fails and has left nothing in it."""
    made_here = folder in _new or not folder.exists()
    try:
        yield
    except BaseException:
        if made_here:
            with suppress(OSError):
                folder.rmdir()
        raise


def create(meta: dict[str, Any], out: str | Path | None) -> Result:
    """The result object; written to `out` if given."""
    with result_folder(out, meta["kind"]) as folder:
        return folder.finish(meta)


def refuse_foreign(folder: Path, kind: ResultKind, also: Collection[str] = ()) -> None:
    """Raise unless the folder is new, empty, or has an earlier result or an unfinished run of this kind."""
    advice = "give a new or empty folder for the result"
    try:
        names = {entry.name for entry in folder.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise ResultError(f"{folder} is a file or below one: {advice}") from None
    except OSError as error:
        raise ResultError(f"{folder} cannot be read ({error.strerror or error}): {advice}") from error
    if RESULT in names:
        written = kind_of(folder / RESULT)
        if written is None:
            raise ResultError(f"{folder} holds a {RESULT} that unmask did not write: {advice}")
        if written != kind:
            raise ResultError(f"{folder} holds a result of another kind, {written}: {advice}")
        return
    if any(map(is_partial, names)) or names <= {*also}:
        return
    raise ResultError(f"{folder} holds other files: {advice}")


def kind_of(path: Path) -> str | None:
    """The kind of result that a `result.json` holds; None if it is none of unmask."""
    with suppress(ResultError):
        meta = read_json(path, ResultError) if path.is_file() else None
        if isinstance(meta, dict) and meta.get("schema") == SCHEMA and meta.get("kind") in KINDS and "unmask" in meta:
            return str(meta["kind"])
    return None
