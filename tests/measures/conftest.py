"""All measures are imported before any test, so that mutation testing counts their constants for every test."""

from __future__ import annotations

from unmask.measures import MEASURES

assert list(MEASURES)
