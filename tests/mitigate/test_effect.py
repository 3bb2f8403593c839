"""On the built-in model: training makes professions lean less, and reminders bring `pregnant` back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unmask.corpus.reading import Layout, documents
from unmask.corpus.sentences import sentences
from unmask.measures import find as measure
from unmask.mitigate import Choices, Corpus, find
from unmask.mitigate.at.sentences import target_words
from unmask.mitigate.looking import templates
from unmask.mitigate.running import mitigate
from unmask.mitigate.swap import Swapper, ours
from unmask.models import Engine, open_lm
from unmask.training import TrainSettings

pytestmark = pytest.mark.slow
ENOUGH = 450  # sentences with her pronouns, and with his; twice as many that name a profession
SHE, HE = {"she", "her", "hers", "herself"}, {"he", "him", "his", "himself"}


@pytest.fixture(scope="module")
def corpus(published: Path) -> Corpus:
    """Short sentences of an encyclopedia; `she` as often as `he`, lest the text alone teach a lean."""
    path = published.parent / "corpora" / "simplewiki.txt.xz"
    targets = set(target_words())
    found: dict[str, list[tuple[str, ...]]] = {"she": [], "he": [], "neither": []}
    for document in documents([path], Layout(unit="block")):
        for one in sentences(document.text):
            words = set(one.lower().replace(",", " ").rstrip(".").split())
            if not 6 <= len(one.split()) <= 14 or (words & SHE and words & HE):
                continue
            kind = "she" if words & SHE else "he" if words & HE else "neither"
            most = ENOUGH if kind != "neither" else 2 * ENOUGH
            if len(found[kind]) < most and (kind != "neither" or words & targets):
                found[kind].append((one,))
        if sum(map(len, found.values())) == 4 * ENOUGH:
            break
    return Corpus((*found["she"], *found["he"], *found["neither"]), ())


@pytest.fixture(scope="module")
def ordinary(published: Path) -> Corpus:
    """Sentences as they come: those of women or men, and as many that name a profession."""
    path = published.parent / "corpora" / "simplewiki.txt.xz"
    swap, targets = Swapper(ours()), set(target_words())
    gendered: list[tuple[str, ...]] = []
    neutral: list[tuple[str, ...]] = []
    for document in documents([path], Layout(unit="block")):
        for one in sentences(document.text):
            words = one.lower().rstrip(".").split()
            if 6 <= len(words) <= 14:
                kind = gendered if swap.touches(one) else neutral if targets & set(words) else None
                if kind is not None and len(kind) < 2 * ENOUGH:
                    kind.append((one,))
        if len(gendered) == len(neutral) == 2 * ENOUGH:
            break
    return Corpus((*gendered, *neutral), ())


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


def taught(method: str, corpus: Corpus, out: Path, rate: float, remind: int = 0) -> dict[str, float]:
    settings = TrainSettings(epochs=1, rate=rate, batch=32, seed=0)
    mitigate(find(method), Engine(open_lm()), corpus, out, settings=settings, choices=Choices(remind=remind))
    return leans(Engine(open_lm(out)))


@pytest.mark.parametrize(("method", "rate"), [("cda", 1e-4), ("cds", 3e-4), ("at", 5e-4), ("dropout", 5e-4)])
def test_professions_lean_less(
    corpus: Corpus, before: dict[str, float], tmp_path: Path, method: str, rate: float
) -> None:
    after = taught(method, corpus, tmp_path / "out", rate)
    assert after["zero"] < before["zero"]


def test_reminders_bring_pregnant_back(ordinary: Corpus, before: dict[str, float], tmp_path: Path) -> None:
    plain = taught("cda", ordinary, tmp_path / "plain", 1e-4)
    reminded = taught("cda", ordinary, tmp_path / "reminded", 1e-4, remind=2)
    assert reminded["women"] < plain["women"]
    assert reminded["women"] < 0
    assert reminded["zero"] < before["zero"]
