"""The exception tree.

UnmaskError ─┬ DataError     a file is missing, malformed, or its checksum differs
             ├ ModelError    the model cannot be loaded or used (no mask token, no LM head, wrong kind)
             ├ StatsError    the statistic cannot be computed (no rows, unpaired rows)
             ├ ResultError   a result folder is missing, incomplete or of another schema
             ├ OutputError   a file or folder cannot be written, or another process is writing it
             └ UnknownName   no such measure, dataset, …; the message lists the known names

Each message says what was found, what was expected and what to do next, in one line without control characters.
`Unscorable` is not in the tree: it concerns one item and never ends a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_FOUND, MAX_MESSAGE = 200, 1500  # characters of a value quoted in a message, and of a whole message
# characters that control a terminal, that XML forbids, that are invisible, or that reorder the text around them
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


class UnmaskError(Exception):
    """An error the user can fix; the command line prints it in one line and exits with code 2."""

    def __init__(self, message: str = "") -> None:
        """Create it with its message, which is shortened and freed of control characters."""
        super().__init__(shorten(one_line(message), MAX_MESSAGE))


class DataError(UnmaskError):
    """A data file is missing, malformed, or its checksum differs."""


class ModelError(UnmaskError):
    """The model cannot be loaded, or cannot be used for this measure or task."""


class StatsError(UnmaskError):
    """The statistic cannot be computed on these rows."""


class ResultError(UnmaskError):
    """A result folder cannot be read."""


class OutputError(UnmaskError):
    """A file or folder cannot be written, or another process is writing it."""


class UnknownName(UnmaskError):  # noqa: N818 - the name already says what is wrong
    """A name that is not registered; the message lists close matches, then all names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """`kind` says what `name` should be, such as "measure"; `known` are the registered names."""
        import difflib

        names = sorted(known)
        near = difflib.get_close_matches(name.lower(), names, n=2)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"no {kind} named {quote(name)}.{hint} There are: {', '.join(names)}.")


class Unscorable(Exception):  # noqa: N818 - concerns one item, not the run
    """One item cannot be scored by one measure; its row records `reason`."""

    def __init__(self, reason: str) -> None:
        """Create it with the reason."""
        super().__init__(reason)
        self.reason = reason


def quote(value: object, most: int = MAX_FOUND) -> str:
    """A value that came from outside, for a message: as Python writes it, at most `most` characters."""
    return shorten(repr(value), most)


def one_line(text: str) -> str:
    """The text in one line: white space becomes single spaces, control characters are escaped."""
    return escape_controls(" ".join(text.split()))


def shorten(text: str, most: int) -> str:
    """The text, cut in the middle if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]} … {text[len(text) - most // 3 + 3 :]}"


def escape_controls(text: str, keep: str = "") -> str:
    r"""The text with control characters, surrogates and marks that reorder text written as `\x1b`, `\u202e`."""
    return _CONTROLS.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def _escape(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
