"""Corpora: documents from files, how often words of two groups stand in them, and what they do to a model."""

from unmask.corpus.documents import Document, Layout, Problems, documents
from unmask.corpus.sentences import sentences

__all__ = ["Document", "Layout", "Problems", "documents", "sentences"]
