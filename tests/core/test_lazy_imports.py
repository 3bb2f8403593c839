"""Names, modules and functions that are imported when they are used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from unmask.core.lazy_imports import lazy_names


@pytest.fixture
def orchard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with one module, which is not imported."""
    (tmp_path / "lazy_orchard").mkdir()
    (tmp_path / "lazy_orchard" / "plum.py").write_text("def eat(*names, times=1): return names * times\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "lazy_orchard"
    for name in [name for name in sys.modules if name.startswith("lazy_orchard")]:
        del sys.modules[name]


def test_a_name_of_a_package_is_imported_when_it_is_used(orchard: str) -> None:
    get = lazy_names(orchard, {"eat": "plum"})
    assert f"{orchard}.plum" not in sys.modules
    assert get("eat")("a") == ("a",)
    with pytest.raises(AttributeError, match="module 'lazy_orchard' has no attribute 'drink'"):
        get("drink")
