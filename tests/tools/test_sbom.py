"""The bill of materials names every dependency, and all of them come as wheels."""

from __future__ import annotations

from importlib.metadata import version

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.sbom import bill, closure, needs, not_from_wheels


def test_every_dependency_is_installed_from_a_wheel() -> None:
    """The installation of a wheel runs no code; a source distribution would run its build."""
    assert not_from_wheels() == []


def test_the_bill_names_every_dependency_with_its_version_once() -> None:
    content = bill()
    listed = {each["name"]: each["version"] for each in content["components"]}
    assert len(listed) == len(content["components"])
    assert listed["torch"] == version("torch")
    direct = {canonicalize_name(need.name) for need in map(Requirement, closure("unmask")["unmask"].requires or ())}
    ours = {canonicalize_name(need.name) for need in needs(closure("unmask")["unmask"])}
    assert ours <= direct & listed.keys()
    assert "pytest" not in listed
    refs = {each["bom-ref"] for each in (*content["components"], content["metadata"]["component"])}
    assert {each["ref"] for each in content["dependencies"]} == refs
    assert {other for each in content["dependencies"] for other in each["dependsOn"]} <= refs
    assert (content["bomFormat"], content["specVersion"]) == ("CycloneDX", "1.5")


def test_the_bill_is_the_same_each_time() -> None:
    assert bill() == bill()
