"""The environment variables of unmask, read and checked in this module alone.

UNMASK_DATA_DIR      a folder of datasets
UNMASK_DATA_MIRROR   where datasets are downloaded from instead of their own servers
UNMASK_CACHE_DIR     the folder of downloads and model outputs
UNMASK_FAST          0 turns the shortcuts of the models off
UNMASK_API_KEY       the key of an endpoint; it is never logged or written
WORLD_SIZE           how many processes `accelerate launch` has started
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from unmask.core.errors import MAX_FOUND, DataError, quote, shorten

FAST = "UNMASK_FAST"


def data_dir() -> Path | None:
    """The folder of datasets; DataError if it is no folder."""
    folder = _folder("UNMASK_DATA_DIR")
    if folder and not os.path.isdir(folder):  # noqa: PTH112 - that of Path fails for a name that is too long
        named = shorten(str(folder), MAX_FOUND)
        raise DataError(f"$UNMASK_DATA_DIR is {named}, which is not a folder; expected a folder of datasets")
    return folder


def data_mirror() -> str | None:
    """The address that datasets are downloaded from, without a slash at its end."""
    if not (given := os.environ.get("UNMASK_DATA_MIRROR", "").strip()):
        return None
    try:
        address = urlsplit(given)
        good = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # such as a port that is no number
        good = False
    if not good:
        raise DataError(f"$UNMASK_DATA_MIRROR is {quote(given)}, expected an address like https://mirror.example/data")
    return given.rstrip("/")


def cache_dir() -> Path | None:
    """The folder of downloads and model outputs."""
    return _folder("UNMASK_CACHE_DIR")


def fast() -> bool:
    """Whether the shortcuts of the models are used."""
    if (given := os.environ.get(FAST, "")) not in ("", "0", "1"):
        raise DataError(f"${FAST} is {quote(given)}, expected 0 or 1")
    return given != "0"


def api_key() -> str | None:
    """The key of an endpoint; DataError if it cannot be sent in a header."""
    given = os.environ.get("UNMASK_API_KEY", "").strip()
    if not all("!" <= character <= "~" for character in given):
        raise DataError("$UNMASK_API_KEY has characters that no key has (white space, or not ASCII): set it again")
    return given or None


def world_size() -> int:
    """The number of processes that were started together."""
    given = os.environ.get("WORLD_SIZE", "1")
    if not (given.isascii() and given.isdigit() and 0 < len(given) < 7 and int(given)):
        raise DataError(f"$WORLD_SIZE is {quote(given)}, expected a number of processes: unset it")
    return int(given)


def _folder(name: str) -> Path | None:
    given = os.environ.get(name)
    return Path(os.path.expanduser(given)) if given else None  # noqa: PTH111 - that of Path fails without a home
