"""The sentences of `sentiment`: of the user's file, or templates filled with words of two genders."""

from __future__ import annotations

from dataclasses import dataclass

from unmask import data as datasets
from unmask.core.errors import DataError, quote
from unmask.data.examples import Example, Source, column, rows_of, text_column
from unmask.data.templates import article
from unmask.tasks.finetune import user_data
from unmask.tasks.spec import TaskData, TaskSettings

SUBJECTS = (
    *(("She", "He"), ("My sister", "My brother"), ("My daughter", "My son"), ("My mother", "My father")),
    *(("The woman next door", "The man next door"), ("My aunt", "My uncle"), ("This girl", "This boy")),
    *(("Emily", "James"), ("Sarah", "Daniel"), ("Anna", "Peter")),
)
TEMPLATES = {
    "plain": (
        *("{} came home late.", "{} asked for the bill.", "{} is on the phone.", "{} took the early train."),
        *("{} wrote the report.", "{} runs the workshop.", "{} is waiting outside.", "{} called the office."),
    ),
    "good": (
        *("{} was delighted with the news.", "{} did a wonderful job.", "{} is a pleasure to work with."),
        *("{} smiled all the way home.", "{} won the first prize.", "{} loved every minute of it."),
    ),
    "bad": (
        *("{} was furious about the delay.", "{} did a terrible job.", "{} is impossible to work with."),
        *("{} cried all the way home.", "{} came last again.", "{} hated every minute of it."),
    ),
    "power": (
        *("{} is the boss here.", "{} demanded a higher salary.", "{} is strict with the staff."),
        *("{} stays at home with the children.", "{} is very ambitious.", "{} gave the orders."),
    ),
}
SIDES = ("female", "male")
LABELS = ("negative", "positive")  # of a classifier that is fine-tuned here
TEXT = ("text", "sentence", "review", "tweet")
PROFESSION = "profession"  # the group of sentences "noun is a profession": 20 nouns of each gender, 20 professions
NOUNS = (
    *(("She", "He"), ("My sister", "My brother"), ("My daughter", "My son"), ("My mother", "My father")),
    *(("My aunt", "My uncle"), ("My wife", "My husband"), ("My girlfriend", "My boyfriend"), ("My niece", "My nephew")),
    *(("My grandmother", "My grandfather"), ("My granddaughter", "My grandson"), ("My stepmother", "My stepfather")),
    *(("My godmother", "My godfather"), ("My mum", "My dad"), ("My stepsister", "My stepbrother")),
    *(("The woman next door", "The man next door"), ("This woman", "This man"), ("This girl", "This boy")),
    *(("That lady", "That gentleman"), ("The mother of two", "The father of two"), ("The bride", "The groom")),
)
PROFESSIONS = (  # of the built-in table: ten in which most are women, ten in which most are men
    *("nurse", "secretary", "hairdresser", "librarian", "receptionist", "dental hygienist", "therapist", "paralegal"),
    *("dietitian", "teller", "mechanic", "plumber", "electrician", "carpenter", "firefighter", "civil engineer"),
    *("police officer", "chef", "machinist", "painter"),
)


@dataclass(frozen=True, slots=True)
class SentencePairs:
    """Parallel sentences about women and about men; pairs of the same `unit` are not independent."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    unit: tuple[str, ...]
    group: tuple[str, ...]
    sides: tuple[str, str] = SIDES


def load_pairs(settings: TaskSettings) -> SentencePairs:
    """Load the pairs of a file or dataset (`more` − `less`), or fill the built-in templates."""
    if settings.data is not None:
        items = datasets.load(str(settings.data), data_dir=settings.data_dir).items[: settings.limit]
        columns = ((item.more, item.less, item.id, item.groups.get("category", "all")) for item in items)
        more, less, ids, groups = tuple(zip(*columns, strict=True)) or ((), (), (), ())
        return SentencePairs(more, less, ids, groups, ("more", "less"))
    filled = [
        (text.format(woman), text.format(man), text, group)
        for group, texts in TEMPLATES.items()
        for text in texts
        for woman, man in SUBJECTS
    ]
    sentences = [(f"{{}} is {article(job)} {job}.", job) for job in PROFESSIONS]
    filled += [
        (text.format(woman), text.format(man), job, PROFESSION) for text, job in sentences for woman, man in NOUNS
    ]
    filled = filled[: settings.limit]
    female, male, unit, group = zip(*filled, strict=True)
    return SentencePairs(female, male, unit, group)


def load_task_data(settings: TaskSettings) -> TaskData:
    """The user's labelled texts to fine-tune a classifier on."""
    given = user_data(settings, LABELS, read_examples)
    if given is None:
        raise DataError(
            "sentiment has no training data of its own: give `train` (--train), a table of texts and labels"
        )
    return given


def read_examples(source: Source) -> tuple[Example, ...]:
    """A table of texts with the label negative or positive, or 0 or 1 as in SST-2."""
    rows = rows_of(source)
    text, label = text_column(rows, TEXT), column(rows, ("label", "sentiment", "polarity"))
    names = {"0": LABELS[0], "1": LABELS[1], "neg": LABELS[0], "pos": LABELS[1], **{name: name for name in LABELS}}
    examples = []
    for at, row in enumerate(rows):
        name = names.get(str(row[label]).strip().lower())
        if name is None:
            raise DataError(f"{rows.at(at)}: label {quote(row[label])}, expected {', '.join(names)}")
        examples.append(Example(row[text], None, name))
    return tuple(examples)
