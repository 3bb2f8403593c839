"""The papers, one study each."""
