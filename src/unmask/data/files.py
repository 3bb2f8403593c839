"""Files of datasets: find them, check their sha256, download them.

A data directory has `<folder>/<file name>` for each dataset. They are searched in this order: the given one,
`$UNMASK_DATA_DIR`, the cache. A file in the first two belongs to the user: it is used even if it is not the
published one, and labelled unverified. In the cache only published files are accepted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from unmask.core import environment, files
from unmask.core.errors import DataError, shorten
from unmask.core.types import Card, DataFile

TIMEOUT = 60  # seconds without an answer before a download fails
RETRIES = 1


@dataclass(frozen=True, slots=True)
class Source:
    """A local file; `verified`: its checksum is the published one, None if there is none."""

    name: str
    path: Path
    sha256: str
    verified: bool | None = None

    def facts(self) -> dict[str, Any]:
        """The facts a result records, without local paths."""
        return {"name": self.name, "sha256": self.sha256, "verified": self.verified}


def cache_dir() -> Path:
    """Where downloads go: `$UNMASK_CACHE_DIR/data`, or the user's cache folder."""
    return files.cache_dir() / "data"


def locate(card: Card, file: DataFile, *, data_dir: Path | None = None, offline: bool = False) -> Source:
    """Find a file; DataError lists the folders that were searched."""
    if not file.url:  # it is part of a package
        remedy = f"install {card.package.partition('.')[0]} again"
        path = Path(str(resources.files(card.package) / card.folder / file.name))
        if not path.is_file():
            raise DataError(f"{path}, the file of {card.name}, is missing; {remedy}")
        return _require_published(card, file, path, remedy)
    given = _given_dirs(data_dir)
    for folder in given:
        path = folder / card.folder / file.name
        if path.is_file():
            digest = sha256_of(path)
            return Source(f"{card.name}/{file.name}", path, digest, digest == file.sha256 if file.sha256 else None)
    if card.manual:
        raise _manual_error(card, file, f"{', '.join(map(str, given)) or 'no data directory'}")
    path = cache_dir() / card.folder / file.name
    if path.is_file():
        return _require_published(card, file, path, f"run `unmask data get {card.name}` to fetch it again")
    where = ", ".join(map(str, [*given, cache_dir()]))
    raise DataError(
        f"{card.name} is not on this machine: looked for {card.folder}/{file.name} in {where}; run "
        f"`unmask data get {card.name}`{' while online' if offline else ''}, or set data_dir (--data-dir) to "
        "a folder that has it"
    )


def availability(card: Card) -> str:
    """Where the files of a dataset are: in the package, on this machine (unchecked), or how to get them."""
    if not any(file.url for file in card.files) and not card.manual:
        return "built in"
    folders = _given_dirs(None) if card.manual else data_dirs(None)
    if all(any((folder / card.folder / file.name).is_file() for folder in folders) for file in card.files):
        return "on this machine"
    return "bring the file: unmask data show" if card.manual else "unmask data get"


def fetch(card: Card, file: DataFile, *, data_dir: Path | None = None, force: bool = False) -> Path:
    """Return the published file in `data_dir` or the cache; download it if it is missing.

    A different file in `data_dir` is replaced only with `force`; one in the cache always.
    """
    if not file.url:
        return locate(card, file).path
    if card.manual:
        raise _manual_error(card, file, "nothing was downloaded")
    path = (data_dir or cache_dir()) / card.folder / file.name
    if path.is_file():
        if (digest := sha256_of(path)) == file.sha256:
            return path
        if data_dir and not force:
            raise DataError(
                f"{path} is not the published file (sha256 {digest[:12]}…, expected {file.sha256[:12]}…); "
                "remove it, or replace it with force (--force)"
            )
    _download(card, file, path)
    return path


def sha256_of(path: Path) -> str:
    """The sha256 of a file; DataError if it cannot be read."""
    try:
        return files.sha256_of(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check its permissions") from None


def data_dirs(data_dir: Path | None) -> list[Path]:
    """The data directories in search order: the given folder, `$UNMASK_DATA_DIR`, the cache."""
    return [*_given_dirs(data_dir), cache_dir()]


def digest(located: Sequence[Source]) -> str:
    """The sha256 of one file; for several, the sha256 of their concatenated checksums."""
    sums = [file.sha256 for file in located]
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


def _given_dirs(data_dir: Path | None) -> list[Path]:
    """The data directories given by the user, in order; each must exist."""
    if data_dir and not os.path.isdir(data_dir):  # noqa: PTH112 - that of Path fails for a name that is too long
        raise DataError(f"data_dir is {data_dir}, which is not a folder; expected a folder of datasets")
    return [folder for folder in (data_dir, environment.data_dir()) if folder]


def _manual_error(card: Card, file: DataFile, where: str) -> DataError:
    """The error for a file that the user has to get."""
    return DataError(
        f"{card.name} cannot be downloaded by name ({where}): {card.manual}, and put {file.name} into "
        f"{card.folder}/ of a data directory (--data-dir)"
    )


def _require_published(card: Card, file: DataFile, path: Path, remedy: str) -> Source:
    """A file of the package or the cache: it must be the published one."""
    if (digest := sha256_of(path)) != file.sha256:
        raise DataError(
            f"{path} is not the published file of {card.name} "
            f"(sha256 {digest[:12]}…, expected {file.sha256[:12]}…); {remedy}"
        )
    return Source(f"{card.name}/{file.name}", path, digest, verified=True)


def _download(card: Card, file: DataFile, path: Path) -> None:
    """Download to a temporary file, check its sha256, then move it into place."""
    import pooch

    mirror = environment.data_mirror()
    url = f"{mirror}/{card.folder}/{file.name}" if mirror else file.url
    pooch.get_logger().setLevel("ERROR")  # otherwise it logs every step to stderr
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        downloads = pooch.create(
            path.parent, base_url="", registry={file.name: file.sha256}, urls={file.name: url}, retry_if_failed=RETRIES
        )
        downloads.fetch(file.name, downloader=pooch.HTTPDownloader(timeout=TIMEOUT))
    except (ValueError, OSError) as error:
        reason = shorten(str(error), 200)
        if "does not match the known hash" in str(error):
            reason = "the bytes received do not have the published sha256"
        raise DataError(
            f"{file.name} could not be fetched from {url}: {reason}; try again later, "
            f"or put the published file at {path}"
        ) from None
