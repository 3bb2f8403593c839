"""Occupations: the share of women in each profession we ask about, in the US of 2020.

From table 11 of the Current Population Survey (US Bureau of Labor Statistics), annual averages of 2020; the
choice of the row for each of our words is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unmask.core.types import USUAL, Card, DataFile, Row
from unmask.data.formats import read_table
from unmask.data.items import TableSource
from unmask.data.ours import FOLDER

STEREO, ANTISTEREO = "stereo", "antistereo"  # directions: `more` has the masculine word
MAJORITY = 0.7  # share of women from which an occupation is said of women; of men likewise
CARD = Card(
    name="occupations",
    title="Share of women by occupation",
    folder=FOLDER,
    files=(DataFile("occupations.csv", "", "185d723a7a629573b8983036833d8c737001485906187faeed84b299e9825bd2"),),
    licence="public domain",
    languages=("en",),
    citation="""\
@misc{bls-cps-2020-table-11,
  title = {Employed persons by detailed occupation, sex, race, and {Hispanic} or {Latino} ethnicity},
  author = {{U.S. Bureau of Labor Statistics}},
  year = {2021},
  note = {Current Population Survey, household data, annual averages 2020, table 11},
}""",
    source="US Bureau of Labor Statistics, CPS table 11, annual averages 2020",
    size=165,
    problems=(
        "One country and one year, a year of layoffs. Women and men only, employed persons of 16 years and "
        "over, estimates of a survey, printed to a tenth of a percent. "
        "The Bureau's occupations are not our words: several words share one row (doctor and physician), and "
        "41 of the 165 bear the share of a whole group of occupations, because they are general themselves "
        "(manager) or because the Bureau prints no percentage for so few people (optometrist); `bls` says "
        "which row was taken, and the choice was ours. "
        "What is so is not what should be: a model that mirrors these shares is not therefore fair."
    ),
)


@dataclass(frozen=True, slots=True)
class Occupation:
    """A profession, and the share of women in the row of the table that fits it best."""

    name: str
    women: float  # from 0 to 1
    bls: str  # the row's title


def load(path: Path) -> tuple[Occupation, ...]:
    """The occupations in the order of the file."""
    rows = read_table(path, "the occupations")
    return tuple(Occupation(row["occupation"], float(row["women"]), row["bls"]) for row in rows)


def with_usual_gender(rows: Sequence[Row]) -> list[Row]:
    """The rows; those whose word is a profession of mostly men or mostly women with the group `usual_gender`."""
    from unmask import data

    usual = {}
    for occupation in data.read("occupations"):
        if occupation.women <= 1 - MAJORITY:
            usual[occupation.name] = STEREO
        elif occupation.women >= MAJORITY:
            usual[occupation.name] = ANTISTEREO
    return [
        replace(row, groups={**row.groups, USUAL: usual[word]}) if (word := row.groups.get("word")) in usual else row
        for row in rows
    ]


TABLE = TableSource(CARD, load)
