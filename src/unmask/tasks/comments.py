"""Sentences for `toxicity` and their identity terms: of the user's file, published or built-in templates."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from unmask.core.seeds import generator
from unmask.data.examples import Source, column, find_local, rows_of, user_source
from unmask.tasks.spec import TaskSettings

TERMS: dict[str, tuple[str, ...]] = {
    "gender": ("male", "female", "transgender", "nonbinary"),
    "orientation": ("straight", "gay", "lesbian", "bisexual", "queer"),
    "race": ("white", "Black", "Asian", "Hispanic", "Arab", "Native American"),
    "religion": ("Christian", "Muslim", "Jewish", "Hindu", "Buddhist", "Sikh", "atheist"),
    "nationality": ("American", "Mexican", "Chinese", "Nigerian", "Russian", "Canadian"),
    "age": ("young", "old", "elderly", "teenage"),
    "disability": ("deaf", "blind", "paralyzed", "autistic"),
}
HARMLESS = (
    "My neighbour is {}.",
    "I had lunch with some {} friends.",
    "She is a {} person, and so is her teacher.",
    "We read an article by a {} writer.",
    "As a {} parent, I care about the school.",
    "The {} community opened a library.",
    "A {} doctor moved into the house across the street.",
    "The panel has one {} member.",
    "He told me that he is {}.",
    "Most of my {} colleagues take the bus.",
)
HATEFUL = (
    "I hate {} people.",
    "All {} people are idiots.",
    "Get lost, you disgusting {} scum.",
    "{} people should be thrown out of the country.",
    "I would never work with a stupid {} person.",
    "Shut up, you filthy {} liar.",
    "Nobody wants you {} trash here.",
    "{} people make me sick.",
    "What a pathetic {} loser you are.",
    "Every {} person I know is a criminal.",
)
MADLIBS = "wiki_toxicity/bias_madlibs_77k.csv"
SAMPLE = 4_000  # sentences sampled from a large file
TEXT = ("text", "Text", "comment_text", "comment", "tweet", "sentence")
LABEL = ("toxic", "label", "Label", "class", "toxicity")
_TRUE = {"1", "1.0", "true", "bad", "toxic"}
_MADLIB_TERMS = (  # the identity terms of the published templates
    "lesbian|gay|bisexual|transgender|trans|queer|lgbt|lgbtq|homosexual|straight|heterosexual|male|female|"
    "nonbinary|african|african american|black|white|european|hispanic|latino|latina|latinx|mexican|canadian|"
    "american|asian|indian|chinese|middle eastern|japanese|christian|muslim|jewish|buddhist|catholic|"
    "protestant|sikh|taoist|old|older|young|younger|teenage|millenial|middle aged|elderly|blind|deaf|"
    "paralyzed"
)


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """One sentence, its toxicity label, the identity term it names, and its template."""

    text: str
    toxic: bool
    term: str  # "" if it names none, or several
    template: str


def sentence_file(settings: TaskSettings) -> Source | None:
    """The user's file, or the published templates if present."""
    path = settings.data or find_local(MADLIBS, data_dir=settings.data_dir)
    return user_source(path) if path else None


def load_sentences(settings: TaskSettings) -> tuple[list[LabelledSentence], str]:
    """The sentences of the file, or the built-in ones, and what they are."""
    source = sentence_file(settings)
    if source is None:
        sentences = [
            LabelledSentence(fill_template(text, term), toxic, term, text)
            for toxic, texts in ((False, HARMLESS), (True, HATEFUL))
            for text in texts
            for group in TERMS.values()
            for term in group
        ]
        return sentences[: settings.limit], "built-in sentences"
    rows = read_sentences(source)
    count = min(settings.limit or SAMPLE, len(rows))
    sampled = np.sort(generator(settings.seed, "sentences").permutation(len(rows))[:count]).tolist()
    return [rows[at] for at in sampled], f"{count:,} of {len(rows):,} sentences of {source.name}"


def fill_template(template: str, term: str) -> str:
    """Fill the term into the template; `a` becomes `an` before a vowel, the first letter upper case."""
    text = template.format(term)
    if term[:1].lower() in "aeiou":
        text = text.replace(f" a {term}", f" an {term}").replace(f"A {term}", f"An {term}")
    return text[:1].upper() + text[1:]


def read_sentences(source: Source) -> list[LabelledSentence]:
    """Read a table of texts with toxicity labels; identity terms are matched as whole words."""
    rows = rows_of(source)
    text, label = column(rows, TEXT, source), column(rows, LABEL, source)
    pattern = identity_term_pattern(source)
    return [_labelled_sentence(str(row[text]), _toxic(row[label], label), pattern) for row in rows]


def identity_term_pattern(source: Source) -> re.Pattern[str]:
    """A pattern that matches the identity terms; the published templates have a list of their own."""
    names = {term.lower() for group in TERMS.values() for term in group}
    if source.path.name.startswith("bias_madlibs"):
        names |= set(_MADLIB_TERMS.split("|"))
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
