"""Packages that can be called look like their functions in a notebook."""

from __future__ import annotations

import inspect

import pytest

import unmask


@pytest.mark.parametrize(("name", "parameter"), [("audit", "measures"), ("vectors", "questions")])
def test_a_package_has_the_signature_of_its_function(name: str, parameter: str) -> None:
    assert parameter in inspect.signature(getattr(unmask, name)).parameters
