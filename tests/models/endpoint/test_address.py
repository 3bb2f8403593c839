"""If one of these fails, sentences or keys are sent where nobody asked for it."""

from __future__ import annotations

import pytest

from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.models.endpoint.client import parse_address
from unmask.models.loading import ENDPOINT


def test_the_base_url_is_what_is_before_completions() -> None:
    for text in ("https://Host.Example/v1", "https://host.example/v1/", "https://host.example/v1/completions"):
        assert parse_address(text).url == "https://host.example/v1"
    assert parse_address("http://[::1]:8000/v1").is_loopback
    assert not parse_address("https://127.0.0.1.example/v1").is_loopback


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("http://host.example/v1", "not encrypted"),
        ("https://user:word@host.example/v1", "holds more than an address"),
        ("https://host.example/v1?key=abc", "holds more than an address"),
        ("https://", "is no URL of an endpoint"),
        ("https://host:port/v1", "is no URL of an endpoint"),
    ],
)
def test_what_may_not_be_asked_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason) as refused:
        parse_address(text)
    assert "word" not in str(refused.value).replace("password", "")
    assert "abc" not in str(refused.value)


def test_offline_allows_this_machine_only() -> None:
    assert parse_address("http://localhost:8000/v1", offline=True).is_loopback
    with pytest.raises(ModelError, match="offline is set"):
        parse_address("https://host.example/v1", offline=True)


def test_http_to_another_machine_must_be_allowed() -> None:
    assert parse_address("http://host.example/v1", allow_http=True).host == "host.example"


def test_only_urls_are_urls() -> None:
    assert ENDPOINT.matches("HTTPS://host/v1", Opening())
    assert not any(ENDPOINT.matches(name, Opening()) for name in ("owner/name", "/folder", "http", "https"))
