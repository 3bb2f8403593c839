"""Steps that score paraphrases made of a benchmark by exchanging phrases: the paper's examples, or those of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import regex

from unmask.audit.session import load_datasets
from unmask.core.errors import DataError, quote
from unmask.core.types import Dataset, Pair
from unmask.data.formats import read_table
from unmask.data.language import WORD
from unmask.data.pairs import ITSELF, NUMBER, ORIGINAL
from unmask.diagnose.paraphrase import FamilyOptions
from unmask.diagnose.run import diagnose
from unmask.findings import Finding, Section
from unmask.findings.envelope import build
from unmask.findings.folder import create
from unmask.studies.forecast import TOKENS
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import open_cached
from unmask.studies.texts import count_lines, find_text_file

DIAGNOSIS = "paraphrase"
NAME = "examples of the paper"
COLUMNS = ("item", "phrase", "paraphrase")  # of a file of rewordings
Exchanges = Mapping[str, Sequence[Sequence[str]]]  # by item: a phrase of both sentences, and what stands in its place
# Compounds and contractions are one word (step-mother, can't); a possessive 's is a word of its own.
COMPOUND = rf"{WORD}(?:(?!['’][sS](?![^\W_]))[-‐‑'’]{WORD})*"
_START = re.compile(r"(?:^|[.!?…]\W*\s)\W*$")  # before the first word of a sentence


def score_examples(context: StepContext) -> None:
    """Score the originals and paraphrases of `examples`, or of a file; a note if the data have none of the examples."""
    out, options = context.folder / DIAGNOSIS, context.options(store=False)
    (data,) = load_datasets(context.data, options)
    name, exchanges = NAME, context.parameters["examples"]
    if context.step.data[1:]:
        name, exchanges = f"{data.card.name}, reworded", _user_exchanges(context, data)
    items = reword(data.items, exchanges)
    if not items:
        note = Finding((), (), (), (f"{data.card.name} has none of the paper's examples",))
        create(build("diagnosis", findings=[Section(DIAGNOSIS, "", "", note)]), out)
        return
    lm = open_cached(context.model, context.opening)
    lm = replace(lm, facts=replace(lm.facts, id=context.parameters["shown"]))
    worded = replace(data, items=items, card=replace(data.card, name=name))
    paraphrase = FamilyOptions(seed=context.parameters["seed"], measures=context.parameters["measures"])
    diagnose(DIAGNOSIS, lm, data=worded, out=out, options=options, paraphrase=paraphrase)


def reword(items: Sequence[Pair], exchanges: Exchanges) -> tuple[Pair, ...]:
    """Every original in the data and its paraphrases; without the exchanges that do not apply to it."""
    reworded = []
    for item in items:
        paraphrases = list(_paraphrases(item, exchanges.get(item.id, ())))
        for number, (more, less) in enumerate(((item.more, item.less), *paraphrases) if paraphrases else ()):
            name = item.id if number == int(ITSELF) else f"{item.id}/{number}"
            groups = {**item.groups, ORIGINAL: item.id, NUMBER: str(number)}
            reworded.append(Pair(name, more, less, groups=groups))
    return tuple(reworded)


def _paraphrases(item: Pair, exchanges: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    for old, new in exchanges:
        with suppress(DataError):
            yield exchange(item, old, new)


def exchange(item: Pair, old: str, new: str) -> tuple[str, str]:
    """Both sentences with one phrase exchanged: the words for the groups stay as they are.

    DataError unless it stands in one place of each sentence, as whole words that the sentences share.
    """
    more, less = (_places(text, old) for text in (item.more, item.less))
    if (len(more), len(less)) != (1, 1):
        raise DataError(
            f"{item.id}: {quote(old)} stands as whole words in {len(more)} places of one sentence and in {len(less)} "
            "of the other, expected one place in each: give another phrase, or a longer one"
        )
    if not _are_shared(item, more[0], less[0]):
        raise DataError(f"{item.id}: {quote(old)} has words in which the sentences differ: give words that they share")
    return _put(item.more, more[0], new), _put(item.less, less[0], new)


def _places(text: str, phrase: str) -> list[slice]:
    """Where a phrase stands as whole words; at the beginning of a sentence its first letter may differ in case."""
    inside = {at for word in regex.finditer(COMPOUND, text) for at in range(word.start() + 1, word.end())}
    first = "|".join(re.escape(letter) for letter in {phrase[0], phrase[0].lower(), phrase[0].upper()})
    found = re.finditer(f"(?:{first}){re.escape(phrase[1:])}", text)
    return [
        slice(*match.span())
        for match in found
        if inside.isdisjoint(match.span()) and (match[0] == phrase or _START.search(text[: match.start()]))
    ]


def _are_shared(item: Pair, more: slice, less: slice) -> bool:
    """Whether the words of both places are paired with each other, whichever sentence is aligned with the other."""
    first, second = (list(regex.finditer(COMPOUND, text)) for text in (item.more, item.less))
    ours, theirs = (
        [at for at, word in enumerate(words) if place.start <= word.start() < place.stop]
        for words, place in ((first, more), (second, less))
    )
    shared = _aligned(first, second) & {(a, b) for b, a in _aligned(second, first)}
    return bool(ours) and shared.issuperset(zip(ours, theirs, strict=True))


def _aligned(first: Sequence[re.Match[str]], second: Sequence[re.Match[str]]) -> set[tuple[int, int]]:
    """The words that two sentences share, by their numbers."""
    a, b = ([word[0].lower() for word in sentence] for sentence in (first, second))
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return {(i + offset, j + offset) for i, j, size in blocks for offset in range(size)}


def _put(text: str, place: slice, phrase: str) -> str:
    """The text with another phrase in a place, in upper case where the first word of a sentence was."""
    if text[place][0].isupper() and _START.search(text[: place.start]):
        phrase = phrase[0].upper() + phrase[1:]
    return text[: place.start] + phrase + text[place.stop :]


def read_rewordings(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The exchanges of a table with a paraphrase in every row, by item."""
    rows = read_table(path, f"a table with the columns {', '.join(COLUMNS)}")
    if not rows or not set(COLUMNS) <= rows[0].keys():
        found = quote(list(rows[0])) if rows else "no row"
        raise DataError(f"{rows.where}: {found}, expected the columns {', '.join(COLUMNS)}")
    exchanges: dict[str, list[tuple[str, str]]] = {}
    for number, row in enumerate(rows):
        item, old, new = ((row[name] or "").strip() for name in COLUMNS)
        if not item or not old or not new or old == new:
            raise DataError(f"{rows.at(number)}: expected an item, a phrase and another phrase in its place")
        exchanges.setdefault(item, []).append((old, new))
    return exchanges


