"""On the built-in model: training reduces the lean of professions, reminders restore that of `pregnant`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unmask.corpus.documents import TextLayout, read_documents
from unmask.corpus.sentences import split_sentences
from unmask.measures import find as measure
from unmask.mitigate import MitigationOptions, TrainingCorpus, find
from unmask.mitigate.at.sentences import target_words
from unmask.mitigate.evaluation import templates
from unmask.mitigate.run import mitigate
from unmask.mitigate.swap import Swapper, default_lexicon
from unmask.models import Engine, open_lm
from unmask.training import TrainSettings

pytestmark = pytest.mark.slow
ENOUGH = 450  # sentences with her pronouns, and with his; twice as many that name a profession
SHE, HE = {"she", "her", "hers", "herself"}, {"he", "him", "his", "himself"}
SWAP, TARGETS = Swapper(default_lexicon()), set(target_words())


Kind = Callable[[str, set[str]], str]  # of a sentence and its words; empty: not wanted


def balanced(text: str, words: set[str]) -> str:
    """Kind of a sentence: women, men, or neither with a profession."""
    if words & SHE and words & HE:
        return ""
    return "she" if words & SHE else "he" if words & HE else "neither" if words & TARGETS else ""


def unbalanced(text: str, words: set[str]) -> str:
    """Kind of a sentence: gendered, or neither with a profession."""
    return "gendered" if SWAP.changes(text) else "neither" if words & TARGETS else ""


def short_sentences(path: Path, kind: Kind, enough: dict[str, int]) -> TrainingCorpus:
    """The first short sentences of every kind, up to the given counts."""
    found: dict[str, list[tuple[str, ...]]] = {name: [] for name in enough}
    for document in read_documents([path], TextLayout(unit="block")):
        for one in split_sentences(document.text):
            if 6 <= len(one.split()) <= 14:
                name = kind(one, set(one.lower().replace(",", " ").rstrip(".").split()))
                if name and len(found[name]) < enough[name]:
                    found[name].append((one,))
        if all(len(found[name]) == most for name, most in enough.items()):
            return TrainingCorpus(tuple(one for some in found.values() for one in some), ())
    raise AssertionError(f"{path.name} has too few sentences")


@pytest.fixture(scope="module")
def corpora(published: Path) -> dict[str, TrainingCorpus]:
    """Short sentences of an encyclopedia: with `she` as often as `he`, and unbalanced."""
    path = published / "corpora" / "simplewiki.txt.xz"
    return {
        "balanced": short_sentences(path, balanced, {"she": ENOUGH, "he": ENOUGH, "neither": 2 * ENOUGH}),
        "ordinary": short_sentences(path, unbalanced, {"gendered": 2 * ENOUGH, "neither": 2 * ENOUGH}),
    }


def leans(engine: Engine) -> dict[str, float]:
    """Mean |PPD| of a profession over some templates, and the mean PPD of the words said of women."""
    zero, women, _ = templates()
    found: dict[str, list[float]] = {}
    for name, items in (
        ("zero", zero.items[::6]),
        ("women", [one for one in women.items if one.groups["category"] == "gender-word"]),
    ):
        ppd = measure("ppd")
        probes = {item.id: ppd.probes(item, engine.lm) for item in items}
        read = engine.read(probe for sides in probes.values() for some in sides.values() for probe in some)
        for item in items:
            more, less = (ppd.score(some, [read[one] for one in some]).value
                          for some in (probes[item.id]["more"], probes[item.id]["less"]))  # fmt: skip
            found.setdefault(item.groups["word"] if name == "zero" else "women", []).append(more - less)
    women_mean = float(np.mean(found.pop("women")))
    return {"zero": float(np.mean([abs(np.mean(some)) for some in found.values()])), "women": women_mean}


@pytest.fixture(scope="module")
def before() -> dict[str, float]:
    return leans(Engine(open_lm()))


def mitigated_leans(
    method: str, corpus: TrainingCorpus, out: Path, rate: float, remind: int = 0
) -> dict[str, float]:
    settings = TrainSettings(epochs=1, rate=rate, batch=32, seed=0)
    mitigate(
        find(method),
        Engine(open_lm()),
        corpus,
        out,
        settings=settings,
        options=MitigationOptions(remind=remind),
    )
    return leans(Engine(open_lm(out)))


@pytest.mark.parametrize(("method", "rate"), [("cda", 1e-4), ("cds", 3e-4), ("at", 5e-4), ("dropout", 5e-4)])
def test_mitigation_reduces_the_lean_of_professions(
    corpora: dict[str, TrainingCorpus], before: dict[str, float], tmp_path: Path, method: str, rate: float
) -> None:
    after = mitigated_leans(method, corpora["balanced"], tmp_path / "out", rate)
    assert after["zero"] < before["zero"]


def test_reminders_restore_the_lean_of_pregnant(
    corpora: dict[str, TrainingCorpus], before: dict[str, float], tmp_path: Path
) -> None:
    plain = mitigated_leans("cda", corpora["ordinary"], tmp_path / "plain", 1e-4)
    reminded = mitigated_leans("cda", corpora["ordinary"], tmp_path / "reminded", 1e-4, remind=2)
    assert reminded["women"] < plain["women"]
    assert reminded["women"] < 0
    assert reminded["zero"] < before["zero"]
