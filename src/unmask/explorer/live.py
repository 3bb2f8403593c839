"""Ask a model while someone types: two sentences, a template or a prompt, by every measure that fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from unmask.core.errors import DataError
from unmask.core.types import Measure, Pair
from unmask.data.templates import FORMS, fill_template
from unmask.explorer.tokens import token_breakdown
from unmask.measures import MEASURES

if TYPE_CHECKING:
    import pyarrow as pa

    from unmask.models import Lm

LONGEST, WORDS, GUESSES = 2000, 50, 12  # characters of a text, words of a template, words of a prompt
GAP = re.compile(r"_{2,}|\[MASK\]|<mask>")  # other ways to write the slot of a prompt
ITEM = "live/0000"
KINDS = ("pair", "template", "prompt")


@dataclass(frozen=True, slots=True)
class LiveModel:
    """One model that is opened in the background and asked one question at a time."""

    name: str
    worker: ThreadPoolExecutor
    lm: Future[Lm]

    @classmethod
    def start(cls, name: str, open_model: Callable[[], Lm]) -> LiveModel:
        """Begin to open the model."""
        worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="unmask-live")
        return cls(name, worker, worker.submit(open_model))

    def submit(self, question: Callable[[Lm], dict[str, Any]]) -> Future[dict[str, Any]]:
        """Put a question to the model once it is open and free."""
        return self.worker.submit(lambda: question(self.lm.result()))

    def close(self) -> None:
        """Let what is running end, and start nothing more."""
        self.worker.shutdown(wait=True, cancel_futures=True)


def parse_question(kind: str, asked: Mapping[str, Any]) -> Callable[[Lm], dict[str, Any]]:
    """What to compute for a request of the page; DataError when it lacks something."""
    if kind == "pair":
        more, less = _text(asked, "more"), _text(asked, "less")
        if more == less:
            raise DataError("the two sentences are equal: change at least one word")
        return lambda lm: score_pair(lm, more, less)
    if kind == "template":
        template, words = _text(asked, "text"), _words(asked)
        pairs = _filled(template, words)
        return lambda lm: score_templates(lm, pairs)
    text = GAP.sub("{slot}", _text(asked, "text"))
    if text.count("{slot}") != 1:
        raise DataError(f"the prompt has {text.count('{slot}')} gaps: mark the open word once, as ___")
    return lambda lm: fill_prompt(lm, text)


def score_pair(lm: Lm, more: str, less: str) -> dict[str, Any]:
    """Two sentences by every measure that needs nothing else, token by token."""
    measures = _fitting(lm, lambda one: not one.needs)
    return {
        "measures": token_breakdown(*_scored(lm, [Pair(ITEM, more, less)], measures), ITEM),
        "texts": [more, less],
    }


def score_templates(lm: Lm, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Every filled template by the measures made for them."""
    named = all("word" in one.groups for one in pairs)
    measures = _fitting(lm, lambda one: "slot" in one.needs and (named or "word" not in one.needs))
    items, _ = _scored(lm, pairs, measures)
    rows: dict[str, dict[str, Any]] = {}
    for row in items.to_pylist():
        line = rows.setdefault(
            row["item"],
            {"word": row.get("word"), "more": row["text_more"], "less": row["text_less"], "scores": {}},
        )
        line["scores"][row["measure"]] = {key: row[key] for key in ("more", "less", "difference", "reason")}
    return {
        "rows": list(rows.values()),
        "measures": [{"name": one.name, "reads": one.reads} for one in measures],
    }


def fill_prompt(lm: Lm, text: str) -> dict[str, Any]:
    """The likeliest words for the gap of a prompt."""
    from unmask.prompts import top_words

    (found,) = top_words(lm, [text], GUESSES)
    return {
        "text": text,
        "words": [{"text": one.text, "probability": one.probability} for one in found.words],
        "left": found.left,
        "sure": found.sure,
        "reason": found.reason,
    }


def _fitting(lm: Lm, wanted: Callable[[Measure], bool]) -> list[Measure]:
    return [one for one in MEASURES.values() if lm.kind in one.kinds and wanted(one)]


def _scored(lm: Lm, pairs: Sequence[Pair], measures: Sequence[Measure]) -> tuple[pa.Table, pa.Table]:
    """The two tables that a run of these pairs would have."""
    import pyarrow.parquet as pq

    from unmask.audit.checks import Evidence
    from unmask.audit.parquet import Tables, group_columns
    from unmask.audit.result import ITEMS, TOKENS
    from unmask.audit.scoring import score_items
    from unmask.models import Engine

    with TemporaryDirectory(prefix="unmask-live-") as folder:
        tables = Tables(Path(folder), group_columns(pairs))
        done: Callable[[float], None] = lambda _: None  # noqa: E731 - nobody watches
        for chunk in score_items("live", pairs, measures, Engine(lm), evidence=Evidence(), progress=done):
            tables.add(chunk, lm)
        tables.close()
        return pq.read_table(Path(folder) / ITEMS), pq.read_table(Path(folder) / TOKENS)


def _filled(template: str, words: Sequence[str]) -> list[Pair]:
    """The template with every word, the masculine sentence as `more`."""
    if "{word}" in template and not words:
        raise DataError("the template has {word}: give the words to put there, separated by commas")
    if "{word}" not in template and words:
        raise DataError("there are words but the template has no {word}: write it where they go")
    if not any(f"{{{form}}}" in template.lower() for form in FORMS):
        forms = ", ".join(f"{{{form}}}" for form in FORMS)
        raise DataError(f"the template has no open pronoun: write one of {forms}")
    made = [(word, fill_template(template, word)) for word in words or [""]]
    return [
        Pair(
            f"live/{number:04}",
            one.masculine,
            one.feminine,
            context=one.open,
            groups={"slot": one.slot} | ({"word": word} if word else {}),
        )
        for number, (word, one) in enumerate(made)
    ]


def _text(asked: Mapping[str, Any], name: str) -> str:
    text = asked.get(name)
    if not isinstance(text, str) or not text.strip():
        raise DataError("there is nothing to ask yet: write something in every box")
    if len(text) > LONGEST:
        raise DataError(f"{len(text):,} characters: give at most {LONGEST:,}")
    return text.strip()


def _words(asked: Mapping[str, Any]) -> list[str]:
    text = asked.get("words") or ""
    if not isinstance(text, str):
        raise DataError("expected the words as one text, separated by commas")
    words = list(dict.fromkeys(word for part in re.split(r"[,\n]", text) if (word := part.strip())))
    if len(words) > WORDS:
        raise DataError(f"{len(words)} words: give at most {WORDS}")
    return words
