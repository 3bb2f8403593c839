"""Files that are dropped on the page: read as on the command line, limited in size, audited into a result folder."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import zoo
from unmask import data
from unmask.audit.result import load
from unmask.core.errors import DataError
from unmask.explorer.app import Site
from unmask.explorer.live import LiveModel
from unmask.explorer.pairs import Runs
from unmask.explorer.upload import MAX_FILE, MAX_ITEMS, MAX_UPLOAD, Upload, read_upload
from unmask.models import open_lm

from . import samples

PAIRS = b"more,less,category\nHe ran home.,She ran home.,gender\nHe sat.,She sat.,gender\n"


def upload(content: bytes, name: str = "own.csv") -> Upload:
    return Upload(name, base64.b64encode(content).decode())


@pytest.fixture
def site(tmp_path: Path) -> Site:
    runs = Runs((load(samples.run(tmp_path / "one", "tiny")),))
    live = LiveModel.start("tiny-bert", lambda: open_lm(zoo.folder("bert-uncased")))
    return Site(runs, samples.TOKEN, live, new_folder=lambda name: tmp_path / "new" / name)


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    with samples.served(site) as url:
        yield url.partition("/?")[0]


def send(address: str, body: object, **headers: str) -> httpx.Response:
    sent = {"x-unmask-token": samples.TOKEN} | headers
    return httpx.post(f"{address}/api/audit", json=body, headers=sent, trust_env=False, timeout=60)


@pytest.mark.parametrize("name", ["own.csv", "a folder/own.csv", "C:\\Users\\me\\own.CSV", "../../own.csv"])
def test_it_is_read_as_on_the_command_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_bytes(PAIRS)
    found, expected = read_upload(upload(PAIRS, name)), data.load(tmp_path / "own.csv")
    assert found.items == expected.items
    assert (found.card.name, found.sha256) == (expected.card.name, expected.sha256)


@pytest.mark.parametrize("name", ["..", "", "\x00", "a" * 500 + ".csv", "x.csv/../..", "own", ".csv"])
def test_no_name_leads_out_of_its_folder(name: str) -> None:
    said = ""
    with contextlib.suppress(DataError):
        assert len(read_upload(upload(PAIRS, name)).items) == 2
        said = "read"
    if not said:
        with pytest.raises(DataError, match=r"^(?!.*(/tmp|unmask-upload))"):
            read_upload(upload(PAIRS, name))


def test_errors_are_those_of_the_command_line_without_the_place_of_the_copy(tmp_path: Path) -> None:
    bad = b"more,less\nHe ran.,\n"
    (tmp_path / "own.csv").write_bytes(bad)
    with pytest.raises(DataError) as expected:
        data.load(tmp_path / "own.csv")
    with pytest.raises(DataError) as found:
        read_upload(upload(bad))
    assert str(found.value) == str(expected.value).replace(f"{tmp_path}/", "")


def test_sizes_are_limited() -> None:
    with pytest.raises(DataError, match=f"own.csv has {MAX_FILE + 1:,} bytes, at most {MAX_FILE:,} here: run unmask"):
        read_upload(upload(b"x" * (MAX_FILE + 1)))
    rows = b"".join(b"He ran %d.,She ran %d.\n" % (n, n) for n in range(MAX_ITEMS + 1))
    with pytest.raises(DataError, match=f"own.csv has {MAX_ITEMS + 1:,} items, at most {MAX_ITEMS:,} here"):
        read_upload(upload(b"more,less\n" + rows))
    with pytest.raises(DataError, match="is not base64"):
        read_upload(Upload("own.csv", "%%%"))


def test_a_file_becomes_a_run_and_earlier_pairs_keep_their_numbers(site: Site, address: str, tmp_path: Path) -> None:
    before = site.runs.pairs
    answer = send(address, {"name": "own.csv", "content": upload(PAIRS).content})
    assert answer.json() == {"run": 1, "folder": "own", "n": 2}
    assert site.runs.pairs[: len(before)] == before
    assert len(site.runs.pairs) == len(before) + 2
    assert load(tmp_path / "new" / "own").meta["data"][0]["name"] == "own"
    runs = httpx.get(f"{address}/api/runs", trust_env=False).json()
    assert (len(runs["runs"]), runs["uploads"]) == (2, True)


def test_the_rules_of_requests_hold(address: str) -> None:
    body = {"name": "own.csv", "content": upload(PAIRS).content}
    assert send(address, body, **{"x-unmask-token": "wrong"}).status_code == 401
    assert send(address, body, origin="http://attack.test").status_code == 403
    assert send(address, {"name": "own.csv", "content": "A" * MAX_UPLOAD}).status_code == 413
    assert send(address, {"name": 3}).status_code == 400
    refused = send(address, {"name": "own.csv", "content": upload(b"a,b\n1,2\n").content})
    assert refused.status_code == 400
    assert refused.json()["error"].startswith("own.csv, line 2: no column 'more'")
    large = httpx.post(
        f"{address}/api/live/pair",
        json={"more": "x" * 70_000},
        headers={"x-unmask-token": samples.TOKEN},
        trust_env=False,
    )
    assert large.status_code == 413  # only files may be large


def test_without_a_model_no_file_is_taken(tmp_path: Path) -> None:
    with samples.served(Site(Runs(()), samples.TOKEN)) as url:
        answer = send(url.partition("/?")[0], {"name": "own.csv", "content": upload(PAIRS).content})
    assert (answer.status_code, answer.json()["error"][:13]) == (400, "no live model")
