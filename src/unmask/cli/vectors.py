"""`unmask vectors`: association tests on the word vectors of a file or the embeddings of a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names
from unmask.core.options import Opening, Options
from unmask.core.progress import progress_bar
from unmask.vectors.spec import VectorSettings


@options.with_groups
def vectors(  # noqa: PLR0913 - the parts of the command
    source: Annotated[
        str | None,
        typer.Argument(
            help="File of vectors (word2vec, GloVe, fastText) or a model; default: built-in.", show_default=False
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure (see `unmask list vectors`); can be repeated.",
            show_default="weat for a file, seat for a model",
        ),
    ] = None,
    questions: Annotated[
        list[str] | None,
        typer.Option(help="weat-6, seat-6, weat-6-sentences, religion-islam, … or a file; can be repeated."),
    ] = None,
    out: options.Out = None,
    *,
    settings: VectorSettings,
    opening: Annotated[Opening, options.Without("tf32")],
    run: Annotated[Options, options.Without("limit", "tokens", "store", "mapping")],
    output: options.Output,
) -> None:
    """Test whether word vectors are associated more with one set of words than with another.

    WEAT and its variants, RNSB, direct bias, RIPA, relative norm distance and neighbours, with intervals.
    """
    from unmask.vectors import VECTOR_MEASURES

    VECTOR_MEASURES.find_all(split_names(measure))  # an unknown name is an error before torch is imported
    from unmask.vectors.run import vectors as run_vectors

    with progress_bar(quiet=output.quiet) as progress:
        result = run_vectors(
            source,
            measures=split_names(measure),
            questions=split_names(questions),
            out=out or new_folder(f"vectors-{Path(source or 'builtin').name}"),
            settings=settings,
            opening=opening,
            options=replace(run, progress=progress),
        )
    output.finish(result)
