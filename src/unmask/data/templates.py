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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from unmask.core.boundary import Rows, parse_yaml
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name
from unmask.core.types import Dataset, Pair
from unmask.data.formats import SUFFIXES, decode, is_file, read_bytes, read_records, records
from unmask.data.items import LoadedItems, own_items, user_dataset
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
_SCALARS = (str, int, float)  # types of an entry that is text, perhaps without quotes
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
        raise DataError(f"template {quote(template)} has {len(slot_marks)} {what}, expected one of {', '.join(slots)}")
    (mark,) = slot_marks
    a = a or article(word)
    about = {"word": word, "a": a, "A": a.capitalize()} if word else {}
    known = {**about, mark: f"{{{mark}}}"}
    if strange := [name for name in _MARK.findall(template) if name not in known]:
        hint = ": no word was given to fill it" if strange[0] in ("word", "a", "A") else ""
        raise DataError(f"template {quote(template)} has an unknown mark {quote('{' + strange[0] + '}')}{hint}")
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
            f"{idle.at}: no word of category {quote(idle.category)} for this template; "
            "add words to the category, or name a word beside the template"
        )
    for word, templates in own.values():
        stem = "-".join(slug(part) for part in (word.category, word.word) if part)
        if not templates and not shared[word.category]:
            raise DataError(f"{word.at}: no template with {{word}} in category {quote(word.category)} for it")
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
    if path.suffix.lower() not in SUFFIXES or not is_file(path):
        return False
    try:
        rows = read_records(path, "a file of templates")
    except DataError:
        return False  # loading it as pairs will report the error
    columns = {str(key).strip().lower() for row in rows if isinstance(row, Mapping) for key in row}
    return "template" in columns and not columns & PAIR_COLUMNS


def load(path: Path, *, name: str) -> Dataset:
    """Load a file of templates."""
    data, file = read_bytes(path, "a file of templates"), file_name(path)
    if path.suffix.lower() in YAML:
        loaded = from_yaml(data, file, name)
    else:
        rows = records(data, path.suffix, file)
        lines = [_line(row, rows.at(number)) for number, row in enumerate(rows)]
        loaded = _items(lines, name, file, FORMS)
    dataset = user_dataset(loaded, name, f"Templates of {file}", file, hashlib.sha256(data).hexdigest())
    return replace(dataset, sides=_sides(loaded.items, file))


def slot_words(item: Pair) -> tuple[str, str]:
    """The words in the slot of a filled template."""
    assert item.context is not None
    before, after = _MARK.split(item.context, maxsplit=1)[::2]
    more, less = (text[len(before) : len(text) - len(after)] for text in (item.more, item.less))
    return more, less


def _sides(items: Sequence[Pair], where: str) -> tuple[str, str] | None:
    """The words of both sides as text; None if they are words for men and for women."""
    from unmask import data

    known = {(pair.masculine, pair.feminine) for pair in data.read("word-pairs").pairs} | set(FORMS.values())
    gendered = {(first.lower(), second.lower()) for first, second, *_ in known}
    pairs = list(dict.fromkeys(map(slot_words, items)))
    own = [pair for pair in pairs if (pair[0].lower(), pair[1].lower()) not in gendered]
    if not own:
        return None
    for item in items:
        if (goal := item.groups.get("goal", GOALS[0])) != GOALS[0] and (words := slot_words(item)) in own:
            raise DataError(
                f"{where}: goal {quote(goal)} of {item.id}, whose words {' and '.join(map(quote, words))} are not a "
                "masculine and a feminine word; leave the goal out"
            )
    first, second = (list(dict.fromkeys(words)) for words in zip(*pairs, strict=True))
    return _join_words(first), _join_words(second)


def _join_words(words: Sequence[str]) -> str:
    """Up to three words, separated by slashes."""
    return "/".join((*words[:3], *("…" for _ in words[3:4])))


