"""The sentences of `toxicity`: of the user's file, of the published templates, or built-in ones, with their labels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import DataError
from unmask.core.seeds import generator
from unmask.data.examples import Example, Source, column, find_local, rows_of, text_column, user_source
from unmask.tasks.finetune import user_data
from unmask.tasks.spec import TaskData, TaskSettings

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
LABELS = ("harmless", "toxic")
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


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The user's file, or the published templates if present."""
    path = settings.data or find_local(MADLIBS, data_dir=settings.data_dir)
    return (user_source(path),) if path else ()


def load_sentences(settings: TaskSettings) -> tuple[list[LabelledSentence], str]:
    """The sentences of the file, or the built-in ones, and what they are."""
    if not (files := sources(settings)):
        sentences = [
            LabelledSentence(fill_template(text, term), toxic, term, text)
            for toxic, texts in ((False, HARMLESS), (True, HATEFUL))
            for text in texts
            for group in TERMS.values()
            for term in group
        ]
        return sentences[: settings.limit], "built-in sentences"
    rows = read_sentences(files[0])
    count = min(settings.limit or SAMPLE, len(rows))
    sampled = np.sort(generator(settings.seed, "sentences").permutation(len(rows))[:count]).tolist()
    return [rows[at] for at in sampled], f"{count:,} of {len(rows):,} sentences of {files[0].name}"


def fill_template(template: str, term: str) -> str:
    """Fill the term into the template; `a` becomes `an` before a vowel, the first letter upper case."""
    text = template.format(term)
    if term[:1].lower() in "aeiou":
        text = text.replace(f" a {term}", f" an {term}").replace(f"A {term}", f"An {term}")
    return text[:1].upper() + text[1:]


def read_sentences(source: Source) -> list[LabelledSentence]:
    """Read a table of texts with toxicity labels; identity terms are matched as whole words.

    The published templates have a list of terms of their own. In Davidson et al.'s `class` column 2 is
    neither hateful nor offensive.
    """
    rows = rows_of(source)
    text, label = text_column(rows, TEXT), column(rows, LABEL)
    pattern = term_pattern(_MADLIB_TERMS.split("|") if source.path.name.startswith("bias_madlibs") else ())
    toxic = {"0", "1"} if label == "class" else _TRUE
    return [label_sentence(row[text], str(row[label]).strip().lower() in toxic, pattern) for row in rows]


def term_pattern(others: Iterable[str] = ()) -> re.Pattern[str]:
    """Matches the identity terms of `TERMS`, and others, as whole words in any case."""
    names = {*others, *(term.lower() for group in TERMS.values() for term in group)}
    listed = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.compile(rf"\b(?:{listed})\b", re.IGNORECASE)


def label_sentence(text: str, toxic: bool, pattern: re.Pattern[str]) -> LabelledSentence:
    """A sentence with the one identity term it names, and its template."""
    terms = {match.lower() for match in pattern.findall(text)}
    term = terms.pop() if len(terms) == 1 else ""
    return LabelledSentence(text, toxic, term, pattern.sub("{}", text) if term else text)


def load_task_data(settings: TaskSettings) -> TaskData:
    """The user's comments to fine-tune a classifier on."""
    given = user_data(settings, LABELS, _examples)
    if given is None:
        raise DataError("toxicity has no training data of its own: give `train` (--train), a table of texts and labels")
    return given


def _examples(source: Source) -> tuple[Example, ...]:
    """The sentences of a file as training examples."""
    return tuple(Example(each.text, None, LABELS[each.toxic]) for each in read_sentences(source))
