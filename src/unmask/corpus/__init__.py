"""Corpora: read documents, count the words of two groups in them, and measure their effect on a model."""

from unmask.corpus.documents import Document, Problems, TextLayout, read_documents
from unmask.corpus.sentences import split_sentences

__all__ = ["Document", "Problems", "TextLayout", "read_documents", "split_sentences"]
