"""Finding, verifying and fetching files; downloads come from a server on the loopback interface."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from unmask import data
from unmask.core.errors import DataError
from unmask.data import files

from .conftest import Server, replace_file

GOOD = (
    b",sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer\n"
    b"0,The nurse is a woman.,The nurse is a man.,stereo,gender,\"[['gender'], []]\",a0\n"
)
PAGE = "/crows_pairs/crows_pairs_anonymized.csv"


@pytest.fixture(autouse=True)
def small_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """CrowS-Pairs with a checksum that our small file has, and an address nobody answers."""
    replace_file(monkeypatch, "crows-pairs", url="http://127.0.0.1:9/none.csv", sha256=hashlib.sha256(GOOD).hexdigest())


def put(folder: Path, content: bytes) -> Path:
    path = folder / PAGE[1:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def everything_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_search_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory given, then the variable's, then the cache."""
    put(files.cache_dir(), GOOD)
    assert data.load("crows-pairs").verified
    put(tmp_path / "variable", GOOD.replace(b"nurse", b"pilot"))
    monkeypatch.setenv("UNMASK_DATA_DIR", str(tmp_path / "variable"))
    assert data.load("crows-pairs").items[0].more == "The pilot is a woman."
    put(tmp_path / "given", GOOD.replace(b"nurse", b"clerk"))
    assert data.load("crows-pairs", data_dir=tmp_path / "given").items[0].more == "The clerk is a woman."
    (tmp_path / "empty").mkdir()
    assert data.load("crows-pairs", data_dir=str(tmp_path / "empty")).items[0].more == "The pilot is a woman."


def test_another_file_in_a_given_directory_is_used_but_unverified(tmp_path: Path) -> None:
    put(tmp_path, GOOD + b'1,A.,B.,stereo,gender,"[]",a0\n')
    loaded = data.load("crows-pairs", data_dir=tmp_path)
    assert (len(loaded.items), loaded.verified) == (2, False)
    assert "not the published file" in loaded.warnings[0]


def test_another_file_in_the_cache_is_refused() -> None:
    put(files.cache_dir(), GOOD + b"\n")
    with pytest.raises(DataError, match=r"not the published file of crows-pairs .*`unmask data get crows-pairs`"):
        data.load("crows-pairs")


def test_not_found_says_where_it_looked_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, variable = tmp_path / "given", tmp_path / "variable"
    given.mkdir()
    variable.mkdir()
    monkeypatch.setenv("UNMASK_DATA_DIR", str(variable))
    with pytest.raises(DataError) as caught:
        data.load("crows-pairs", data_dir=given)
    assert str(caught.value) == (
        "crows-pairs is not on this machine: looked for crows_pairs/crows_pairs_anonymized.csv in "
        f"{given}, {variable}, {tmp_path / 'cache' / 'data'}; run `unmask data get crows-pairs`, "
        "or set data_dir (--data-dir) to a folder that has it"
    )
    with pytest.raises(DataError, match="`unmask data get crows-pairs` while online"):
        data.load("crows-pairs", offline=True)


def test_load_never_downloads(server: Server) -> None:
    server.pages[PAGE] = GOOD
    with pytest.raises(DataError, match="not on this machine"):
        data.load("crows-pairs")
    assert server.asked == []


@pytest.mark.parametrize("origin", ["data_dir", r"\$UNMASK_DATA_DIR"])
def test_a_data_directory_that_is_none(origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = tmp_path / "nowhere"
    if "$" in origin:
        monkeypatch.setenv("UNMASK_DATA_DIR", str(nowhere))
    with pytest.raises(DataError, match=f"{origin} is .*nowhere, which is not a folder"):
        data.load("crows-pairs", data_dir=None if "$" in origin else nowhere)


def test_cache_folder_by_platform_or_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert files.cache_dir() == tmp_path / "cache" / "data"
    monkeypatch.delenv("UNMASK_CACHE_DIR")
    assert files.cache_dir().parts[-2:] == ("unmask", "data")


# ------------------------------------------------------------------------------------------ downloads


def test_download_verify_load(server: Server) -> None:
    server.pages[PAGE] = GOOD
    (path,) = data.get("crows-pairs")
    assert path == files.cache_dir() / PAGE[1:]
    assert path.read_bytes() == GOOD
    assert everything_below(files.cache_dir()) == [path]
    assert data.load("crows-pairs").verified


def test_a_cached_file_is_not_fetched_again(server: Server) -> None:
    server.pages[PAGE] = GOOD
    first = data.get("crows-pairs")
    assert data.get("crows-pairs") == first
    assert data.get("crows-pairs", force=True) == first  # the published bytes are there: nothing to replace
    assert data.get("crows-pairs", offline=True) == first
    assert server.asked == [PAGE]


def test_wrong_checksum_is_refused_and_nothing_is_left_behind(server: Server) -> None:
    server.pages[PAGE] = GOOD + b"\n"
    with pytest.raises(DataError) as caught:
        data.get("crows-pairs")
    assert str(caught.value) == (
        f"crows_pairs_anonymized.csv could not be fetched from {server.url}{PAGE}: the bytes received do not "
        f"have the published sha256; try again later, or put the published file at {files.cache_dir()}{PAGE}"
    )
    assert everything_below(files.cache_dir()) == []


def test_server_errors(server: Server) -> None:
    with pytest.raises(DataError, match=r"could not be fetched from .*404 Client Error"):
        data.get("crows-pairs")
    server.failures = 1
    with pytest.raises(DataError, match="503 Server Error"):
        data.get("crows-pairs")
    assert everything_below(files.cache_dir()) == []


def test_unreachable_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"could not be fetched from http://127\.0\.0\.1:9/none\.csv: ") as caught:
        data.get("crows-pairs")
    assert "\n" not in str(caught.value)
    monkeypatch.setenv("UNMASK_DATA_MIRROR", "gopher://old.example")
    with pytest.raises(DataError, match=r"\$UNMASK_DATA_MIRROR is 'gopher://old.example', expected an address"):
        data.get("crows-pairs")


@pytest.mark.thorough
def test_a_temporary_failure_is_retried(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "RETRIES", 1)
    server.pages[PAGE] = GOOD
    server.failures = 1
    assert data.get("crows-pairs")[0].read_bytes() == GOOD
    assert len(server.asked) == 2


def test_a_damaged_cache_file_is_replaced(server: Server) -> None:
    put(files.cache_dir(), b"half a fi")
    server.pages[PAGE] = GOOD
    assert data.get("crows-pairs")[0].read_bytes() == GOOD


def test_a_failed_repair_keeps_what_was_there(server: Server) -> None:
    path = put(files.cache_dir(), b"half a fi")
    with pytest.raises(DataError, match="404"):
        data.get("crows-pairs")
    assert path.read_bytes() == b"half a fi"
    assert everything_below(files.cache_dir()) == [path]


def test_download_into_a_directory_of_ones_own(server: Server, tmp_path: Path) -> None:
    server.pages[PAGE] = GOOD
    (path,) = data.get("crows-pairs", data_dir=tmp_path / "new")
    assert path == tmp_path / "new" / PAGE[1:]
    assert data.load("crows-pairs", data_dir=tmp_path / "new").verified
    assert not files.cache_dir().exists()


def test_a_users_file_is_replaced_only_with_force(server: Server, tmp_path: Path) -> None:
    server.pages[PAGE] = GOOD
    path = put(tmp_path, b"mine")
    with pytest.raises(DataError, match=r"is not the published file .*--force"):
        data.get("crows-pairs", data_dir=tmp_path)
    assert path.read_bytes() == b"mine"
    data.get("crows-pairs", data_dir=tmp_path, force=True)
    assert path.read_bytes() == GOOD


def test_offline_never_downloads(server: Server, tmp_path: Path) -> None:
    server.pages[PAGE] = GOOD
    with pytest.raises(DataError, match="not on this machine"):
        data.get("crows-pairs", offline=True)
    put(tmp_path, b"mine")
    with pytest.raises(DataError, match="it cannot be downloaded offline"):
        data.get("crows-pairs", offline=True, data_dir=tmp_path)
    assert server.asked == []


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        files.sha256_of(tmp_path)


def test_a_file_of_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_file(monkeypatch, "nine-axes", name="gone.csv")
    with pytest.raises(DataError, match=r"gone\.csv, the file of nine-axes, is missing; install unmask again"):
        data.load("nine-axes")
