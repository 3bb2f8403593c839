"""WinoBias and Winogender for coreference resolution: which of two people does the pronoun refer to?

Zhao et al. (2018); Rudinger et al. (2018). The same sources as the datasets `winobias` and `winogender` of
pairs, with the antecedent and the other candidate, which pairs do not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unmask.core.errors import DataError
from unmask.data import winobias, winogender
from unmask.data.examples import Source, rows_of
from unmask.data.formats import decode
from unmask.data.items import DataSource, github_files

_SUMS = {
    **{name: winobias.SUMS[name] for name in sorted(winobias.SUMS, key=lambda name: name.endswith("test"))},
    "male_occupations.txt": "6b82d88847b69d56d207a0c396e9830b031890de585e916e6b4e9bc50672657e",
    "female_occupations.txt": "693bff12286c2c1d46c7d4d45a44a631574710c30b39c1a3001bb7bdebb44ed8",
}
WINOBIAS = replace(
    winobias.CARD,
    name="winobias-riddles",
    title="winobias-riddles with whom each pronoun means",
    files=github_files(winobias.PLACE, _SUMS),
    citation="",
    source="uclanlp/corefBias@0bce984:WinoBias/wino/data/",
    size=3168,
    problems="See the dataset of pairs of nearly the same name.",
)
WINOGENDER = replace(
    winogender.CARD,
    name="winogender-riddles",
    title="winogender-riddles with whom each pronoun means",
    files=github_files(
        winogender.PLACE,
        {
            "templates.tsv": "496f2e2dc77296bcebcdd8865a8dc5715ce22b772de9abb5f531d5b3114c48a0",
            "occupations-stats.tsv": "3f7f37c16381a70571356982ea7fe613ac700ad04a6d3b19b9f2be18248df567",
        },
    ),
    citation="",
    source="rudinger/winogender-schemas@1c7f8b4:data/",
    size=360,
    problems=WINOBIAS.problems,
)
SOURCES = (DataSource(WINOBIAS), DataSource(WINOGENDER))
PRONOUNS = {"he": "male", "him": "male", "his": "male", "she": "female", "her": "female", "hers": "female"}
FORMS = {
    "male": {"$NOM_PRONOUN": "he", "$POSS_PRONOUN": "his", "$ACC_PRONOUN": "him"},
    "female": {"$NOM_PRONOUN": "she", "$POSS_PRONOUN": "her", "$ACC_PRONOUN": "her"},
    "neutral": {"$NOM_PRONOUN": "they", "$POSS_PRONOUN": "their", "$ACC_PRONOUN": "them"},
}
_MARKED = re.compile(r"\[([^\]]*)\]")
_SLOT = re.compile(r"\$(NOM|POSS|ACC)_PRONOUN")


@dataclass(frozen=True, slots=True)
class CoreferenceItem:
    """A sentence, its pronoun, the antecedent (`gold`) and the other candidate."""

    id: str  # "type1.dev/0007/pro": without its last part it names the sentence regardless of the pronoun
    text: str
    at: tuple[int, int]  # character span of the pronoun
    gold: str  # "developer"
    other: str
    stereotype: str  # pro, anti, neutral
    groups: Mapping[str, str]

    @property
    def pronoun(self) -> str:
        """The pronoun as written in the text."""
        return self.text[self.at[0] : self.at[1]]


def load_winobias(sources: Sequence[Source]) -> tuple[tuple[CoreferenceItem, ...], tuple[str, ...]]:
    """Load all items, and warnings about lines that could not be parsed."""
    by_name = {source.path.name: source for source in sources}
    jobs = [
        word.strip()
        for name in ("male_occupations.txt", "female_occupations.txt")
        for word in decode(by_name[name].path.read_bytes(), name).splitlines()
    ]
    items, warnings = [], []
    for name, source in by_name.items():
        if "stereotyped" not in name:
            continue
        side, kind, part = name.replace("_stereotyped_", ".").replace(".txt", "").split(".")
        for at, line in enumerate(decode(source.path.read_bytes(), name).splitlines()):
            try:
                items.append(_line(line, f"{kind}.{part}/{at:04}/{side}", jobs))
            except DataError as error:
                warnings.append(f"{name}, line {at + 1} left out: {error}")
    return tuple(items), tuple(warnings)


def share_of_women(source: Source) -> dict[str, float]:
    """Share of women from 0 to 1 by occupation (Bureau of Labor Statistics, 2015)."""
    return {str(row["occupation"]): float(row["bls_pct_female"]) / 100 for row in rows_of(source)}


def load_winogender(templates: Source, women: Mapping[str, float]) -> tuple[CoreferenceItem, ...]:
    """Load every template with each pronoun; the half of the sentences with `someone` is left out.

    A pronoun of the majority gender of the occupation is `pro` if it refers to the occupation, `anti` if it
    refers to the participant; for the other gender it is the reverse; neutral pronouns are `neutral`.
    """
    return tuple(
        _template(row, gender, women, f"{templates.name}, row {at} (from 0)", at)
        for at, row in enumerate(rows_of(templates))
        for gender in FORMS
    )


def _line(line: str, name: str, jobs: Sequence[str]) -> CoreferenceItem:
    """Parse a line: a number, then a sentence with the antecedent and the pronoun in brackets."""
    body = line.split(" ", 1)[1].strip() if " " in line else ""
    marked = [match.group(1).strip() for match in _MARKED.finditer(body)]
    pronouns = [word for word in marked if word.lower() in PRONOUNS]
    people = [word for word in marked if word.lower() not in PRONOUNS]
    if len(people) != 1 or not pronouns:
        raise DataError(f"{len(people)} antecedents and {len(pronouns)} pronouns in brackets, expected one")
    text = body.replace("[", "").replace("]", "")
    begin = len(body[: body.index(f"[{pronouns[0]}]")].replace("[", "").replace("]", ""))
    gold = re.sub(r"^(the|a|an|some)\s+", "", people[0], flags=re.IGNORECASE)
    words = f" {re.sub(r'[^a-z]+', ' ', text.lower())} "
    others = [job for job in jobs if job.lower() != gold.lower() and f" {job.lower()} " in words]
    if len(others) != 1:
        raise DataError(f"{len(others)} occupations beside {gold!r}, expected one")
    groups = {
        "type": name.split(".", maxsplit=1)[0],
        "gender": PRONOUNS[pronouns[0].lower()],
        "occupation": gold.lower(),
        "pronouns": str(len(pronouns)),
    }
    side = name.rpartition("/")[2]
    return CoreferenceItem(name, text, (begin, begin + len(pronouns[0])), gold, others[0], side, groups)


def _template(row: Mapping[str, Any], gender: str, women: Mapping[str, float], where: str, at: int) -> CoreferenceItem:
    occupation, participant, answer, sentence = (str(value) for value in row.values())
    named = sentence.replace("$OCCUPATION", occupation).replace("$PARTICIPANT", participant)
    slot = _SLOT.search(named)
    if answer not in ("0", "1") or slot is None or occupation not in women:
        raise DataError(f"{where}: expected an occupation with a share, answer 0 or 1, and a $…_PRONOUN")
    word, means_it = FORMS[gender][slot.group(0)], answer == "0"
    rest = named[slot.end() :]  # after `they` the verb is plural, as in the published sentences
    rest = re.sub(r"^ was\b", " were", rest) if word == "they" else rest
    fits = (gender == "female") == (women[occupation] > 0.5)
    return CoreferenceItem(
        id=f"{at:04}/{gender}",
        text=named[: slot.start()] + word + rest,
        at=(slot.start(), slot.start() + len(word)),
        gold=occupation if means_it else participant,
        other=participant if means_it else occupation,
        stereotype="neutral" if gender == "neutral" else "pro" if fits == means_it else "anti",
        groups={"gender": gender, "occupation": occupation, "answer": winogender.WHOM[answer]},
    )
