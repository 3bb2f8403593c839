"""STS-B: pairs of sentences with their similarity from 0 to 5 (Cer et al., 2017)."""

from __future__ import annotations

from unmask.core.errors import DataError, quote
from unmask.data.examples import Example, Source, column, rows_of, text_column
from unmask.data.formats import decode, read_bytes
from unmask.data.items import DataSource, read_card

CARD = read_card("stsb")
SOURCE = DataSource(CARD)
MOST = 5.0  # the highest similarity score


def load(source: Source) -> tuple[Example, ...]:
    """The published file, or a table with sentence1, sentence2 and score."""
    if source.path.name in {file.name for file in CARD.files}:
        lines = decode(read_bytes(source.path, "the published file"), source.name).split("\n")
        return tuple(_line(line, f"{source.name}, line {at}") for at, line in enumerate(lines, 1) if line)
    rows = rows_of(source)
    score = column(rows, ("score", "similarity", "label"))
    first, second = (text_column(rows, (f"sentence{n}", f"sent{n}")) for n in (1, 2))
    return tuple(
        Example(row[first], row[second], _number(row[score], rows.at(number))) for number, row in enumerate(rows)
    )


def _line(line: str, where: str) -> Example:
    cells = line.rstrip("\r").split("\t")
    if len(cells) < 7:
        raise DataError(f"{where}: {len(cells)} fields, expected genre, file, year, number, score, two sentences")
    return Example(cells[5], cells[6], _number(cells[4], where))


def _number(value: object, where: str) -> float:
    try:
        score = float(str(value))
    except ValueError:
        raise DataError(f"{where}: score {quote(value)}, expected a number from 0 to 5") from None
    if not 0.0 <= score <= MOST:
        raise DataError(f"{where}: score {score:g}, expected a number from 0 to 5")
    return score
