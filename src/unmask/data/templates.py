"""Sentence templates with one slot for a gendered word, filled with a masculine and a feminine form.

The slot is named after its grammatical case, `{subject}`, `{object}`, `{possessive}`, `{independent}` (his,
hers) or `{reflexive}`, or has a custom name for other words, such as `{person}` for man and woman; it is
capitalised at the beginning of a sentence. `{word}` is the word the sentence is about, `{a}` or `{A}` its
article. Your own templates are in a YAML file with words, templates and slots, or in a table with a column
`template`: `docs/templates.md` describes the format, and every error names the file and the invalid row.

    "In {possessive} first year {a} {word} learns the most."  +  "actuary"
    ──►  "In his first year an actuary learns the most.",  "In her first year an actuary learns the most."
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from unmask.core.errors import DataError
from unmask.core.types import Dataset, Pair
from unmask.data.formats import SUFFIXES, decode, records
from unmask.data.items import LoadedItems, user_dataset, with_warnings
from unmask.data.pairs import slug

Slots = Mapping[str, tuple[str, ...]]  # by slot: masculine word, feminine word, optionally a third
FORMS: Slots = {
    "subject": ("he", "she"),
    "object": ("him", "her"),
    "possessive": ("his", "her"),
    "independent": ("his", "hers"),
    "reflexive": ("himself", "herself"),
}
THEY = dict(zip(FORMS, ("they", "them", "their", "theirs", "themselves"), strict=True))
GOALS = ("zero", "male", "female")
YAML = (".yaml", ".yml")
COLUMNS = ("template", "word", "category", "goal", "article", "first", "second", "third")
PAIR_COLUMNS = {"more", "less", "sent_more", "sent_less"}
PARTS = ("slots", "words", "templates")
_MARK = re.compile(r"\{([^{}]*)\}")


class FilledTemplate(NamedTuple):
    """A filled template: the sentences, the sentence with its open slot, and the name of the slot."""

    masculine: str
    feminine: str
    open: str
    slot: str
    third: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """One record of a template file: a word, a template, or a template for one word only."""

    at: str  # its location in the file, for messages
    template: str = ""
    word: str = ""
    category: str = ""
    goal: str = "zero"
    article: str = ""  # if it differs from that of the first letter
    own: tuple[str, ...] = ()  # words for the `{slot}` of this template


def article(word: str) -> str:
    """`an` before a vowel letter, else `a`; exceptions are given in the record of the word."""
    return "an" if word[:1].lower() in "aeiou" else "a"


def fill_template(template: str, word: str = "", a: str = "", slots: Slots = FORMS) -> FilledTemplate:
    """Fill one template; DataError unless it has exactly one slot and otherwise only marks of `word`."""
    slot_marks = [mark for mark in _MARK.findall(template) if mark.lower() in slots]
    if len(slot_marks) != 1:
        what = "pronoun slots" if slots is FORMS else "slots"
        raise DataError(f"template {template!r} has {len(slot_marks)} {what}, expected one of {', '.join(slots)}")
    (mark,) = slot_marks
    a = a or article(word)
    about = {"word": word, "a": a, "A": a.capitalize()} if word else {}
    known = {**about, mark: f"{{{mark}}}"}
    if strange := [name for name in _MARK.findall(template) if name not in known]:
        hint = ": no word was given to fill it" if strange[0] in ("word", "a", "A") else ""
        raise DataError(f"template {template!r} has an unknown mark {{{strange[0]}}}{hint}")
    sentence = _MARK.sub(lambda match: known[match[1]], template)
    forms = [form[:1].upper() + form[1:] if mark[0].isupper() else form for form in slots[mark.lower()]]
    he, she, *third = (sentence.replace(f"{{{mark}}}", form) for form in forms)
    return FilledTemplate(he, she, sentence, mark.lower(), third[0] if third else None)


def expand_templates(lines: Sequence[TemplateLine], name: str, slots: Slots = FORMS) -> Iterator[Pair]:
    """Expand words in the order of the file, each with the templates of its category, or with its own.

    A template without `{word}` is used once. Side `more` has the first word of the slot.
    """
    shared: defaultdict[str, list[TemplateLine]] = defaultdict(list)  # the templates of a category
    own: dict[tuple[str, ...], tuple[TemplateLine, list[TemplateLine]]] = {}  # words with their templates
    alone = []
    for line in lines:
        if line.word:
            entry = own.setdefault((line.category, line.word, line.goal), (line, []))
            entry[1].extend([line] if line.template else [])
        elif {"word", "a", "A"} & set(_MARK.findall(line.template)):
            shared[line.category].append(line)
        else:
            alone.append(line)
    used = {word.category for word, templates in own.values() if not templates}
    for idle in (templates[0] for category, templates in shared.items() if category not in used):
        raise DataError(
            f"{idle.at}: no word of category {idle.category!r} for this template; "
            "add words to the category, or name a word beside the template"
        )
    for word, templates in own.values():
        stem = "-".join(slug(part) for part in (word.category, word.word) if part)
        if not templates and not shared[word.category]:
            raise DataError(f"{word.at}: no template with {{word}} in category {word.category!r} for it")
        for number, line in enumerate(templates or shared[word.category]):
            template_id = f"{stem if templates else slug(word.category)}-{number:02}"
            yield _item(f"{name}/{stem}-{number:02}", line, word, template_id, slots)
    for number, line in enumerate(alone):
        stem = f"{slug(line.category)}-alone" if line.category else "alone"
        yield _item(f"{name}/{stem}-{number:02}", line, line, f"{stem}-{number:02}", slots)


def _item(name: str, line: TemplateLine, word: TemplateLine, template_id: str, slots: Slots) -> Pair:
    """The item of one filled template; `template_id` names the template."""
    known = {**slots, "slot": line.own} if line.own else slots
    try:
        filled = fill_template(line.template, word.word, word.article, known)
    except DataError as error:
        raise DataError(f"{line.at}: {error}" if line.at else str(error)) from None
    groups = {"category": word.category, "word": word.word, "goal": word.goal}
    known_groups = {key: value for key, value in groups.items() if value}
    return Pair(
        name,
        filled.masculine,
        filled.feminine,
        unrelated=filled.third,
        context=filled.open,
        groups={**known_groups, "slot": filled.slot, "template": template_id},
    )


def is_template_file(path: Path) -> bool:
    """Whether it is a file of templates: YAML, or a table with a column `template` and no pairs."""
    if path.suffix.lower() in YAML:
        return True
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return False
    try:
        rows = records(path.read_bytes(), path.suffix, path.name)
    except (DataError, OSError):
        return False  # loading it as pairs will report the error
    columns = {str(key).strip().lower() for row in rows if isinstance(row, Mapping) for key in row}
    return "template" in columns and not columns & PAIR_COLUMNS


def load(path: Path, *, name: str) -> Dataset:
    """Load a file of templates."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); expected a file of templates") from None
    if path.suffix.lower() in YAML:
        loaded = from_yaml(data, path.name, name)
    else:
        rows = records(data, path.suffix, path.name)
        lines = [_line(row, f"{path.name}, row {number} (from 0)") for number, row in enumerate(rows)]
        loaded = _items(lines, name, path.name, FORMS)
    return user_dataset(loaded, name, f"Templates of {path.name}", path.name, hashlib.sha256(data).hexdigest())


