"""Score text as it is typed: two sentences, a template or a prompt, by every applicable measure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from unmask.core.errors import DataError, ModelError, UnmaskError
from unmask.core.types import Measure, Pair
from unmask.data.templates import FORMS, fill_template
from unmask.explorer.pairs import token_breakdown
from unmask.measures import MEASURES

if TYPE_CHECKING:
    import pyarrow as pa

    from unmask.models import Lm

MAX_TEXT, MAX_WORDS, FILLERS = 2000, 50, 12  # characters of a text, words of a template, words for a gap
GAP = re.compile(r"_{2,}|\[MASK\]|<mask>")  # other ways to write the slot of a prompt
ITEM = "live/0000"
KINDS = ("pair", "template", "prompt")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A model loaded in the background that answers one query at a time."""

    name: str
    worker: ThreadPoolExecutor
    lm: Future[Lm]

    @classmethod
    def start(cls, name: str, open_model: Callable[[], Lm]) -> LiveModel:
        """Start to load the model."""
        worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="unmask-live")
        return cls(name, worker, worker.submit(open_model))

    def submit(self, query: Callable[[Lm], T]) -> Future[T]:
        """Queue a query for the model; errors of libraries become a ModelError."""
        return self.worker.submit(self._answer, query)

    def _answer(self, query: Callable[[Lm], T]) -> T:
        try:
            return query(self.lm.result())
        except UnmaskError:
            raise
        except Exception as error:  # of the libraries, such as too little memory
            raise ModelError(f"the live model failed ({type(error).__name__}: {error})") from error

    def close(self) -> None:
        """Cancel the queries that wait; loading the model, or the running query, is not waited for."""
        self.worker.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Query:
    """What the page sends: two sentences, a template with its words, or a prompt; the rest is empty."""

    more: str = ""
    less: str = ""
    text: str = ""
    words: str = ""  # separated by commas or lines


def parse_query(kind: str, query: Query) -> Callable[[Lm], dict[str, Any]]:
    """The function that answers a query; DataError if its input is incomplete."""
    if kind == "pair":
        more, less = _text(query.more), _text(query.less)
        if more == less:
            raise DataError("the two sentences are equal: change at least one word")
        return lambda lm: score_pair(lm, more, less)
    if kind == "template":
        pairs = _fill_template(_text(query.text), _words(query.words))
        return lambda lm: score_templates(lm, pairs)
    text = GAP.sub("{slot}", _text(query.text))
    if text.count("{slot}") != 1:
        raise DataError(f"the prompt has {text.count('{slot}')} gaps: mark the gap once, as ___")
    return lambda lm: fill_prompt(lm, text)


def score_pair(lm: Lm, more: str, less: str) -> dict[str, Any]:
    """Score two sentences by every measure that needs no other input, token by token."""
    measures = _applicable(lm, lambda measure: not measure.needs)
    return {"measures": token_breakdown(*_score(lm, [Pair(ITEM, more, less)], measures), ITEM), "texts": [more, less]}


def score_templates(lm: Lm, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Score every filled template by the measures for templates."""
    has_words = all("word" in pair.groups for pair in pairs)
    measures = _applicable(lm, lambda each: "slot" in each.needs and (has_words or "word" not in each.needs))
    items, _ = _score(lm, pairs, measures)
    rows: dict[str, dict[str, Any]] = {}
    for row in items.to_pylist():
        line = {"word": row.get("word"), "more": row["text_more"], "less": row["text_less"], "scores": {}}
        line = rows.setdefault(row["item"], line)
        line["scores"][row["measure"]] = {key: row[key] for key in ("more", "less", "difference", "reason")}
    named = [{"name": measure.name, "reads": measure.reads} for measure in measures]
    return {"rows": list(rows.values()), "measures": named}


def fill_prompt(lm: Lm, text: str) -> dict[str, Any]:
    """Find the likeliest words for the gap of a prompt."""
    from unmask.models.fill import top_words

    (result,) = top_words(lm, [text], FILLERS)
    words = [{"text": word.text, "probability": word.probability} for word in result.words]
    return {"text": text, "words": words, "left": result.left, "sure": result.sure, "reason": result.reason}


def _applicable(lm: Lm, condition: Callable[[Measure], bool]) -> list[Measure]:
    return [measure for measure in MEASURES.values() if lm.kind in measure.kinds and condition(measure)]


def _score(lm: Lm, pairs: Sequence[Pair], measures: Sequence[Measure]) -> tuple[pa.Table, pa.Table]:
    """The item and token tables that a run on these pairs would write."""
    from unmask.audit.attribution import with_contributions
    from unmask.audit.checks import Evidence
    from unmask.audit.parquet import column_names, group_columns, item_table, token_table
    from unmask.audit.scoring import score_items
    from unmask.models import Engine

    ignore: Callable[[float], None] = lambda _: None  # noqa: E731 - no progress shown
    chunks = score_items("live", pairs, measures, Engine(lm), evidence=Evidence(), progress=ignore)
    scored = [item for chunk in chunks for item in chunk]
    return item_table(scored, column_names(group_columns(pairs))), with_contributions(token_table(scored, lm))


def _fill_template(template: str, words: Sequence[str]) -> list[Pair]:
    """Fill the template with every word; the masculine sentence is `more`."""
    if "{word}" in template and not words:
        raise DataError("the template has {word}: give the words to fill in, separated by commas")
    if "{word}" not in template and words:
        raise DataError("there are words but the template has no {word}: write {word} where they go")
    if not any(f"{{{form}}}" in template.lower() for form in FORMS):
        forms = ", ".join(f"{{{form}}}" for form in FORMS)
        raise DataError(f"the template has no pronoun slot: write one of {forms}")
    templates = [(word, fill_template(template, word)) for word in words or [""]]
    return [
        Pair(
            f"live/{number:04}",
            filled.masculine,
            filled.feminine,
            context=filled.open,
            groups={"slot": filled.slot} | ({"word": word} if word else {}),
        )
        for number, (word, filled) in enumerate(templates)
    ]


def _text(text: str) -> str:
    if not text.strip():
        raise DataError("nothing to score yet: fill in every box")
    if len(text) > MAX_TEXT:
        raise DataError(f"{len(text):,} characters: give at most {MAX_TEXT:,}")
    return text.strip()


def _words(text: str) -> list[str]:
    words = list(dict.fromkeys(word for part in re.split(r"[,\n]", text) if (word := part.strip())))
    if len(words) > MAX_WORDS:
        raise DataError(f"{len(words)} words: give at most {MAX_WORDS}")
    return words
