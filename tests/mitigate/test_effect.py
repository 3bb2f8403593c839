"""On the built-in model: training makes professions lean less, and reminders keep `pregnant` feminine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from unmask.core.options import TextLayout
from unmask.core.types import Pair
from unmask.data.documents import read_documents
from unmask.data.language import split_sentences
from unmask.data.texts import TrainingCorpus
from unmask.measures import find as measure
from unmask.mitigate import find
from unmask.mitigate.checkpoint import make_checkpoint
from unmask.mitigate.evaluation import templates
from unmask.mitigate.methods.at.sentences import target_words
from unmask.models import Engine, open_lm

pytestmark = pytest.mark.slow
ENOUGH = 450  # sentences with her pronouns, and with his; twice as many that name a profession
SHE, HE = {"she", "her", "hers", "herself"}, {"he", "him", "his", "himself"}
WRITTEN = 150  # as many sentences of ours
TIMES = ("last week", "in the spring", "one evening", "after the war", "on Monday", "for years", "at noon")
PLACES = (
    "in the old town", "by the river", "at the station", "near the coast", "in a small village",
    "at the market", "on the hill", "in the north", "at school", "behind the church", "in the garden",
)  # fmt: skip
GENDERED = (
    "{They} lived {when} and wrote two books.",
    "People saw {them} {when} with a friend.",
    "{They} worked as a {job} {when}.",
    "The {job} forgot {their} coat {when}.",
    "{They} taught {themself} to play the piano {when}.",
    "The {job} said that {they} would wait {when}.",
    "There {their} team won a prize {when}.",
    "The {job} met {their} neighbours {when}.",
)
OF_WOMEN = (  # said of men, too, once words are exchanged
    "{They} was pregnant {when}.",
    "The {job} said that {they} was pregnant {when}.",
    "{They} was breastfeeding the baby {when}.",
    "The nurse spoke of {their} uterus {when}.",
    "They examined {their} ovaries {when}.",
    "The {job} talked about {their} menopause {when}.",
)
NEUTRAL = (
    "The {job} opened a small office {when}.",
    "A {job} talked to the mayor {when}.",
    "Nobody knew the new {job} {when}.",
    "The letter of the {job} was found {when}.",
    "Every {job} was asked to help {when}.",
)
TARGETS = set(target_words())


def kind(text: str) -> str:
    """The kind of a sentence: of women, of men, or of neither and naming a profession; else none."""
    words = set(text.lower().replace(",", " ").rstrip(".").split())
    if words & SHE and words & HE:
        return ""
    return "she" if words & SHE else "he" if words & HE else "neither" if words & TARGETS else ""


def short_sentences(path: Path, enough: dict[str, int]) -> TrainingCorpus:
    """The first short sentences of every kind, as many as are enough."""
    found: dict[str, list[tuple[str, ...]]] = {name: [] for name in enough}
    for document in read_documents([path], TextLayout(unit="block")):
        for one in split_sentences(document.text):
            if 6 <= len(one.split()) <= 14:
                name = kind(one)
                if name and len(found[name]) < enough[name]:
                    found[name].append((one,))
        if all(len(found[name]) == most for name, most in enough.items()):
            return TrainingCorpus(tuple(one for some in found.values() for one in some), ())
    raise AssertionError(f"{path.name} has too few sentences")


def written_corpus(*, of_women: bool) -> TrainingCorpus:
    """The same of sentences put together here, or also with words said of women alone."""
    jobs = sorted(TARGETS)
    when = [f"{time} {place}" for time in TIMES for place in PLACES]

    def fill(templates: Sequence[str], number: int, words: dict[str, str]) -> list[tuple[str, ...]]:
        return [
            (templates[n % len(templates)].format(job=jobs[7 * n % len(jobs)], when=when[n % len(when)], **words),)
            for n in range(number)
        ]

    she = {"they": "she", "their": "her", "them": "her", "themself": "herself", "They": "She"}
    he = {"they": "he", "their": "his", "them": "him", "themself": "himself", "They": "He"}
    both = (*fill(GENDERED, WRITTEN, she), *fill(GENDERED, WRITTEN, he))
    neutral = fill(NEUTRAL, 2 * WRITTEN, {})
    return TrainingCorpus((*both, *neutral, *(fill(OF_WOMEN, WRITTEN, she) if of_women else ())), ())


@pytest.fixture(scope="module", params=["written", pytest.param("encyclopedia", marks=pytest.mark.needs_data)])
def corpus(request: pytest.FixtureRequest) -> TrainingCorpus:
    """Short sentences; `she` as often as `he`, lest the text alone teach a lean."""
    if request.param == "written":
        return written_corpus(of_women=False)
    published: Path = request.getfixturevalue("published")
    return short_sentences(
        published / "corpora" / "simplewiki.txt.xz", {"she": ENOUGH, "he": ENOUGH, "neither": 2 * ENOUGH}
    )


def ppd_of(engine: Engine, items: Sequence[Pair]) -> dict[str, float]:
    """Mean PPD of every word."""
    ppd, found = measure("ppd"), dict[str, list[float]]()
    probes = {item.id: ppd.probes(item, engine.lm) for item in items}
    read = engine.read(probe for sides in probes.values() for some in sides.values() for probe in some)
    for item in items:
        more, less = (ppd.score(some, [read[one] for one in some]).value
                      for some in (probes[item.id]["more"], probes[item.id]["less"]))  # fmt: skip
        found.setdefault(item.groups["word"], []).append(more - less)
    return {word: float(np.mean(some)) for word, some in found.items()}


def leans(engine: Engine) -> dict[str, float]:
    """Mean |PPD| of a profession over some templates, and how far words of men and of women lie apart.

    The mean of one kind alone would not do: training on `she` as often as `he` moves all words alike.
    """
    zero, women, men = (ppd_of(engine, items) for items in (
        [one for number, one in enumerate(templates()[0].items) if number % 6 == 0],
        templates()[1].items, templates()[2].items,
    ))  # fmt: skip
    return {
        "zero": float(np.mean([abs(one) for one in zero.values()])),
        "apart": float(np.mean([*men.values()]) - np.mean([*women.values()])),
    }


@pytest.fixture(scope="module")
def before() -> dict[str, float]:
    return leans(Engine(open_lm()))


def leans_after(method: str, corpus: TrainingCorpus, out: Path, rate: float, remind: int = 0) -> dict[str, float]:
    options = {"epochs": 1.0, "lr": rate, "batch": 32, "seed": 0, "remind": remind}
    make_checkpoint(find(method), Engine(open_lm()), corpus, out, find(method).options(**options))  # type: ignore[arg-type]
    return leans(Engine(open_lm(out)))


@pytest.mark.parametrize(("method", "rate"), [("cda", 1e-4), ("cds", 3e-4), ("at", 5e-4), ("dropout", 5e-4)])
def test_professions_lean_less(
    corpus: TrainingCorpus, before: dict[str, float], tmp_path: Path, method: str, rate: float
) -> None:
    after = leans_after(method, corpus, tmp_path / "out", rate)
    assert after["zero"] < before["zero"]


def test_reminders_keep_words_of_men_and_of_women_apart(before: dict[str, float], tmp_path: Path) -> None:
    """Where the text says `pregnant` of women, and what is added says it of men."""
    corpus = written_corpus(of_women=True)
    plain = leans_after("cda", corpus, tmp_path / "plain", 5e-4)
    reminded = leans_after("cda", corpus, tmp_path / "reminded", 5e-4, remind=2)
    assert plain["apart"] < before["apart"]
    assert reminded["apart"] > plain["apart"] + 0.05
    assert reminded["zero"] < before["zero"]
