"""Write docs/cli.md from the commands' own help; a test fails when it is stale.

python tools/cli_docs.py
"""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
HEAD = """# The command line

Written by `python tools/cli_docs.py` from the commands' own help. Results go to stdout, progress to stderr.
Exit codes: 0 done; 1 a gate failed (or, with `--strict`, a check, or a step of a study); 3 a gate cannot tell; 2 bad
input, or a place that cannot be read or written; 70 a defect of unmask; 130 Ctrl+C, 143 SIGTERM, 129 SIGHUP; 141 the
reader of the output closed it. Every error is one line on stderr; `UNMASK_DEBUG=1` prints the traceback of an
unexpected one before it.

Ctrl+C, SIGTERM and SIGHUP end a command after the batch in flight, in one line that says what is kept and how to
resume; a second signal ends it at once. Control characters of data and names are printed as `\\x1b`.

`--data` and `--measure` take several values: repeat the option, separate them by commas or by spaces. Every command
has `--json`. In a terminal tables fit its width; in a pipe or a file they have one line a row, however long, and no
boxes, and progress is a plain line every 30 seconds.

`unmask --install-completion` adds completion of commands, options, measures and datasets to bash, zsh, fish or
PowerShell, from the next shell on; `unmask --show-completion` prints the script for shells that are set up otherwise.
"""


def page() -> str:
    """The whole page."""
    import typer

    from unmask.cli import make_app

    group = typer.main.get_command(make_app())
    parts = [HEAD, _section([])]
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        if not command.hidden:
            inner = [[each] for each in command.list_commands(None)] if hasattr(command, "list_commands") else []
            parts += [_section([name, *tail]) for tail in inner or [[]]]
    return "\n".join(parts)


def _section(words: list[str]) -> str:
    from typer.testing import CliRunner

    from unmask.cli import make_app

    plain = {"COLUMNS": "100", "TERM": "dumb"}
    said = CliRunner().invoke(make_app(), [*words, "--help"], prog_name="unmask", env=plain)
    body = "\n".join(line.rstrip() for line in said.output.strip().splitlines())
    return f"## {' '.join(['unmask', *words])}\n\n```\n{body}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
