"""BEC-Pro: a person and a profession in five templates (Bartl, Nissim & Gatt, 2020)."""

from __future__ import annotations

from pathlib import Path

from unmask.core.errors import DataError
from unmask.core.types import Pair
from unmask.data.formats import read_table
from unmask.data.items import DatasetSource, LoadedItems, read_card, with_warnings
from unmask.data.pairs import slug

CARD = read_card("bec-pro")
COUPLES = dict(
    zip(
        ("He", "man", "brother", "son", "husband", "boyfriend", "father", "uncle", "dad"),
        ("She", "woman", "sister", "daughter", "wife", "girlfriend", "mother", "aunt", "mom"),
        strict=True,
    )
)
_COLUMNS = ("Sentence", "Template", "Person", "Profession", "Prof_Gender")


def load(path: Path) -> LoadedItems:
    """The sentences of a couple of persons as one item; groups category, word, goal, slot, template."""
    rows = read_table(path, "the published file of BEC-Pro")
    if missing := [name for name in _COLUMNS if not rows or name not in rows[0]]:
        raise DataError(f"{path.name}: no column {missing[0]!r}; expected the published file of BEC-Pro")
    by_content = {(row["Template"], row["Person"], row["Profession"]): row for row in rows}
    templates = {text: number for number, text in enumerate(dict.fromkeys(row["Template"] for row in rows))}
    items = []
    for (template, person, profession), row in by_content.items():
        other = by_content.get((template, COUPLES.get(person, ""), profession))
        if person in COUPLES and other is not None:
            template_id = f"{templates[template]}-{person.lower()}"
            groups = {"category": row["Prof_Gender"], "word": profession, "goal": "zero", "slot": "person"}
            name = f"{CARD.name}/{template_id}-{slug(profession)}"
            items.append(Pair(name, row["Sentence"], other["Sentence"], groups={**groups, "template": template_id}))
    return with_warnings(items)


DATASET = DatasetSource(CARD, load)
