"""Audit a file of pairs or templates that was dropped on the page, as `unmask audit MODEL --data FILE` would."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from unmask.core.errors import DataError, UnmaskError, quote
from unmask.core.files import writing

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult
    from unmask.core.types import Dataset
    from unmask.models import Lm

MAX_FILE, MAX_ITEMS = 2**20, 1000  # bytes of a file, items that are scored while the page waits
MAX_UPLOAD = MAX_FILE * 4 // 3 + 4096  # bytes of the request
MAX_STEM = 60  # characters


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as the page sends it: its name, and its bytes in base64."""

    name: str
    content: str


def read_upload(upload: Upload) -> Dataset:
    """The pairs or templates of a file; it is read and refused as on the command line."""
    from unmask import data

    try:
        content = base64.b64decode(upload.content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DataError(f"the content of {quote(upload.name)} is not base64: send the file again") from error
    name = _file_name(upload.name)
    if len(content) > MAX_FILE:
        raise DataError(f"{name} has {len(content):,} bytes, at most {MAX_FILE:,} here: {_advice(name)}")
    with TemporaryDirectory(prefix="unmask-upload-") as folder:
        path = Path(folder) / name
        with writing(path):
            path.write_bytes(content)
        try:
            found = data.load(path)
        except UnmaskError as error:  # without the place of the copy
            raise DataError(str(error).replace(f"{folder}/", "").replace(folder, "")) from error
    if len(found.items) > MAX_ITEMS:
        raise DataError(f"{name} has {len(found.items):,} items, at most {MAX_ITEMS:,} here: {_advice(name)}")
    return found


def audit_upload(lm: Lm, data: Dataset, new_folder: Callable[[str], Path]) -> AuditResult:
    """Audit the data with the measures that the command line would use, into a new result folder."""
    from unmask.audit.run import audit

    return audit(lm, data=data, out=new_folder(data.card.name))


def _advice(name: str) -> str:
    return f"run unmask audit MODEL --data {name}"


def _file_name(name: str) -> str:
    """The name of the copy: that of the file, without folders and unusual characters."""
    path = PurePosixPath(name.replace("\\", "/"))
    stem = re.sub(r"[^\w-]+", "-", path.stem)[:MAX_STEM].strip("-") or "file"
    suffix = path.suffix.lower()
    return stem + (suffix if re.fullmatch(r"\.\w{1,10}", suffix) else "")
