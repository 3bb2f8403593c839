"""Names, modules and functions that are imported when they are used."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from unmask.core.lazy_imports import LazyFunction, lazy_modules, lazy_names

CATALOGUES = ("interchange",)


@pytest.fixture
def orchard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with one module, which is not imported."""
    (tmp_path / "lazy_orchard").mkdir()
    (tmp_path / "lazy_orchard" / "plum.py").write_text("def eat(*names, times=1): return names * times\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "lazy_orchard"
    for name in [name for name in sys.modules if name.startswith("lazy_orchard")]:
        del sys.modules[name]


def test_a_module_is_imported_when_its_function_is_called(orchard: str) -> None:
    (plum,) = lazy_modules(orchard, "plum")
    eat = plum.eat
    assert f"{orchard}.plum" not in sys.modules
    assert eat("a", "b", times=2) == ("a", "b", "a", "b")
    assert pickle.loads(pickle.dumps(eat)) == eat  # a record can be sent to another process


def test_a_name_of_a_package_is_imported_when_it_is_used(orchard: str) -> None:
    get = lazy_names(orchard, {"eat": "plum"})
    assert f"{orchard}.plum" not in sys.modules
    assert get("eat")("a") == ("a",)
    with pytest.raises(AttributeError, match="module 'lazy_orchard' has no attribute 'drink'"):
        get("drink")


def functions(package: str) -> Iterator[LazyFunction]:
    """The functions that the records of a catalogue name."""

    def inside(value: Any) -> Iterator[LazyFunction]:
        if isinstance(value, LazyFunction):
            yield value
        elif isinstance(value, partial):
            for each in (value.func, *value.keywords.values()):
                yield from inside(each)

    for record in vars(import_module(f"unmask.{package}.catalog")).values():
        for field in getattr(type(record), "__dataclass_fields__", {}):
            yield from inside(getattr(record, field))


@pytest.mark.parametrize("package", CATALOGUES)
def test_every_function_that_a_catalogue_names_exists(package: str) -> None:
    named = set(functions(package))
    assert named
    assert not [each for each in named if not callable(getattr(import_module(each.module), each.name, None))]
