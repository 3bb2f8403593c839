"""Association tests on vectors: of words from files, of texts and words in context from a model."""

from unmask.vectors.association import Association, associated, cseat, seat, weat
from unmask.vectors.ceat import Combined, ceat
from unmask.vectors.contexts import Contexts, in_corpus
from unmask.vectors.contextual import text_vectors, word_vectors
from unmask.vectors.directions import (
    GENDER,
    Company,
    OverWords,
    Ripa,
    direct_bias,
    direction,
    knn_bias,
    leans,
    ripa,
)
from unmask.vectors.questions import Group, Question, read_questions, weats
from unmask.vectors.static import Vectors, read_vectors

__all__ = [
    "GENDER",
    "Association",
    "Combined",
    "Company",
    "Contexts",
    "Group",
    "OverWords",
    "Question",
    "Ripa",
    "Vectors",
    "associated",
    "ceat",
    "cseat",
    "direct_bias",
    "direction",
    "in_corpus",
    "knn_bias",
    "leans",
    "read_questions",
    "read_vectors",
    "ripa",
    "seat",
    "text_vectors",
    "weat",
    "weats",
    "word_vectors",
]
