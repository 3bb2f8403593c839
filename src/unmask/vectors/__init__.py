"""Association tests on vectors: static word vectors from files, text and word vectors from a model."""

from __future__ import annotations

from unmask.core.callable_package import make_callable

make_callable(__name__, "unmask.vectors.run", "vectors")
