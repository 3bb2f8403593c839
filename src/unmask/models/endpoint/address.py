"""Where an endpoint is: its URL, and what may be sent there."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from unmask.core.errors import ModelError, quote

SCHEMES = ("http://", "https://")
EXAMPLE = "https://host/v1"


def is_url(text: str) -> bool:
    """Whether a model reference is the URL of an endpoint."""
    return text.lower().startswith(SCHEMES)


@dataclass(frozen=True, slots=True)
class Address:
    """The base URL of an endpoint, without a slash at its end."""

    url: str
    host: str  # with its port, if the URL has one

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        name = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost"


def parse_address(text: str, *, offline: bool = False, allow_http: bool = False) -> Address:
    """The address of an endpoint; ModelError if nothing may be sent there."""
    try:
        parts = urlsplit(text.strip())
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:  # such as a port that is no number
        good = False
    if not good:
        raise ModelError(f"{quote(text)} is no URL of an endpoint, expected one like {EXAMPLE}")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ModelError(
            f"the URL of the endpoint at {parts.hostname} holds more than an address (a user, a password or a query): "
            f"give it like {EXAMPLE}, and the key in $UNMASK_API_KEY"
        )
    host = parts.netloc.lower()
    path = parts.path.rstrip("/").removesuffix("/completions").rstrip("/")
    address = Address(f"{parts.scheme.lower()}://{host}{path}", host)
    if offline and not address.is_loopback:
        raise ModelError(f"{address.url} is an endpoint, but offline is set: leave it out, or give a local model")
    if parts.scheme.lower() == "http" and not address.is_loopback and not allow_http:
        raise ModelError(
            f"{address.url} is not encrypted: sentences and key could be read on the way; give an https URL, or set "
            "allow_http for a network that you trust"
        )
    return address
