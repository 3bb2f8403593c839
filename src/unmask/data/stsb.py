"""STS-B: pairs of sentences with their similarity from 0 to 5 (Cer et al., 2017)."""

from __future__ import annotations

from unmask.core.errors import DataError, quote
from unmask.core.types import Card
from unmask.data.examples import Example, Source, column, rows_of, text_column
from unmask.data.formats import decode, read_bytes
from unmask.data.items import DataSource, github_files

CARD = Card(
    name="stsb",
    title="STS benchmark",
    folder="stsb",
    files=github_files(
        "zhangzhenhu/Semantic-Texual-Similarity-Toolkits/c55a72f51bd15a8bd75114247c06984b432050f9/data/stsbenchmark/",
        {
            "sts-train.csv": "0f71910b59aa1ad973c5897f0791f3b0965a92b8f82b1a95f3eea9f4162fda82",
            "sts-dev.csv": "5d7e944d8b02734b07bfdb5df67db3420c64bed153fcaa1ba47ad03480cf4234",
            "sts-test.csv": "affe45928a66ee5a708531233c95b7dacbbdc57f974f002a3d32ea0180cf816a",
        },
    ),
    licence="mixed, mostly CC BY-SA 3.0 and 4.0; see its LICENSE.txt",
    languages=("en",),
    citation="""\
@inproceedings{cer-etal-2017-semeval,
  title = {{SemEval}-2017 Task 1: Semantic Textual Similarity},
  author = {Cer, Daniel and Diab, Mona and Agirre, Eneko and Lopez-Gazpio, I{\\~n}igo and Specia, Lucia},
  booktitle = {Proceedings of the 11th International Workshop on Semantic Evaluation},
  year = {2017},
}""",
    source="zhangzhenhu/Semantic-Texual-Similarity-Toolkits@c55a72f:data/stsbenchmark/",
    size=8628,
    problems=(
        "Captions, headlines and forum posts; captions speak of men about twice as often as of women. "
        "Tab-separated in spite of the names of its files, without a header and without quoting."
    ),
)
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
