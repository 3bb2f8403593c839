"""The exception tree.

UnmaskError ─┬ DataError     a file is missing, malformed, or its checksum differs
             ├ ModelError    the model cannot be loaded or used (no mask token, no LM head, wrong kind)
             ├ StatsError    the statistic cannot be computed (no rows, unpaired rows)
             ├ ResultError   a result folder is missing, incomplete or of another schema
             └ UnknownName   no such measure, dataset, …; the message lists the known names

Each message says what was found, what was expected and what to do next, in one line.
`Unscorable` is not in the tree: it concerns one item and never ends a run.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UnmaskError(Exception):
    """An error the user can fix; the command line prints it in one line and exits with code 2."""


class DataError(UnmaskError):
    """A data file is missing, malformed, or its checksum differs."""


class ModelError(UnmaskError):
    """The model cannot be loaded, or cannot be used for this measure or task."""


class StatsError(UnmaskError):
    """The statistic cannot be computed on these rows."""


class ResultError(UnmaskError):
    """A result folder cannot be read."""


class UnknownName(UnmaskError):  # noqa: N818 - the name already says what is wrong
    """A name that is not registered; the message lists close matches, then all names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """`kind` says what `name` should be, such as "measure"; `known` are the registered names."""
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=2)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"no {kind} named {name!r}.{hint} There are: {', '.join(names)}.")


class Unscorable(Exception):  # noqa: N818 - concerns one item, not the run
    """One item cannot be scored by one measure; its row records `reason`."""

    def __init__(self, reason: str) -> None:
        """Create it with the reason."""
        super().__init__(reason)
        self.reason = reason
