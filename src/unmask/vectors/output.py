"""Write static word vectors in the formats that `vectors.static` reads, in single precision."""

from __future__ import annotations

from pathlib import Path

from unmask.core.files import writing
from unmask.vectors.static import Format, WordVectors


def written_name(form: Format) -> str:
    """The name of the file that vectors of this format are written to."""
    return "vectors.bin" if form == "word2vec-binary" else "vectors.txt"


def write_vectors(vectors: WordVectors, path: Path, form: Format) -> None:
    """Write the vectors; those of fastText's own binary files become text, with every digit of single precision."""
    rows = vectors.matrix.astype("<f4")
    header = f"{len(rows)} {rows.shape[1]}\n"
    if form == "word2vec-binary":
        with writing(path), path.open("wb") as stream:
            stream.write(header.encode())
            for word, row in zip(vectors.words, rows, strict=True):
                stream.write(word.encode() + b" " + row.tobytes() + b"\n")
        return
    numbers = " ".join(["%.9g"] * rows.shape[1])
    with writing(path), path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("" if form == "glove-text" else header)
        for word, row in zip(vectors.words, rows, strict=True):
            stream.write(f"{word} {numbers % tuple(row.tolist())}\n")
