"""Tests that `pip install -c constraints.txt` installs the versions that the tests run with."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).resolve().parents[2]


def read_pins(path: str) -> list[Requirement]:
    """Return the pins of a file, without their hashes."""
    lines = (CHECKOUT / path).read_text(encoding="utf-8").splitlines()
    return [Requirement(line.removesuffix(" \\")) for line in lines if re.match(r"\w", line)]


def test_constraints_are_pins_without_hashes() -> None:
    """pip takes a constraint with a hash as a demand for the hashes of everything, also of the project's folder."""
    assert "--hash" not in (CHECKOUT / "constraints.txt").read_text(encoding="utf-8")
    pins = read_pins("constraints.txt")
    assert [pin for pin in pins if not re.fullmatch(r"==[\w.]+", str(pin.specifier))] == []


def test_constraints_are_those_of_make() -> None:
    expected = {str(pin) for pin in read_pins(".ci/requirements.txt")}
    assert {str(pin) for pin in read_pins("constraints.txt")} == expected


def test_packages_of_extras_are_pinned() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = {canonicalize_name(pin.name): str(pin.specifier)[2:] for pin in read_pins("constraints.txt")}
    wanted = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement
