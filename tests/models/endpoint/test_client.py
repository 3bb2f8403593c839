"""If one of these fails, a run breaks off at the first hiccup of a server, or a key leaks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from endpoint_server import KEY, Server
from models.endpoint.conftest import opened
from unmask.core.errors import DataError, ModelError, OutputError
from unmask.core.files import cache_dir
from unmask.core.options import Opening, Serving
from unmask.models.endpoint import client, open_endpoint
from unmask.models.endpoint.client import _retry_after, parse_address

PASSING = ("429", "500", "dropped", "truncated", "half")


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_is_repeated(server: Server, fault: str) -> None:
    server.faults, server.failures = {fault}, 3
    lm = opened(server)
    assert lm.encode("The nurse said so.").ids
    assert server.failures == 0


def test_a_slow_answer_is_repeated(server: Server) -> None:
    server.faults, server.failures = {"slow"}, 1
    assert opened(server, timeout=0.3).contract.apart < 1e-4


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("429", "asked 3 times, the last time it failed: HTTP 429: slow down"),
        ("500", "HTTP 500: out of memory"),
        ("dropped", "no connection"),
        ("truncated", "that is no JSON, or cut off"),
        ("half", "no connection"),
        ("wait", "asks to wait 86,400 s"),
        ("redirect", "redirects .* which is not followed"),
    ],
)
def test_a_fault_that_stays_is_one_line(server: Server, fault: str, reason: str) -> None:
    server.faults, server.failures = {fault}, 10**6
    with pytest.raises(ModelError, match=reason) as refused:
        opened(server, retries=2)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("retries", [0, 6])
def test_a_server_that_is_not_there_is_one_line_at_once(retries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all retries it would take half a minute."""
    waits: list[float] = []
    monkeypatch.setattr(client.Client, "_wait", lambda _, seconds: waits.append(max(0.0, seconds)))
    with pytest.raises(ModelError, match=r"no server at http://127\.0\.0\.1:9/v1 \(no connection \(ConnectError"):
        open_endpoint("http://127.0.0.1:9/v1", Opening(), Serving(served_model="x", retries=retries))
    assert sum(waits) < 5


def test_a_server_that_goes_away_is_asked_again(server: Server) -> None:
    asking = client.Client(parse_address(server.url), Serving(retries=3))
    assert asking.ask("/models")
    asking.address = parse_address("http://127.0.0.1:9/v1")  # where nothing listens
    with pytest.raises(ModelError, match="asked 4 times, the last time it failed: no connection"):
        asking.ask("/models")


def test_a_timeout_is_one_line(server: Server) -> None:
    server.faults, server.failures = {"slow"}, 10**6
    with pytest.raises(ModelError, match=r"no answer within 0\.2 s"):
        opened(server, retries=0, timeout=0.2)


def test_the_key_is_sent_and_never_written(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server.faults = {"key"}
    with pytest.raises(ModelError, match="it wants a key: set \\$UNMASK_API_KEY"):
        opened(server)
    monkeypatch.setenv("UNMASK_API_KEY", "sk-wrong-key")
    with pytest.raises(ModelError, match="is not accepted") as refused:
        opened(server)
    assert "sk-wrong-key" not in str(refused.value)  # which the server quotes
    monkeypatch.setenv("UNMASK_API_KEY", KEY)
    opened(server, request_log=tmp_path / "log.jsonl").prime(["The nurse said so."])
    assert server.keys[-1] == f"Bearer {KEY}"
    written = [path for path in (*tmp_path.rglob("*"), *cache_dir().rglob("*")) if path.is_file()]
    assert len(written) > 2
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


def test_the_request_log_has_no_text(server: Server) -> None:
    server.faults, server.failures = {"500"}, 1
    opened(server).prime(["Zebras sleep."])
    content = (cache_dir() / "endpoints" / "requests.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in content.splitlines()]
    assert lines[0]["status"] == 500
    assert lines[0]["problem"] == "HTTP 500"
    assert lines[1]["attempt"] == 2
    assert (lines[-1]["status"], lines[-1]["prompts"], lines[-1]["characters"]) == (200, 1, 13)
    assert "Zebras" not in content


def test_a_request_log_that_cannot_be_written_is_one_line(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"):
        opened(server, request_log=tmp_path / "file" / "log.jsonl")


def test_a_request_log_is_not_written_into_a_table_of_a_result(server: Server, tmp_path: Path) -> None:
    """Lines appended to `items.parquet` left a run that nobody can read."""
    (tmp_path / "result.json").write_text('{"schema": 2, "unmask": "0.1.0"}', encoding="utf-8")
    (tmp_path / "items.parquet").write_bytes(b"PAR1")
    with pytest.raises(OutputError, match="is a file of the result in"):
        opened(server, request_log=tmp_path / "items.parquet")
    assert (tmp_path / "items.parquet").read_bytes() == b"PAR1"


def test_a_key_that_no_header_can_hold_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_API_KEY", "a\nb")
    with pytest.raises(DataError, match="characters that no key has"):
        opened(server)


def test_retry_after_is_a_number_or_a_date() -> None:
    later = _retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=90)))
    assert later is not None
    assert 80 < later <= 90
    assert [_retry_after(text) for text in ("2.5", "-3", "soon", "", None)] == [2.5, 0.0, None, None, None]
