"""Association tests on vectors: static word vectors from files, text and word vectors from a model."""

from __future__ import annotations

from unmask.core.lazy_imports import make_callable
from unmask.core.registry import Registry
from unmask.vectors.spec import VectorMeasure

VECTOR_MEASURES = Registry("vector measure", VectorMeasure, home="unmask.vectors.spec", group="unmask.vector_measures")
make_callable(__name__, "unmask.vectors.run", "vectors")
