"""Paraphrases of a dataset, proposed for review: `generate` yields them, `generate_file` writes a file.

pairs ──► target words ──► words from WordNet and the model ──► plausible in both sentences, close in meaning
      ──► a file with a blank column `keep` for a reviewer, which `unmask diagnose paraphrase` reads
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from unmask.audit.scoring import ScoredItem
from unmask.audit.session import Data, Session, engine_for, load_datasets
from unmask.core.errors import ModelError
from unmask.core.files import escape, partial_file
from unmask.core.options import Opening, Options, fill_groups
from unmask.core.types import Dataset, Pair
from unmask.data.language import require_english
from unmask.data.pairs import ITSELF
from unmask.diagnose.paraphrase.candidates import (
    MODEL,
    SOURCES,
    Candidate,
    fillers,
    plausibility,
    propose_candidates,
    similarity,
    targets,
)
from unmask.diagnose.paraphrase.lexicon import ADVICE, WordNet, find_wordnet
from unmask.measures import find
from unmask.models import Lm, TextModel, open_lm
from unmask.models.fast import HeapTrimmer
from unmask.models.fill import SLOT

CHUNK = 32  # pairs processed together
TOP = 60  # model predictions considered per slot
ScoredCandidate = tuple[Candidate, float, float]  # with its plausibility and its similarity
NO_WORDNET = f"WordNet not found: candidates come from the model alone; {ADVICE}"


@dataclass(frozen=True, slots=True)
class GenerationRules:
    """How many paraphrases to propose, and how well they must fit."""

    wanted: int = 5  # most paraphrases per original
    targets: int = 3  # words per original to replace
    slack: float = 4.0  # nats by which a word may be less likely than the original
    similarity: float = 0.6  # least cosine of the words' hidden states in context
    model_similarity: float = 0.75  # the same for words from the model, which are not in WordNet


@dataclass(frozen=True, slots=True)
class Proposal:
    """A row of the file: an original (paraphrase 0) or a paraphrase for a reviewer to accept or reject."""

    more: str
    less: str
    category: str
    direction: str
    original: str
    paraphrase: str
    phrase: str = ""
    replacement: str = ""
    source: str = ""
    plausibility: str = ""
    similarity: str = ""
    keep: str = ""


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """Counts and notes of a generated file."""

    originals: int
    paraphrases: int
    n_without: int  # originals without a paraphrase
    notes: tuple[str, ...]

    def describe(self, path: Path) -> str:
        """Notes, how many paraphrases were written to the file, and what to do with it."""
        return (
            "".join(f"note: {note}\n" for note in self.notes)
            + f"{self.paraphrases:,} paraphrases of {self.originals:,} pairs in {path}; "
            f"{self.n_without:,} have none\n"
            f"mark those to keep in its column `keep`, then: unmask diagnose paraphrase MODEL --data {path}"
        )


def generate_file(
    path: Path,
    model: str | Path | None = None,
    data: Data | None = None,
    *,
    wordnet: Path | None = None,
    rules: GenerationRules | None = None,
    **options: Any,
) -> GenerationResult:
    """Write paraphrases of a dataset, proposed by a masked model and WordNet, to a CSV file for review.

    Args:
        path: the file.
        model: hub name or folder of a masked model; None: the built-in model.
        data: the name of a dataset, a file of pairs, or a loaded `Dataset`; None: `nine-axes`.
        wordnet: the folder of WordNet; default: the usual places.
        rules: how many paraphrases to propose, and how well they must fit.
        options: fields of `Opening` and `Options`, or these groups as `opening` and `options`.
    """
    opening, run = fill_groups(options, opening=Opening, options=Options)
    found = find_wordnet(wordnet)
    (pairs,) = load_datasets(data or "nine-axes", run)
    require_english(pairs, "the generation of paraphrases")
    with engine_for(open_lm(model, opening), run) as engine:
        return write_proposals(path, Session(engine, run.progress), pairs, wordnet=found, rules=rules)


def write_proposals(
    path: Path, session: Session, data: Dataset, *, wordnet: WordNet | None, rules: GenerationRules | None = None
) -> GenerationResult:
    """Write the proposals pair by pair to a temporary file, renamed to `path` when complete."""
    counts: list[int] = []
    with partial_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        names = [field.name for field in fields(Proposal)]
        writer.writerow(names)
        for family in generate(session, data, rules=rules, wordnet=wordnet):
            writer.writerows([escape(getattr(proposal, name)) for name in names] for proposal in family)
            counts.append(len(family) - 1)
    notes = () if wordnet else (NO_WORDNET,)
    return GenerationResult(len(counts), sum(counts), counts.count(0), notes)


def generate(
    session: Session, data: Dataset, *, wordnet: WordNet | None, rules: GenerationRules | None = None
) -> Iterator[list[Proposal]]:
    """For every pair, the original and its paraphrases, best first; without WordNet from the model alone."""
    rules = rules or GenerationRules()
    if session.lm.kind != "masked":
        raise ModelError(f"{session.lm.facts.id} is causal: proposing words inside a sentence needs a masked model")
    measure = find("cps-exact")
    scored = session.scores(data, (measure,))[measure.name]
    heap = HeapTrimmer()
    for begin in range(0, len(scored), CHUNK):
        chunk = scored[begin : begin + CHUNK]
        candidates = _fitting(session, _candidates(session.lm, chunk, rules, wordnet), rules)
        for item in chunk:
            own = [scored for scored in candidates if scored[0].pair.id == item.item.id]
            yield _family(item.item, own, rules)
        heap.trim()


def _candidates(
    lm: TextModel, chunk: Sequence[ScoredItem], rules: GenerationRules, wordnet: WordNet | None
) -> list[Candidate]:
    """Candidates for the targets of a chunk of pairs; the model is queried once."""
    scored = [item for item in chunk if item.sentences]
    tried = [(item.item, target) for item in scored for target in targets(item, lm)[: rules.targets]]
    slots = [Candidate(pair, target, SLOT, MODEL) for pair, target in tried]
    texts = [slot.with_replacement(side)[0] for slot in slots for side in ("more", "less")]
    words = fillers(lm, texts, TOP)
    return [
        candidate
        for number, (pair, target) in enumerate(tried)
        for candidate in propose_candidates(pair, target, words[2 * number : 2 * number + 2], wordnet)
    ]


def _fitting(session: Session, candidates: Sequence[Candidate], rules: GenerationRules) -> list[ScoredCandidate]:
    """Candidates that are plausible and similar enough, with both scores."""
    plausible = zip(candidates, plausibility(session, candidates, "words that fit"), strict=True)
    likely = [(each, value) for each, value in plausible if value >= -rules.slack and math.isfinite(value)]
    assert isinstance(session.lm, Lm)  # no endpoint serves a masked model
    cosines = similarity(session.lm, [candidate for candidate, _ in likely])
    return [
        (candidate, value, cosine)
        for (candidate, value), cosine in zip(likely, cosines, strict=True)
        if cosine >= (rules.model_similarity if candidate.source == MODEL else rules.similarity)
    ]


def _family(pair: Pair, close: Sequence[ScoredCandidate], rules: GenerationRules) -> list[Proposal]:
    """The original and its paraphrases, the closest in meaning first."""
    category, direction = pair.groups.get("category", ""), pair.groups.get("direction", "")
    family = [Proposal(pair.more, pair.less, category, direction, pair.id, ITSELF)]
    best = sorted(close, key=lambda scored: (SOURCES.index(scored[0].source), -scored[2]))[: rules.wanted]
    for number, (candidate, value, cosine) in enumerate(best, start=1):
        texts = candidate.with_replacement("more")[0], candidate.with_replacement("less")[0]
        words = candidate.target.word, candidate.word, candidate.source
        scores = f"{value:.3f}", f"{cosine:.4f}"
        family.append(Proposal(*texts, category, direction, pair.id, str(number), *words, *scores))
    return family
