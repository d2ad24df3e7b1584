"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

``numpy>=1.26`` becomes ``numpy==1.26``.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
LOWER_BOUND = re.compile(r"([\w-]+)(?:\[.*\])?>=([\d.]+)(?:; python_version < '[\d.]+')?")


def lowest_versions() -> dict[str, str]:
    """Name and lower bound of every package that the project, its extras or its tests ask for."""
    bounds: dict[str, str] = {}
    for requirement in requirements():
        name, version = read_bound(requirement)
        if bounds.setdefault(name, version) != version:
            raise SystemExit(f"pyproject.toml: {name} has two lower bounds, {bounds[name]} and {version}.")
    return bounds


def requirements() -> Iterator[str]:
    """Everything that users or tests install, except pacshift itself."""
    content = tomllib.loads(PYPROJECT.read_text())
    extras = content["project"]["optional-dependencies"]
    for listed in (content["project"]["dependencies"], *extras.values(), content["dependency-groups"]["test"]):
        yield from (requirement for requirement in listed if not requirement.startswith("pacshift["))


def read_bound(requirement: str) -> tuple[str, str]:
    """Name and lower bound of one requirement."""
    match = LOWER_BOUND.fullmatch(requirement)
    if match is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} must have the form 'name>=version'.")
    return match[1], match[2]


if __name__ == "__main__":
    for name, version in lowest_versions().items():
        print(f"{name}=={version}")
