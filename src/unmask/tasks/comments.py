"""Sentences for `toxicity`: the user's, the published templates, or our own; which term each names."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from unmask.data.examples import Source, column, find_local, rows_of, user_source
from unmask.stats.bootstrap import generator
from unmask.tasks import terms
from unmask.tasks.spec import TaskSettings

MADLIBS = "wiki_toxicity/bias_madlibs_77k.csv"
SAMPLE = 4_000  # of many sentences, drawn by the seed
TEXT = ("text", "Text", "comment_text", "comment", "tweet", "sentence")
LABEL = ("toxic", "label", "Label", "class", "toxicity")
_TRUE = {"1", "1.0", "true", "bad", "toxic"}
_MADLIB_TERMS = (
    *(
        "lesbian",
        "gay",
        "bisexual",
        "transgender",
        "trans",
        "queer",
        "lgbt",
        "lgbtq",
        "homosexual",
        "straight",
    ),
    *(
        "heterosexual",
        "male",
        "female",
        "nonbinary",
        "african",
        "african american",
        "black",
        "white",
        "european",
    ),
    *(
        "hispanic",
        "latino",
        "latina",
        "latinx",
        "mexican",
        "canadian",
        "american",
        "asian",
        "indian",
        "chinese",
    ),
    *(
        "middle eastern",
        "japanese",
        "christian",
        "muslim",
        "jewish",
        "buddhist",
        "catholic",
        "protestant",
        "sikh",
    ),
    *(
        "taoist",
        "old",
        "older",
        "young",
        "younger",
        "teenage",
        "millenial",
        "middle aged",
        "elderly",
        "blind",
    ),
    *("deaf", "paralyzed"),
)


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """One sentence: toxic or not, the term it names, and what it is but for the term."""

    text: str
    toxic: bool
    term: str  # "" where it names none
    template: str


def load_sentences(settings: TaskSettings) -> tuple[list[LabelledSentence], str, tuple[Source, ...]]:
    """The user's file, else the published templates if they are there, else our own."""
    place = settings.data or find_local(MADLIBS, data_dir=settings.data_dir)
    if place is None:
        every = [
            LabelledSentence(terms.fill_template(text, term), toxic, term, text)
            for toxic, texts in ((False, terms.HARMLESS), (True, terms.HATEFUL))
            for text in texts
            for some in terms.TERMS.values()
            for term in some
        ]
        return every[: settings.limit], "our own sentences", ()
    source = user_source(place)
    rows = read_sentences(source)
    most = min(settings.limit or SAMPLE, len(rows))
    drawn = np.sort(generator(settings.seed, "sentences").permutation(len(rows))[:most]).tolist()
    return [rows[at] for at in drawn], f"{most:,} of {len(rows):,} sentences of {source.name}", (source,)


def read_sentences(source: Source) -> list[LabelledSentence]:
    """A table of texts and whether they are toxic; terms are found as whole words."""
    rows = rows_of(source)
    text, label = column(rows, TEXT, source), column(rows, LABEL, source)
    find = identity_term_pattern(source)
    return [_said(str(row[text]), _toxic(row[label], label), find) for row in rows]


def identity_term_pattern(source: Source) -> re.Pattern[str]:
    """What finds the terms; the published templates have a list of their own."""
    names = {term.lower() for some in terms.TERMS.values() for term in some}
    if source.path.name.startswith("bias_madlibs"):
        names |= set(_MADLIB_TERMS)
    listed = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.compile(rf"\b(?:{listed})\b", re.IGNORECASE)


def _said(text: str, toxic: bool, find: re.Pattern[str]) -> LabelledSentence:
    terms_ = [each.group(0) for each in find.finditer(text)]
    term = terms_[0].lower() if len({each.lower() for each in terms_}) == 1 else ""
    return LabelledSentence(text, toxic, term, find.sub("{}", text) if term else text)


def _toxic(value: object, name: str) -> bool:
    """Toxic? In Davidson et al.'s `class`, 2 is neither hate nor offensive."""
    text = str(value).strip().lower()
    return text in ("0", "1") if name == "class" else text in _TRUE
