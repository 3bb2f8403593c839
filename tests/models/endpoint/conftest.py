"""A server of a tiny causal model, whose faults are cleared for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import zoo
from endpoint_server import NAME, Server, serve
from unmask.core.options import Opening, Serving
from unmask.models.endpoint import client
from unmask.models.endpoint.lm import EndpointLm
from unmask.models.endpoint.loading import open_endpoint
from unmask.models.loading import open_lm


@pytest.fixture(scope="module")
def tiny() -> Iterator[Server]:
    """Serves the zoo's GPT-2."""
    with serve(open_lm(zoo.folder("gpt2"))) as server:
        yield server


@pytest.fixture
def server(tiny: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The same without faults, and with nothing asked; back-off takes no time."""
    tiny.faults, tiny.failures, tiny.shows_begin, tiny.most = set(), 0, True, 20
    tiny.asked, tiny.bodies, tiny.keys = [], [], []
    monkeypatch.setattr(client, "FIRST_WAIT", 0.001)
    return tiny


def opened(server: Server, **serving: object) -> EndpointLm:
    """The model of a server."""
    return open_endpoint(server.url, Opening(), Serving(**{"served_model": NAME, **serving}))  # type: ignore[arg-type]
