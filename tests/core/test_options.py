"""Option groups: what they refuse, and how they are filled from keyword arguments."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import pytest

from unmask.core.errors import DataError, UnknownName
from unmask.core.options import Opening, Options, check_values, fill_groups, literal_choices, option


@dataclass(frozen=True)
class Settings:
    rate: float = option(0.1, "Learning rate.", flag="--lr", least=0.0)
    level: Literal["token", "sentence"] = option("token", "token or sentence.")
    names: tuple[str, ...] = option(help="Names.", factory=tuple)
    offline: bool = option(False, "Never use the network.")

    def __post_init__(self) -> None:
        check_values(self)


def test_a_field_keeps_its_default_and_its_help() -> None:
    settings = Settings()
    assert (settings.rate, settings.level, settings.names) == (0.1, "token", ())
    rate = next(each for each in fields(Settings) if each.name == "rate")
    assert {"help": "Learning rate.", "flag": "--lr", "shown": "", "least": 0.0}.items() <= rate.metadata.items()


def test_values_that_are_too_small_or_no_choice_are_one_line() -> None:
    with pytest.raises(DataError, match=r"^rate is -0\.5, expected at least 0$"):
        Settings(rate=-0.5)
    with pytest.raises(DataError, match="rate is nan, expected at least 0"):
        Settings(rate=float("nan"))
    with pytest.raises(DataError, match=r"^level is 'word', expected token or sentence$"):
        Settings(level="word")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="dtype is 'fp8', expected fp32, bf16, fp16, int8 or int4"):
        Opening(dtype="fp8")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="limit is 0, expected at least 1"):
        Options(limit=0)
    with pytest.raises(DataError, match="seed is 4294967296, expected at most 4,294,967,295"):
        Options(seed=2**32)
    assert Settings(rate=0.0).rate == 0.0
    assert Options(limit=None).limit is None


@dataclass(frozen=True)
class Free:
    share: float = option(0.1, "Any number.")
    values: tuple[float, ...] = (0.5,)

    def __post_init__(self) -> None:
        check_values(self)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused_also_without_bounds(number: float) -> None:
    with pytest.raises(DataError, match=rf"^share is {number}, expected a finite number$"):
        Free(share=number)
    with pytest.raises(DataError, match=r"^values is .*, expected a finite number$"):
        Free(values=(0.5, number))
    with pytest.raises(DataError, match=rf"^rate is {number}, expected"):
        Settings(rate=number)


def test_a_huge_integer_is_refused_or_taken_without_overflow() -> None:
    assert Options(limit=10**400).limit == 10**400
    with pytest.raises(DataError, match=r"seed is 1000.*, expected at most"):
        Options(seed=10**400)


def test_choices_of_a_literal() -> None:
    assert literal_choices(Literal["a", "b"]) == ("a", "b")
    assert literal_choices(Literal["a", "b"] | None) == ("a", "b")
    assert literal_choices(str | None) == literal_choices(str) == ()


def test_groups_are_filled_from_fields_or_given_whole() -> None:
    opening, options, settings = fill_groups(
        {"rate": 0.2, "device": "cpu", "options": Options(limit=3, seed=1), "seed": 2},
        opening=Opening,
        options=Options,
        settings=Settings,
    )
    assert opening == Opening(device="cpu")
    assert options == Options(limit=3, seed=2)  # a field changes the group given
    assert settings == Settings(rate=0.2)


def test_a_field_of_several_groups_is_set_in_all() -> None:
    groups = fill_groups({"offline": True}, opening=Opening, options=Options, settings=Settings)
    assert [group.offline for group in groups] == [True, True, True]


def test_a_path_may_be_given_as_text() -> None:
    (options,) = fill_groups({"data_dir": "some/folder"}, options=Options)
    assert options.data_dir == Path("some/folder")
    (options,) = fill_groups({"data_dir": None}, options=Options)
    assert options.data_dir is None


def test_an_unknown_option_suggests_the_near_one() -> None:
    with pytest.raises(UnknownName, match=r"no option named 'limits'\. Did you mean limit"):
        fill_groups({"limits": 3}, options=Options)
    with pytest.raises(DataError, match="seed is -1"):
        fill_groups({"seed": -1}, options=Options)
