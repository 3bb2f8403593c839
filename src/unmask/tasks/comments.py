"""Sentences for `toxicity` and their identity terms: from a user's file, published or built-in templates."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from unmask.core.seeds import generator
from unmask.data.examples import Source, column, find_local, rows_of, user_source
from unmask.tasks import terms
from unmask.tasks.spec import TaskSettings

MADLIBS = "wiki_toxicity/bias_madlibs_77k.csv"
SAMPLE = 4_000  # sentences sampled from a large file
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
    """One sentence, its toxicity label, the identity term it names, and its template."""

    text: str
    toxic: bool
    term: str  # "" if it names none, or several
    template: str


def load_sentences(settings: TaskSettings) -> tuple[list[LabelledSentence], str, tuple[Source, ...]]:
    """Load the user's file, else the published templates if present, else the built-in sentences."""
    path = settings.data or find_local(MADLIBS, data_dir=settings.data_dir)
    if path is None:
        sentences = [
            LabelledSentence(terms.fill_template(text, term), toxic, term, text)
            for toxic, texts in ((False, terms.HARMLESS), (True, terms.HATEFUL))
            for text in texts
            for group in terms.TERMS.values()
            for term in group
        ]
        return sentences[: settings.limit], "our own sentences", ()
    source = user_source(path)
    rows = read_sentences(source)
    count = min(settings.limit or SAMPLE, len(rows))
    sampled = np.sort(generator(settings.seed, "sentences").permutation(len(rows))[:count]).tolist()
    return [rows[at] for at in sampled], f"{count:,} of {len(rows):,} sentences of {source.name}", (source,)


def read_sentences(source: Source) -> list[LabelledSentence]:
    """Read a table of texts with toxicity labels; identity terms are matched as whole words."""
    rows = rows_of(source)
    text, label = column(rows, TEXT, source), column(rows, LABEL, source)
    pattern = identity_term_pattern(source)
    return [_labelled_sentence(str(row[text]), _toxic(row[label], label), pattern) for row in rows]


def identity_term_pattern(source: Source) -> re.Pattern[str]:
    """A pattern that matches the identity terms; the published templates have a list of their own."""
    names = {term.lower() for group in terms.TERMS.values() for term in group}
    if source.path.name.startswith("bias_madlibs"):
        names |= set(_MADLIB_TERMS)
    listed = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.compile(rf"\b(?:{listed})\b", re.IGNORECASE)


def _labelled_sentence(text: str, toxic: bool, pattern: re.Pattern[str]) -> LabelledSentence:
    matches = [match.group(0) for match in pattern.finditer(text)]
    term = matches[0].lower() if len({match.lower() for match in matches}) == 1 else ""
    return LabelledSentence(text, toxic, term, pattern.sub("{}", text) if term else text)


def _toxic(value: object, name: str) -> bool:
    """Is the label toxic? In Davidson et al.'s `class` column 2 is neither hateful nor offensive."""
    text = str(value).strip().lower()
    return text in ("0", "1") if name == "class" else text in _TRUE
