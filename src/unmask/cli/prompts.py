"""`unmask prompts`: which words a model fills into prompts, classified by rules where they are clear."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from unmask.cli import options
from unmask.cli.console import new_folder
from unmask.core.options import Opening, Options, Serving
from unmask.core.progress import progress_bar
from unmask.findings import terminal
from unmask.prompts.spec import PromptSettings

if TYPE_CHECKING:
    from unmask.findings.envelope import Result


@options.with_groups
def prompts(  # noqa: PLR0913 - the parts of the command
    model: options.Model = None,
    out: options.Out = None,
    *,
    settings: PromptSettings,
    opening: Opening,
    serving: Serving,
    run: Annotated[Options, options.Without("tokens", "store", "data_dir", "mapping")],
    output: options.Output,
) -> None:
    """Human-level diagnosis: the likeliest words for every prompt, classified by rules and annotators.

    Undecided answers are written to undecided.csv; annotate them with `unmask annotate RUN`.
    """
    from unmask.models.builtin import BUILT_IN
    from unmask.prompts.run import prompts as run_prompts

    folder = out or new_folder(f"prompts-{Path(model or BUILT_IN).name}")
    with progress_bar(quiet=output.quiet) as progress:
        run = replace(run, progress=progress)
        result = run_prompts(model, out=folder, settings=settings, opening=opening, serving=serving, options=run)
    finish(result, output)


def finish(result: Result, output: options.Output) -> None:
    """Print the scores, write the page, and say how many prompts wait for annotators."""
    output.finish(result, lambda whole: terminal.show(whole.findings[0].finding))
    left = result.meta["details"]["undecided"]
    if left:
        folder = result.folder
        output.say(f"{left} undecided prompts in {folder}/undecided.csv; annotate them: unmask annotate {folder}")