def _user_exchanges(context: StepContext, data: Dataset) -> Exchanges:
    """The exchanges of the user's file, all of which must apply."""
    name = context.step.data[1]
    place = context.runtime.place(name)
    exchanges = read_rewordings(find_text_file(place, context.runtime.data_dir) or Path(place))
    by_id = {item.id: item for item in data.items}
    for item, given in exchanges.items():
        if item not in by_id:
            raise DataError(f"{name} has {quote(item)}, expected ids of {data.card.name}, such as {data.items[0].id}")
        made = {(by_id[item].more, by_id[item].less): "the original"}
        for old, new in given:
            try:
                pair = exchange(by_id[item], old, new)
            except DataError as error:
                raise DataError(f"{name}: {error}") from None
            if pair in made:
                raise DataError(f"{name}: {item}: {quote(new)} gives the same sentences as {made[pair]}: leave one out")
            made[pair] = quote(new)
    return exchanges


def step(name: str, source: str, examples: Mapping[str, Sequence[str]], file: str | None, **parameters: Any) -> Step:
    """A step that scores the phrases of `examples` (the first is in the data), or a file's; `parameters`: its others.

    These are `model`, `measures`, `seed`, `dtype` and `shown`, the name of the model on the page.
    """
    model = parameters.pop("model")
    exchanges = {item: [[first, other] for other in others] for item, (first, *others) in examples.items()}
    planned = Step.of(name, f"{__name__}:EXAMPLES", {"examples": exchanges, **parameters}, model=model, data=source)
    return replace(planned, data=(*planned.data, file)) if file else planned


def work_estimate(step: Step) -> WorkEstimate:
    """One pass for every token of the pairs, of which a file has one in every line."""
    pairs = sum(1 + len(exchanges) for exchanges in step.parameters["examples"].values())
    if step.data[1:] and (path := find_text_file(step.data[1], None)):
        pairs = count_lines(path)
    return WorkEstimate(2.0 * pairs * TOKENS * TOKENS)


EXAMPLES = StepKind(score_examples, version=3, estimate_work=work_estimate)