def from_yaml(data: bytes, where: str, name: str) -> LoadedItems:
    """Load the items of a YAML file."""
    import yaml

    try:
        content = yaml.safe_load(decode(data, where))
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{where}: not valid YAML ({reason}); quote templates that begin with a brace") from None
    if not isinstance(content, dict):
        raise DataError(f"{where}: found {_kind(content)}, expected {', '.join(PARTS)} with their entries")
    if strange := [str(key) for key in content if key not in PARTS]:
        raise DataError(f"{where}: unknown entry {strange[0]!r}, expected {', '.join(PARTS)}")
    given = content.get("slots") or {}
    if not isinstance(given, dict):
        raise DataError(f"{where}, slots: found {_kind(given)}, expected names with their words")
    own = {str(slot).lower(): _words(words, f"{where}, slot {slot!r}") for slot, words in given.items()}
    lines = [
        *_lines(content.get("words") or [], "word", f"{where}, words"),
        *_lines(content.get("templates") or [], "template", f"{where}, templates"),
    ]
    return _items(lines, name, where, {**FORMS, **own})


def _items(lines: Sequence[TemplateLine], name: str, where: str, slots: Slots) -> LoadedItems:
    items = [*expand_templates(lines, name, slots)]
    if not items:
        raise DataError(f"{where}: no templates; expected at least one with a slot")
    (most, times), *_ = Counter(item.id for item in items).most_common(1)
    if times > 1:
        raise DataError(f"{where}: a word is listed twice in one category (item {most}); keep one of them")
    return with_warnings(items)


def _words(given: Any, at: str) -> tuple[str, ...]:
    """Two or three different words."""
    words = tuple(str(word).strip() for word in given) if isinstance(given, list | tuple) else ()
    if len(words) not in (2, 3) or not all(words) or len(set(words)) < len(words):
        raise DataError(f"{at}: found {given!r}, expected two or three different words, the masculine first")
    return words


def _lines(given: Any, main: str, where: str) -> Iterator[TemplateLine]:
    if not isinstance(given, list):
        raise DataError(f"{where}: found {_kind(given)}, expected a list")
    for number, row in enumerate(given):
        at = f"{where}[{number}] (from 0)"
        line = _line({main: row} if isinstance(row, str) else row, at)
        if not getattr(line, main):
            raise DataError(f"{at}: no {main}; expected text, or an entry with {main!r}")
        yield line


def _line(row: Any, at: str) -> TemplateLine:
    """Parse and validate one record."""
    if not isinstance(row, Mapping):
        raise DataError(f"{at}: found {_kind(row)}, expected an entry with a template or a word")
    given = {str(key).strip().lower(): value for key, value in row.items()}
    empty = [key for key, value in given.items() if value is None or value != value]  # noqa: PLR0124 - NaN
    cells = {key: "" if key in empty else str(value).strip() for key, value in given.items()}
    if strange := [key for key in cells if key not in COLUMNS]:
        raise DataError(f"{at}: unknown column {strange[0]!r}, expected some of {', '.join(COLUMNS)}")
    goal = cells.get("goal") or "zero"
    if goal not in GOALS:
        raise DataError(f"{at}: goal {goal!r}, expected {', '.join(GOALS)}")
    if not (cells.get("template") or cells.get("word")):
        raise DataError(f"{at}: neither a template nor a word; fill one in or remove the row")
    own = tuple(cells[key] for key in ("first", "second", "third") if cells.get(key))
    texts = {key: cells.get(key, "") for key in ("template", "word", "category", "article")}
    return TemplateLine(at, **texts, goal=goal, own=_words(own, f"{at}, first and second") if own else ())


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
