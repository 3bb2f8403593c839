"""Data of the Hugging Face hub: `hf:owner/name@revision:config/split`, Parquet files only, at a commit.

    hf:owner/name                                the only split of its Parquet files, as they are now
    hf:owner/name@COMMIT:test                    the split test
    hf:owner/name@refs/convert/parquet:fr/test   the hub's own Parquet copy of another format, config fr

The revision is resolved to a commit, which the result records. No code of the repository is run, and no other format
read. What is in the hub's cache is read without the network.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from unmask.core.boundary import Rows, parse_yaml, read_text
from unmask.core.errors import DataError, UnmaskError, one_line, quote, shorten
from unmask.core.hub import connection_problem, private_hub
from unmask.core.types import Dataset
from unmask.data import pairs
from unmask.data.formats import Column, map_columns, read_bytes, records
from unmask.data.items import user_dataset

PREFIX, SUFFIX, README = "hf:", ".parquet", "README.md"
FORM = f"{PREFIX}owner/name@revision:config/split"
LISTED = 8  # splits named in a message
MAX_CARD = 2**22
_NAME = re.compile(
    r"hf:(?P<repo>[\w-][\w.-]*/[\w-][\w.-]*)(?:@(?P<revision>[\w./-]+))?"
    r"(?::(?:(?P<config>[^/:]+)/)?(?P<split>[^/:]+))?"
)
_SHARD = re.compile(r"(?:[-_.]?\d{4,5}-of-\d{4,5}(?:-[0-9a-f]+)?|[-_.]?\d{4,5})?\.parquet$")
_METADATA = re.compile(r"\s*---[^\n]*\n(.*?)\n---", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HubData:
    """A dataset of the hub: its repository, a revision, and which of its splits."""

    repo: str
    revision: str = ""
    config: str = ""
    split: str = ""

    @classmethod
    def parse(cls, name: str) -> HubData:
        """A reference as users write it."""
        if (found := _NAME.fullmatch(name)) is None:
            raise DataError(f"{quote(name)} names no data of the hub: expected {FORM}, all after the name optional")
        return cls(**{key: value or "" for key, value in found.groupdict().items()})

    @property
    def title(self) -> str:
        """The repository and the part."""
        return " ".join(part for part in (self.repo, self.config, self.split) if part)


@dataclass(frozen=True, slots=True)
class HubFiles:
    """The files of a split on this machine, and the commit they are of."""

    commit: str
    files: tuple[Path, ...]
    names: tuple[str, ...]  # in the repository
    card: Mapping[str, Any]  # the metadata of its README


def is_hub_name(name: str | Path) -> bool:
    """Whether it names data of the hub."""
    return isinstance(name, str) and name.startswith(PREFIX)


def load(data: HubData, *, name: str, columns: Mapping[str, Column] | None = None, offline: bool = False) -> Dataset:
    """The pairs of a split, with the commit and what the repository's card says of licence and languages."""
    fetched = fetch(data, offline=offline)
    rows: list[Any] = []
    sums = []
    where = f"{PREFIX}{data.repo}@{fetched.commit[:7]}"
    for path, file in zip(fetched.files, fetched.names, strict=True):
        content = read_bytes(path, "a Parquet file")
        sums.append(hashlib.sha256(content).hexdigest())
        rows += records(content, SUFFIX, f"{where}:{file}")
    loaded = pairs.items(map_columns(Rows(rows, where), columns), name)
    digest = sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()
    dataset = user_dataset(
        loaded, name, f"{data.title}, on the Hugging Face hub", f"{where}:{fetched.names[0]}", digest
    )
    card = replace(
        dataset.card,
        source=f"{PREFIX}{data.repo}@{fetched.commit}:{', '.join(fetched.names)}",
        licence=_text(fetched.card.get("license")) or "not stated",
        languages=_languages(fetched.card.get("language")),
        problems="Data of the hub: not reviewed.",
        hub=data.repo,
        revision=fetched.commit,
    )
    return replace(dataset, card=card)


