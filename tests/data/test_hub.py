"""Data of the hub by name, against a real HTTP server on loopback that speaks as the hub does."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants

import unmask
import zoo
from hub_server import COMMIT, serve, serve_nothing
from unmask import data
from unmask.core.errors import DataError
from unmask.core.hub import PAUSE
from unmask.data.hub import HubData, select_files

ROWS = [
    {"sent_more": "The nurse said she slept.", "sent_less": "The nurse said he slept.", "label": 0, "kind": "gender"},
    {"sent_more": "Old people forget.", "sent_less": "Young people forget.", "label": 1, "kind": "age"},
]
CARD = "---\nlicense: cc-by-4.0\nlanguage:\n- en\n- ko\n---\n# Pairs\n"


def parquet(rows: list[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), stream)
    return stream.getvalue()


FILES = {
    "team/pairs": {
        "README.md": CARD.encode(),
        "data/test-00000-of-00002.parquet": parquet(ROWS[:1]),
        "data/test-00001-of-00002.parquet": parquet(ROWS[1:]),
        "script.py": b"raise SystemExit",
    },
    "team/many": {"en/test/0000.parquet": parquet(ROWS), "fr/test/0000.parquet": parquet(ROWS[:1])},
    "team/csv": {"pairs.csv": b"more,less\na,b\n"},
    "team/broken": {"test.parquet": b"PAR1 no"},
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """What was asked of the server, which is the hub of this process; its cache is empty."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with serve(FILES) as server:
        connect(monkeypatch, server.url)
        yield server.asked


