"""Association tests on vectors: static word vectors from files, text and word vectors from a model."""

from unmask.vectors.association import Association, association_test, cseat, seat, weat
from unmask.vectors.ceat import CeatResult, ceat
from unmask.vectors.contexts import ContextVectors, corpus_vectors
from unmask.vectors.contextual import text_vectors, word_vectors
from unmask.vectors.directions import (
    GENDER,
    NeighbourBias,
    RipaResult,
    WordMean,
    direct_bias,
    direction,
    direction_cosines,
    knn_bias,
    ripa,
)
from unmask.vectors.questions import Group, Question, read_questions, weat_questions
from unmask.vectors.static import WordVectors, read_vectors

__all__ = [
    "GENDER",
    "Association",
    "CeatResult",
    "ContextVectors",
    "Group",
    "NeighbourBias",
    "Question",
    "RipaResult",
    "WordMean",
    "WordVectors",
    "association_test",
    "ceat",
    "corpus_vectors",
    "cseat",
    "direct_bias",
    "direction",
    "direction_cosines",
    "knn_bias",
    "read_questions",
    "read_vectors",
    "ripa",
    "seat",
    "text_vectors",
    "weat",
    "weat_questions",
    "word_vectors",
]
