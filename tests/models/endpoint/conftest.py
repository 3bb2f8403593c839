"""The model of a server of the tests."""

from __future__ import annotations

from endpoint_server import NAME, Server, served, server
from unmask.core.options import Opening, Serving
from unmask.models.endpoint import open_endpoint
from unmask.models.endpoint.lm import EndpointLm

__all__ = ["opened", "served", "server"]  # the last two are fixtures


def opened(server: Server, **serving: object) -> EndpointLm:
    """The model of a server."""
    return open_endpoint(server.url, Opening(), Serving(**{"served_model": NAME, **serving}))  # type: ignore[arg-type]
