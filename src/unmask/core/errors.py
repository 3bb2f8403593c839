"""The exception tree.

UnmaskError ─┬ DataError     a file is missing, malformed, or its checksum differs
             ├ ModelError    the model cannot be opened or cannot answer (no mask token, no head, wrong kind)
             ├ StatsError    the table cannot bear this statistic (empty, unpaired)
             ├ ResultError   a result folder is missing, incomplete or of another schema
             └ UnknownName   no such measure or dataset; the message lists those there are

Each message says what was found, what was expected and what to do next, in one line.
`Unscorable` stands outside the tree: it marks one item, never ends a run.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UnmaskError(Exception):
    """Anything the user can mend; the command line prints it in one line and exits with 2."""


class DataError(UnmaskError):
    """A data file is missing, malformed, or not the file it should be."""


class ModelError(UnmaskError):
    """The model cannot be opened, or cannot answer this question."""


class StatsError(UnmaskError):
    """The table cannot bear this statistic."""


class ResultError(UnmaskError):
    """A result folder cannot be read."""


class UnknownName(UnmaskError):  # noqa: N818 - says what is wrong in the word itself
    """A name that is not registered; lists near matches, then all."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Say which `kind` of thing `name` should have been, and which names there are."""
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=2)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"no {kind} named {name!r}.{hint} There are: {', '.join(names)}.")


class Unscorable(Exception):  # noqa: N818 - a fact about one item, not an error of the run
    """One item cannot be scored by one measure; `reason` goes into its row."""

    def __init__(self, reason: str) -> None:
        """Keep the reason."""
        super().__init__(reason)
        self.reason = reason
