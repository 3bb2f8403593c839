"""Write a software bill of materials (CycloneDX 1.5) of the package and all that it needs, with all extras.

python -m tools.sbom dist: the versions are those of this environment. Fails if a distribution was not installed from
a wheel: only then does an installation run no code.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

USERS = ("train", "explore", "scale", "vectors", "words")  # extras that people install; `dev` is for us


def closure(name: str, extras: tuple[str, ...] = ()) -> dict[str, Distribution]:
    """A distribution and all that it needs here, by canonical name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        key = canonicalize_name(name)
        if (key, extra) in seen:
            continue
        seen.add((key, extra))
        found[key] = distribution(name)
        for need in needs(found[key], extra):
            waiting += [(need.name, each) for each in ("", *need.extras)]
    return dict(sorted(found.items()))


def needs(one: Distribution, extra: str = "") -> list[Requirement]:
    """The requirements of a distribution in this environment, with an extra."""
    listed = [Requirement(line) for line in one.requires or ()]
    return [each for each in listed if each.marker is None or each.marker.evaluate({"extra": extra})]


def component(one: Distribution) -> dict[str, Any]:
    """The entry of a distribution."""
    name, metadata = canonicalize_name(one.name), one.metadata
    licence = metadata.get("License-Expression") or (metadata.get("License") or "").partition("\n")[0][:80]
    licences = {"licenses": [{"license": {"name": licence}}]} if licence else {}
    return {"type": "library", "bom-ref": ref(one), "name": name, "version": one.version, "purl": ref(one), **licences}


def ref(one: Distribution) -> str:
    """The package URL of a distribution."""
    return f"pkg:pypi/{canonicalize_name(one.name)}@{one.version}"


def bill(name: str = "unmask", extras: tuple[str, ...] = USERS) -> dict[str, Any]:
    """The whole bill of materials."""
    found = closure(name, extras)
    asked = {key: {canonicalize_name(need.name) for need in needs(one)} for key, one in found.items()}
    for extra in extras:
        asked[name] |= {canonicalize_name(need.name) for need in needs(found[name], extra)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**component(found[name]), "type": "application"}},
        "components": [component(one) for key, one in found.items() if key != name],
        "dependencies": [
            {"ref": ref(one), "dependsOn": [ref(found[other]) for other in sorted(asked[key])]}
            for key, one in found.items()
        ],
    }


def not_from_wheels(name: str = "unmask", extras: tuple[str, ...] = USERS) -> list[str]:
    """Distributions that were not installed from a wheel."""
    return [key for key, one in closure(name, extras).items() if one.read_text("WHEEL") is None]


def main(folder: str = "dist") -> None:
    if odd := not_from_wheels():
        sys.exit(f"not installed from wheels: {', '.join(odd)}")
    content = bill()
    path = Path(folder) / f"unmask-{content['metadata']['component']['version']}.cdx.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"{path}: {len(content['components'])} components, all from wheels")


if __name__ == "__main__":
    main(*sys.argv[1:])