def fetch(data: HubData, *, offline: bool = False) -> HubFiles:
    """The Parquet files of a split, downloaded into the hub's cache unless they are there; and its card."""
    from huggingface_hub import is_offline_mode
    from huggingface_hub.errors import LocalEntryNotFoundError

    offline = offline or is_offline_mode()
    unreachable = "" if offline else connection_problem()
    try:
        with private_hub(offline=offline):
            return _from_cache(data) if offline or unreachable else _from_hub(data)
    except UnmaskError:
        raise
    except Exception as error:  # of the network, the hub, or the disk
        if offline and isinstance(error, LocalEntryNotFoundError):
            raise DataError(
                f"cannot read {PREFIX}{data.repo}: it is not in the cache, and offline mode is on; read it once "
                "without offline"
            ) from None
        reason = unreachable or shorten(one_line(str(error).strip().split("\n", 1)[0]), 300) or type(error).__name__
        advice = "check the network connection" if unreachable else _advice(error, offline=offline)
        raise DataError(f"cannot read {PREFIX}{data.repo} ({reason}): {advice}") from error


def _advice(error: Exception, *, offline: bool) -> str:
    kind = type(error).__name__
    if "Gated" in kind:
        return "accept its terms on its page of the hub, then log in with `hf auth login` or set HF_TOKEN"
    if offline:
        return "it is not in the cache and offline mode is on; read it once without offline"
    if "NotFound" in kind:
        return f"check the name and the revision ({FORM})"
    return "check the network connection"


def _from_hub(data: HubData) -> HubFiles:
    from huggingface_hub import HfApi, hf_hub_download

    info = HfApi().dataset_info(data.repo, revision=data.revision or None)
    names = [file.rfilename for file in info.siblings or []]
    chosen = select_files(data, names)
    download = partial(hf_hub_download, data.repo, repo_type="dataset")
    # the first by its revision, which the cache then knows offline, the others by the commit that it is of
    first = Path(download(chosen[0], revision=data.revision or "main"))
    commit = first.parents[len(PurePosixPath(chosen[0]).parts) - 1].name
    others = [Path(download(name, revision=commit)) for name in chosen[1:]]
    card = Path(download(README, revision=commit)) if README in names else None
    return HubFiles(commit, (first, *others), chosen, _metadata(card))


def _from_cache(data: HubData) -> HubFiles:
    from huggingface_hub import snapshot_download

    folder = Path(
        snapshot_download(data.repo, repo_type="dataset", revision=data.revision or None, local_files_only=True)
    )
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob(f"*{SUFFIX}"))]
    chosen = select_files(data, names)
    readme = folder / README
    return HubFiles(
        folder.name, tuple(folder / name for name in chosen), chosen, _metadata(readme if readme.is_file() else None)
    )


def select_files(data: HubData, names: Sequence[str]) -> tuple[str, ...]:
    """The Parquet files of one split, in order; DataError if there is none, or more than one to choose from."""
    parquet = sorted(name for name in names if name.endswith(SUFFIX))
    if not parquet:
        raise DataError(
            f"{PREFIX}{data.repo} has no Parquet files: give the hub's own copy, @refs/convert/parquet, or download "
            "the file and name it"
        )
    splits: dict[tuple[str, str], list[str]] = {}
    for name in parquet:
        splits.setdefault(_part(name), []).append(name)
    fitting = [part for part in splits if data.config in ("", part[0]) and data.split in ("", part[1])]
    if len(fitting) != 1:
        listed = ", ".join(f":{config}/{split}" if config else f":{split}" for config, split in (fitting or splits))
        found = "no such split" if not fitting else f"{len(fitting)} splits"
        raise DataError(f"{PREFIX}{data.repo}: {found}, expected one of {shorten(listed, 300)} after the revision")
    return tuple(splits[fitting[0]])


def _part(name: str) -> tuple[str, str]:
    """The config and the split of a file, by the two layouts of the hub.

    `config/test-00000-of-00001.parquet` (a folder `data` is no config), and `config/test/0000.parquet`.
    """
    path = PurePosixPath(name)
    stem = _SHARD.sub("", path.name)
    folders = [folder for folder in path.parts[:-1] if folder != "data"]
    if not stem:
        stem = folders.pop() if folders else "train"
    return "/".join(folders[-1:]), stem


def _metadata(readme: Path | None) -> Mapping[str, Any]:
    """The metadata of a README; empty if there are none, or if they are no YAML."""
    with suppress(DataError):
        found = None if readme is None else _METADATA.match(read_text(readme, DataError, most=MAX_CARD))
        content = None if found is None else parse_yaml(found[1], README, DataError)
        return content if isinstance(content, dict) else {}
    return {}


def _text(value: Any) -> str:
    """A text, or a list of them, in one line."""
    parts = value if isinstance(value, list) else [value]
    return ", ".join(one_line(part) for part in parts if isinstance(part, str))


def _languages(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else [value]
    return tuple(part for part in parts if isinstance(part, str) and re.fullmatch(r"[A-Za-z]{2,3}(-\w+)*", part))
