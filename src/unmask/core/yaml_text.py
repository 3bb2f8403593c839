"""Read YAML text from outside: JSON's types only, no aliases, limited in size and depth."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from unmask.core.boundary import Rows, has_surrogates
from unmask.core.errors import DataError, UnmaskError, quote

MAX_LENGTH = 2 * 2**20  # characters of YAML text
MAX_DEPTH = 30  # levels of lists and mappings
_TYPES = ("null", "bool", "int", "float", "str", "seq", "map")  # YAML's types that JSON has, too


def parse_yaml(text: str, where: str, error: type[UnmaskError] = DataError) -> Any:
    """YAML text as an object of JSON's types; lists are `Rows`.

    Without aliases, whose expansion could fill the memory, and without dates, which become text; a key that is
    given twice is refused, and so is text that is too long or nested too deeply.
    """
    import yaml

    if len(text) > MAX_LENGTH:
        raise error(f"{where} has {len(text):,} characters of YAML, expected at most {MAX_LENGTH:,}: write a table")
    try:
        loader = _yaml_loader()(text)
        loader.where = where
        return loader.get_single_data()
    except yaml.YAMLError as failure:
        mark, position = getattr(failure, "problem_mark", None), getattr(failure, "position", 0)
        line = text.count("\n", 0, position) + 1 if mark is None else mark.line + 1
        reason = getattr(failure, "problem", None) or getattr(failure, "reason", None) or failure
        raise error(
            f"{where}, line {line}: not YAML ({reason}): quote text that begins with a brace or another mark"
        ) from failure


@cache
def _yaml_loader() -> Any:
    """PyYAML's safe loader without aliases, dates and sets; only `true` and `false` are truth values."""
    import yaml
    from yaml.composer import ComposerError
    from yaml.constructor import ConstructorError

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers = {  # noqa: RUF012 - as in its base class
            first: [(tag, pattern) for tag, pattern in known if tag.rpartition(":")[2] in _TYPES]
            for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }
        yaml_constructors = {  # noqa: RUF012
            tag: construct
            for tag, construct in yaml.SafeLoader.yaml_constructors.items()
            if tag is None or tag.rpartition(":")[2] in _TYPES
        }
        where = ""
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            if isinstance(event, yaml.AliasEvent):
                raise ComposerError(None, None, "an alias (*name), write the value again", event.start_mark)
            if self.depth == MAX_DEPTH:
                raise ComposerError(None, None, f"more than {MAX_DEPTH} levels", event.start_mark)
            self.depth += 1
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep)
            except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as failure:
                reason = f"{quote(node.value)} is no {node.tag.rpartition(':')[2]}"
                raise ConstructorError(None, None, reason, node.start_mark) from failure

        def construct_scalar(self, node: Any) -> Any:
            value = super().construct_scalar(node)
            if has_surrogates(value):  # two halves of one character are joined, half a character is an error
                value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            return value

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            content = super().construct_mapping(node, deep=True)
            seen = set()
            for name, _ in node.value:
                if (key := self.construct_object(name, deep=True)) in seen:
                    raise ConstructorError(None, None, f"the key {quote(key)} was already given", name.start_mark)
                seen.add(key)
            return content

        def construct_sequence(self, node: Any, deep: bool = False) -> Any:
            if not isinstance(node, yaml.SequenceNode):
                raise ConstructorError(None, None, "expected a list", node.start_mark)
            lines = [each.start_mark.line + 1 for each in node.value]
            return Rows((self.construct_object(each, deep=True) for each in node.value), self.where, lines)

    truth = re.compile("^(?:true|True|TRUE|false|False|FALSE)$")
    for first, known in Loader.yaml_implicit_resolvers.items():
        Loader.yaml_implicit_resolvers[first] = [(tag, truth if tag.endswith("bool") else each) for tag, each in known]
    Loader.add_constructor("tag:yaml.org,2002:seq", Loader.construct_sequence)
    Loader.add_constructor("tag:yaml.org,2002:map", Loader.construct_mapping)
    return Loader
