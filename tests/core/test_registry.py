"""What is found by being there, what other packages offer, and what is said of what cannot be used."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from unmask.core.errors import DataError, UnknownName
from unmask.core.registry import Registry

GROUP = "unmask.test_fruits"


@dataclass(frozen=True)
class Fruit:
    name: str
    sweet: bool = True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path, with a package of fruits in two modules."""
    write(tmp_path / "orchard", "__init__", "")
    write(tmp_path / "orchard", "trees", "PLUM, LEMON = Fruit('plum'), Fruit('lemon', sweet=False)\nSIZE = 3")
    write(tmp_path / "orchard", "bushes", "from orchard.trees import PLUM\nBERRIES = (Fruit('currant'),)")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] in ("orchard", "market", "broken")]:
        del sys.modules[name]


def write(package: Path, module: str, text: str) -> None:
    package.mkdir(exist_ok=True)
    head = f"from {__name__} import Fruit\n" if text else ""
    (package / f"{module}.py").write_text(head + text, encoding="utf-8")


def install(folder: Path, distribution: str, **points: str) -> None:
    """Entry points of an installed package, as pip writes them."""
    info = folder / f"{distribution}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    assert PathDistribution(info).name == distribution


def registry() -> Registry[Fruit]:
    return Registry("fruit", Fruit, home="orchard", group=GROUP, order=lambda fruit: not fruit.sweet)


def test_modules_of_the_package_are_searched_and_sorted_by_order_then_name(folder: Path) -> None:
    fruits = registry()
    assert "orchard" not in sys.modules  # nothing is imported before the first look-up
    assert list(fruits) == ["currant", "plum", "lemon"]
    assert len(fruits) == 3
    assert fruits["plum"] is fruits.find("plum")
    assert fruits.origin("plum") == ""


def test_an_unknown_name_lists_the_known_ones(folder: Path) -> None:
    with pytest.raises(UnknownName, match=r"no fruit named 'plumb'\. Did you mean plum"):
        registry().find("plumb")
    with pytest.raises(KeyError):
        registry()["plumb"]


def test_an_object_is_taken_as_it_is_and_several_without_duplicates(folder: Path) -> None:
    fruits, own = registry(), Fruit("quince")
    assert fruits.find(own) is own
    assert fruits.find_all("plum") == [fruits["plum"]]
    assert fruits.find_all(own) == [own]
    assert [each.name for each in fruits.find_all(["plum", own, "lemon", "plum"])] == ["plum", "quince", "lemon"]
    with pytest.raises(DataError, match="two different fruits are named 'plum': rename one"):
        fruits.find_all(["plum", Fruit("plum", sweet=False)])


@pytest.mark.parametrize("value", ["market.stall", "market.stall:FIG", "market.stall:ALL"])
def test_an_entry_point_names_a_module_an_object_or_several(value: str, folder: Path) -> None:
    write(folder / "market", "stall", "FIG = Fruit('fig', sweet=False)\nALL = [FIG]")
    install(folder, "fruit-market", figs=value)
    fruits = registry()
    assert list(fruits) == ["currant", "plum", "lemon", "fig"]  # those of other packages come last
    assert fruits.origin("fig") == "fruit-market"


def test_a_broken_entry_point_is_one_warning_and_stops_nothing(folder: Path) -> None:
    write(folder / "broken", "raises", "raise RuntimeError('first line\\nsecond line')")
    write(folder / "broken", "other", "NUMBER = 3")
    points = {"a": "broken.raises", "b": "broken.gone", "c": "broken.other:NUMBER", "d": "broken.other:MISSING"}
    install(folder, "broken-fruits", **points)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert list(registry()) == ["currant", "plum", "lemon"]
    said = [str(warning.message) for warning in caught]
    assert said[0] == (
        "entry point 'a' of broken-fruits cannot be loaded (RuntimeError: first line second line): not used"
    )
    assert "ModuleNotFoundError: No module named 'broken.gone'" in said[1]
    assert said[2] == "entry point 'c' of broken-fruits is 3, expected a Fruit: not used"
    assert "AttributeError" in said[3]
    assert len(said) == 4


def test_a_name_that_exists_is_not_replaced(folder: Path) -> None:
    write(folder / "market", "stall", "PLUM, FIG = Fruit('plum', sweet=False), Fruit('fig')")
    install(folder, "fruit-market", stall="market.stall")
    fruits = registry()
    with pytest.warns(UserWarning, match="'stall' of fruit-market offers a fruit named 'plum', which exists"):
        assert fruits["plum"].sweet
    assert "fig" in fruits