def connect(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Make this the hub of the process."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(huggingface_hub.HfApi, "__init__", _with_endpoint(huggingface_hub.HfApi.__init__, url))


def _with_endpoint(original: Any, url: str) -> Any:
    def init(self: Any, **given: Any) -> None:
        original(self, **{**given, "endpoint": url})

    return init


def mapping(folder: Path, text: str) -> Path:
    path = folder / "columns.yaml"
    path.write_text(text, encoding="utf-8")
    return path


MAPPED = (
    "more: sent_more\nless: sent_less\ncategory: kind\ndirection: {column: label, values: {0: stereo, 1: antistereo}}\n"
)


def test_all_shards_of_a_split_are_read_at_a_commit_which_the_result_records(hub: list[str], tmp_path: Path) -> None:
    columns = mapping(tmp_path, MAPPED)
    found = data.load("hf:team/pairs@v1", mapping=columns)
    assert [item.id for item in found.items] == ["team-pairs/0000", "team-pairs/0001"]
    assert found.items[1].more == "Old people forget."
    assert dict(found.items[1].groups) == {"category": "age", "direction": "antistereo"}
    card = found.card
    assert (card.hub, card.revision, card.licence, card.languages) == ("team/pairs", COMMIT, "cc-by-4.0", ("en", "ko"))
    assert not any("script.py" in path for path in hub)
    facts = unmask.audit(
        zoo.folder("bert-uncased"), data="hf:team/pairs", mapping=columns, measures="aul", store=False
    ).meta["data"][0]
    assert (facts["hub"], facts["revision"], facts["n"]) == ("team/pairs", COMMIT, 2)
    assert facts["source"].startswith(f"hf:team/pairs@{COMMIT}:data/test-00000-of-00002.parquet, data/test-00001")


def test_what_was_read_once_is_read_again_offline(hub: list[str], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^cannot read hf:team/pairs: it is not in the cache, and offline mode is on"):
        data.load("hf:team/pairs", offline=True)
    first = data.load("hf:team/pairs@v1")  # sent_more and sent_less are usual names
    assert "label" in first.items[0].groups
    asked = len(hub)
    assert data.load("hf:team/pairs@v1", offline=True) == first
    assert data.load(f"hf:team/pairs@{COMMIT}", offline=True) == first
    assert len(hub) == asked


def test_a_hub_that_does_not_answer_is_given_up_and_the_cache_read(
    hub: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = data.load("hf:team/pairs@v1")
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.5)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    with serve_nothing() as silent:
        for url, reason in (("http://127.0.0.1:9", "Connection refused"), (silent, "timed out")):
            connect(monkeypatch, url)
            slept.clear()
            with pytest.raises(
                DataError, match=rf"cannot read hf:team/many \({url} does not answer: .*{reason}\): check the network"
            ):
                data.load("hf:team/many:en/test")
            assert data.load("hf:team/pairs@v1") == first
            assert sum(slept) <= 2 * PAUSE  # the hub's library alone asks again for half a minute


def test_a_slow_hub_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with serve(FILES) as server:
        connect(monkeypatch, server.url)
        server.delay = 1.5  # longer than the pause between two attempts
        assert len(data.load("hf:team/many:fr/test").items) == 1


def test_a_config_and_a_split_are_chosen(hub: list[str]) -> None:
    assert len(data.load("hf:team/many:fr/test").items) == 1
    assert len(data.load("hf:team/many@main:en/test").items) == 2
    with pytest.raises(
        DataError, match=r"hf:team/many: 2 splits, expected one of :en/test, :fr/test after the revision"
    ):
        data.load("hf:team/many:test")
    with pytest.raises(DataError, match=r"no such split, expected one of :en/test, :fr/test"):
        data.load("hf:team/many:de/test")
    assert [path.name for path in data.get("hf:team/many:en/test")] == ["0000.parquet"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf:team", "names no data of the hub: expected hf:owner/name@revision:config/split"),
        ("hf:team/pairs@a:b/c/d", "names no data of the hub"),
        ("hf:../../etc", "names no data of the hub"),
        ("hf:team/other", r"cannot read hf:team/other .*check the name and the revision"),
        ("hf:team/pairs@v9", r"cannot read hf:team/pairs .*check the name and the revision"),
        ("hf:team/gated", r"cannot read hf:team/gated .*accept its terms"),
        ("hf:team/csv", "hf:team/csv has no Parquet files"),
        ("hf:team/broken", "hf:team/broken@0123456:test.parquet: not a readable Parquet file"),
    ],
)
def test_what_cannot_be_read_is_one_line(hub: list[str], name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        data.load(name)


def test_a_bad_name_is_refused_before_anything_is_asked(hub: list[str]) -> None:
    with pytest.raises(DataError, match="names no data of the hub"):
        data.check_names(["hf:nope"])
    data.check_names(["hf:team/other"])
    assert not hub


@pytest.mark.parametrize(
    ("names", "part", "chosen"),
    [
        (["data/test-00000-of-00001-9a0b1c.parquet"], HubData("a/b"), 1),
        (["test.parquet", "train.parquet"], HubData("a/b", split="test"), 1),
        (["en/test-00000-of-00002.parquet", "en/test-00001-of-00002.parquet"], HubData("a/b", config="en"), 2),
        (["default/train/0000.parquet", "default/train/0001.parquet"], HubData("a/b"), 2),
        (["0000.parquet"], HubData("a/b", split="train"), 1),
    ],
)
def test_the_layouts_of_the_hub(names: list[str], part: HubData, chosen: int) -> None:
    assert len(select_files(part, [*names, "README.md"])) == chosen


# ---------------------------------------------------------------------------------------- mapping


def test_a_mapping_names_the_columns_of_your_own_file_too(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    found = data.load(path, mapping=mapping(tmp_path, "more: sent_less\nless: sent_more\nid: kind\ntheme: kind\n"))
    assert [item.id for item in found.items] == ["pairs/gender", "pairs/age"]
    assert found.items[0].more == "The nurse said he slept."
    assert dict(found.items[0].groups) == {"theme": "gender"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- more\n", "expected lines such as `more: sent_more`"),
        ("more: sent_more\n", "no less; expected the columns of both sentences"),
        ("more: sent_more\nless: 3\n", "columns.yaml, less: found 3, expected the name of a column"),
        ("more: sent_more\nless: {values: {a: b}}\n", "columns.yaml, less has no column"),
        ("more: sent_more\nless: {column: x, values: [1]}\n", "expected what each value stands for"),
        ("more: sent_more\nless: gone\n", "line 1: no column 'gone'; found"),
        ("more: sent_more\nless: sent_less\n1: x\n", "the field 1, expected a name"),
    ],
)
def test_a_bad_mapping_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        data.load(path, mapping=mapping(tmp_path, text))


def test_a_mapping_is_for_data_without_fields_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nine-axes is neither"):
        data.load("nine-axes", mapping=mapping(tmp_path, MAPPED))