def from_yaml(data: bytes, where: str, name: str) -> LoadedItems:
    """Load the items of a YAML file."""
    content = parse_yaml(decode(data, where), where)
    if not isinstance(content, dict):
        raise DataError(f"{where}: found {_kind(content)}, expected {', '.join(PARTS)} with their entries")
    if strange := [key for key in content if key not in PARTS]:
        raise DataError(f"{where}: unknown entry {quote(strange[0])}, expected {', '.join(PARTS)}")
    given = content.get("slots") or {}
    if not isinstance(given, dict):
        raise DataError(f"{where}, slots: found {_kind(given)}, expected names with their words")
    if bad := [slot for slot in given if not re.fullmatch(r"(?!(?:word|a)$)[^{}\s]+", str(slot), re.IGNORECASE)]:
        raise DataError(f"{where}, slots: found {quote(bad[0])}, expected a name of its own without spaces and braces")
    own = {str(slot).lower(): _words(words, f"{where}, slot {quote(slot)}") for slot, words in given.items()}
    lines = [*_lines(content, "word", where), *_lines(content, "template", where)]
    return _items(lines, name, where, {**FORMS, **own})


def _items(lines: Sequence[TemplateLine], name: str, where: str, slots: Slots) -> LoadedItems:
    items = [*expand_templates(lines, name, slots)]
    if not items:
        raise DataError(f"{where}: no templates; expected at least one with a slot")
    (most, times), *_ = Counter(item.id for item in items).most_common(1)
    if times > 1:
        raise DataError(f"{where}: a word is listed twice in one category (item {quote(most)}); keep one of them")
    return own_items(items)


def _words(given: Any, at: str) -> tuple[str, ...]:
    """Two or three different words."""
    listed = given if isinstance(given, list | tuple) and all(isinstance(word, _SCALARS) for word in given) else ()
    words = tuple(str(word).strip() for word in listed)
    if len(words) not in (2, 3) or not all(words) or len(set(words)) < len(words):
        raise DataError(f"{at}: found {quote(given)}, expected two or three different words (the first is side `more`)")
    return words


def _lines(content: Mapping[str, Any], main: str, where: str) -> Iterator[TemplateLine]:
    """The entries of a part of a YAML file; `main` is `word` or `template`."""
    given = content.get(f"{main}s") or Rows((), where)
    if not isinstance(given, Rows):
        raise DataError(f"{where}, {main}s: found {_kind(given)}, expected a list")
    for number, row in enumerate(given):
        at = given.at(number)
        line = _line({main: row} if isinstance(row, str) else row, at)
        if not getattr(line, main):
            raise DataError(f"{at}: no {main}; expected text, or an entry with {main!r}")
        yield line


def _line(row: Any, at: str) -> TemplateLine:
    """Parse and validate one record."""
    if not isinstance(row, Mapping):
        raise DataError(f"{at}: found {_kind(row)}, expected an entry with a template or a word")
    given = {str(key).strip().lower(): value for key, value in row.items()}
    if strange := [key for key in given if key not in COLUMNS]:
        raise DataError(f"{at}: unknown column {quote(strange[0])}, expected some of {', '.join(COLUMNS)}")
    if nested := [key for key, value in given.items() if value is not None and not isinstance(value, _SCALARS)]:
        raise DataError(f"{at}: {nested[0]} is {quote(given[nested[0]])}, expected text")
    empty = [key for key, value in given.items() if value is None or value != value]  # noqa: PLR0124 - NaN
    cells = {key: "" if key in empty else str(value).strip() for key, value in given.items()}
    goal = cells.get("goal") or "zero"
    if goal not in GOALS:
        raise DataError(f"{at}: goal {quote(goal)}, expected {', '.join(GOALS)}")
    if not (cells.get("template") or cells.get("word")):
        raise DataError(f"{at}: neither a template nor a word; fill one in or remove the row")
    own = tuple(cells[key] for key in ("first", "second", "third") if cells.get(key))
    texts = {key: cells.get(key, "") for key in ("template", "word", "category", "article")}
    return TemplateLine(at, **texts, goal=goal, own=_words(own, f"{at}, first and second") if own else ())


def _kind(value: Any) -> str:
    return "nothing" if value is None else quote(value)
