"""Corpora: documents from files, how often words of two groups stand in them, and what they do to a model."""

from unmask.corpus.documents import Document, Problems, TextLayout, read_documents
from unmask.corpus.sentences import split_sentences

__all__ = ["Document", "Problems", "TextLayout", "read_documents", "split_sentences"]
