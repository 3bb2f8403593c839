"""A served model for the commands that can read one."""

from __future__ import annotations

from endpoint_server import served, server

__all__ = ["served", "server"]  # fixtures
