"""What is measured and what is found."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from unmask.core.errors import UnmaskError, Unscorable
from unmask.core.estimate import Estimate
from unmask.core.types import Check, Encoded, Reading
from unmask.models import Lm


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the card, with its interval and what it was computed on."""

    name: str
    data: str
    value: float
    low: float
    high: float
    n: int
    of: str  # what `n` counts: "tokens in 400 rows of 3,229 documents"
    method: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows or sentences of one corpus, drawn from so many held-out documents."""

    data: str
    rows: tuple[Encoded, ...]
    documents: int


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model answered about one sample; `all` joins the samples."""

    data: str
    readings: tuple[Reading, ...]
    documents: int

    def of(self, kind: str) -> str:
        """What their tokens are of."""
        return f"tokens in {len(self.readings):,} {kind} of {self.documents:,} documents"


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence of ours, and what the model made of it."""

    text: str
    answers: tuple[tuple[str, float], ...]  # with probabilities, the likeliest first


@dataclass(frozen=True, slots=True)
class Job:
    """What is measured, and how much of it."""

    lm: Lm
    corpora: Path
    data_dir: Path
    rows: int  # of each corpus; as many sentences
    limit: int | None  # items of each benchmark; None: all


@dataclass(frozen=True, slots=True)
class Measurements:
    """What was measured so far, what was left out, and how long each part took."""

    figures: list[Figure] = field(default_factory=list)
    estimates: list[Estimate] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time one part; what it lacks becomes a line, and the next part goes on."""
        begin, said = time.monotonic(), "done"
        try:
            yield
        except (UnmaskError, Unscorable) as error:
            said = f"left out: {error}"
            self.left_out.append(f"{name}: {error}")
        self.seconds[name] = round(time.monotonic() - begin, 1)
        print(f"{self.seconds[name]:6.1f} s  {name}: {said}", file=sys.stderr, flush=True)
