"""WinoBias, Winogender and WinoPron for coreference resolution: which of two people does the pronoun refer to?

Zhao et al. (2018); Rudinger et al. (2018); Gautam et al. (2024). The first two have the sources of the datasets
`winobias` and `winogender` of pairs, with the antecedent and the other candidate, which pairs do not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unmask.core.errors import DataError, quote
from unmask.data.examples import Source, column, rows_of, text_column
from unmask.data.formats import decode, read_bytes
from unmask.data.items import DataSource, read_card
from unmask.data.pronoun_schemas import WHOM

WINOBIAS, WINOGENDER = read_card("winobias-riddles"), read_card("winogender-riddles")
WINOPRON = read_card("winopron")
SOURCES = (DataSource(WINOBIAS), DataSource(WINOGENDER), DataSource(WINOPRON))
PRONOUNS = {"he": "male", "him": "male", "his": "male", "she": "female", "her": "female", "hers": "female"}
FORMS = {
    "male": {"$NOM_PRONOUN": "he", "$POSS_PRONOUN": "his", "$ACC_PRONOUN": "him"},
    "female": {"$NOM_PRONOUN": "she", "$POSS_PRONOUN": "her", "$ACC_PRONOUN": "her"},
    "neutral": {"$NOM_PRONOUN": "they", "$POSS_PRONOUN": "their", "$ACC_PRONOUN": "them"},
}
NEOPRONOUN = {"xe": {"$NOM_PRONOUN": "xe", "$POSS_PRONOUN": "xyr", "$ACC_PRONOUN": "xem"}}  # in WinoPron only
SOMEONE = "someone"
CASES = {"$NOM_PRONOUN": "nominative", "$POSS_PRONOUN": "possessive", "$ACC_PRONOUN": "accusative"}
_PLURAL = {"was": "were", "is": "are", "has": "have", "does": "do"}  # after `they`
_MARKED = re.compile(r"\[([^\]]*)\]")
_SLOT = re.compile(r"\$(NOM|POSS|ACC)_PRONOUN")
_PARTICIPANT = re.compile(r"\b(the|an?) \$PARTICIPANT\b", re.IGNORECASE)
_VERB = re.compile(rf"^ ({'|'.join(_PLURAL)})\b")


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
        for word in decode(read_bytes(by_name[name].path, "a list of occupations"), name).splitlines()
    ]
    items, warnings = [], []
    for name, source in by_name.items():
        if "stereotyped" not in name:
            continue
        side, kind, part = name.replace("_stereotyped_", ".").replace(".txt", "").split(".")
        for at, line in enumerate(decode(read_bytes(source.path, "the published file"), name).splitlines()):
            try:
                items.append(_line(line, f"{kind}.{part}/{at:04}/{side}", jobs))
            except DataError as error:
                warnings.append(f"{name}, line {at + 1} left out: {error}")
    return tuple(items), tuple(warnings)


def share_of_women(source: Source) -> dict[str, float]:
    """Share of women from 0 to 1 by occupation (Bureau of Labor Statistics, 2015)."""
    rows, shares = rows_of(source), {}
    name, percent = column(rows, ("occupation",)), column(rows, ("bls_pct_female",))
    for number, row in enumerate(rows):
        try:
            share = float(row[percent]) / 100
        except (TypeError, ValueError, OverflowError):
            share = -1.0
        if not 0 <= share <= 1:
            raise DataError(f"{rows.at(number)}: {percent} is {quote(row[percent])}, expected a number from 0 to 100")
        shares[str(row[name])] = share
    return shares


def load_winogender(templates: Source, women: Mapping[str, float]) -> tuple[CoreferenceItem, ...]:
    """Load every template of Winogender with each pronoun, and the same with `someone` for the participant.

    A pronoun of the majority gender of the occupation is `pro` if it refers to the occupation, `anti` if it
    refers to the participant; for the other gender it is the reverse; neutral pronouns are `neutral`.
    """
    return tuple(
        _fill(template, gender, forms, participant)
        for template in _templates(templates, women)
        for participant in (template.participant, SOMEONE)
        for gender, forms in FORMS.items()
    )


def load_winopron(templates: Source, women: Mapping[str, float]) -> tuple[CoreferenceItem, ...]:
    """Load every template of WinoPron with he, she, they and xe."""
    return tuple(
        _fill(template, gender, forms, template.participant)
        for template in _templates(templates, women)
        for gender, forms in (FORMS | NEOPRONOUN).items()
    )


def _line(line: str, name: str, jobs: Sequence[str]) -> CoreferenceItem:
    """Parse a line: a number, then a sentence with the antecedent and the pronoun in brackets."""
    body = line.split(" ", 1)[1].strip() if " " in line else ""
    marked = [(match.group(1).strip(), match) for match in _MARKED.finditer(body)]
    pronouns = [(word, match) for word, match in marked if word.lower() in PRONOUNS]
    people = [word for word, _ in marked if word.lower() not in PRONOUNS]
    if len(people) != 1 or not pronouns:
        raise DataError(f"{len(people)} antecedents and {len(pronouns)} pronouns in brackets, expected one")
    text = body.replace("[", "").replace("]", "")
    pronoun, match = pronouns[0]
    space = len(match.group(1)) - len(match.group(1).lstrip())  # inside the bracket
    begin = len(body[: match.start()].replace("[", "").replace("]", "")) + space
    gold = re.sub(r"^(the|a|an|some)\s+", "", people[0], flags=re.IGNORECASE)
    words = f" {re.sub(r'[^a-z]+', ' ', text.lower())} "
    others = [job for job in jobs if job.lower() != gold.lower() and f" {job.lower()} " in words]
    if len(others) != 1:
        raise DataError(f"{len(others)} occupations beside {quote(gold)}, expected one")
    groups = {
        "type": name.split(".", maxsplit=1)[0],
        "gender": PRONOUNS[pronoun.lower()],
        "occupation": gold.lower(),
        "pronouns": str(len(pronouns)),
    }
    side = name.rpartition("/")[2]
    return CoreferenceItem(name, text, (begin, begin + len(pronoun)), gold, others[0], side, groups)


@dataclass(frozen=True, slots=True)
class _Template:
    """A row of a file of templates, checked."""

    at: int
    occupation: str
    participant: str
    means_occupation: bool
    sentence: str  # with $OCCUPATION, $PARTICIPANT and a $…_PRONOUN
    slot: str
    mostly_women: bool


def _templates(source: Source, women: Mapping[str, float]) -> list[_Template]:
    """The rows of a file of templates; columns besides the four are left out."""
    rows = rows_of(source)
    columns = [text_column(rows, [name]) for name in ("occupation(0)", "other-participant(1)", "answer", "sentence")]
    templates = []
    for at, row in enumerate(rows):
        occupation, participant, answer, sentence = (row[name] for name in columns)
        slot = _SLOT.search(sentence)
        if answer not in ("0", "1") or slot is None or occupation not in women:
            raise DataError(f"{rows.at(at)}: expected an occupation with a share, answer 0 or 1, and a $…_PRONOUN")
        mostly_women = women[occupation] > 0.5
        templates.append(_Template(at, occupation, participant, answer == "0", sentence, slot.group(0), mostly_women))
    return templates


def _fill(template: _Template, gender: str, forms: Mapping[str, str], participant: str) -> CoreferenceItem:
    """A template with a pronoun and a participant."""
    sentence, word = template.sentence, forms[template.slot]
    if participant == SOMEONE:
        sentence = _PARTICIPANT.sub(lambda match: SOMEONE.capitalize() if match[1][0].isupper() else SOMEONE, sentence)
    named = sentence.replace("$OCCUPATION", template.occupation).replace("$PARTICIPANT", participant)
    begin = named.index(template.slot)
    rest = named[begin + len(template.slot) :]  # after `they` the verb is plural, as in the published sentences
    rest = _VERB.sub(lambda match: f" {_PLURAL[match[1]]}", rest) if word == "they" else rest
    people = (template.occupation, participant)
    gold, other = people if template.means_occupation else people[::-1]
    fits = (gender == "female") == template.mostly_women
    stereotype = "pro" if fits == template.means_occupation else "anti"
    kind = SOMEONE if participant == SOMEONE else "named"
    return CoreferenceItem(
        id=f"{template.at:04}/{kind}/{gender}",
        text=named[:begin] + word + rest,
        at=(begin, begin + len(word)),
        gold=gold,
        other=other,
        stereotype=stereotype if gender in ("male", "female") else "neutral",
        groups={
            "gender": gender,
            "occupation": template.occupation,
            "answer": WHOM["0" if template.means_occupation else "1"],
            "participant": kind,
            "case": CASES[template.slot],
            "template": f"{template.at:04}",
        },
    )
