"""What answers probes: the engine of a model that is loaded here, or an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from unmask.core.progress import Step
from unmask.core.types import Probe
from unmask.models.batches import BatchLimits, Readings
from unmask.models.lm import TextModel, refuse_bad_outputs


class Answerer(Protocol):
    """Answers probes with readings of one model."""

    lm: TextModel
    limits: BatchLimits  # how much is planned and scored together
    rows_run: int  # rows run through the model so far

    def submit(self, probes: Iterable[Probe], progress: Step | None = None) -> Callable[[], Readings]:
        """Start answering all probes; call the returned function for the readings.

        The last batches may still be running on return, so the caller can prepare the next probes meanwhile.
        """

    def read(self, probes: Iterable[Probe], progress: Step | None = None) -> Readings:
        """Answer all probes; ModelError if an answer is not finite, while `submit` returns such readings too."""
        readings = self.submit(probes, progress)()
        bad = int((~readings.is_finite).sum())
        refuse_bad_outputs(bad, len(readings), "readings", self.lm.facts)
        return readings
