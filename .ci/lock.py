"""Write .ci/requirements.txt, the newest versions of everything with their hashes, and constraints.txt, without.

pip cannot use constraints with hashes for a project in a folder. The requirements are parts that build on each other:
`run` is what Copydesk needs; on top of it `test` is for its checks, `servers` for the servers it is
proven against, `screenshots` for its pictures, and `bench` is what
it is measured against. Each part is complete, so that `pip install --no-deps --require-hashes` can install it alone.
"""

import re
import subprocess
import sys
from pathlib import Path

PARTS = {
    "run": ("build",),
    "test": ("build", "test"),
    "servers": ("build", "test", "servers"),
    "screenshots": ("build", "test", "screenshots"),
    "bench": ("build", "test", "bench"),
}


def resolve(groups: tuple[str, ...]) -> list[str]:
    """Every requirement of the project with `groups`, one text of pin and hashes each."""
    options = [word for group in groups for word in ("--group", group)]
    command = f"{sys.executable} -m uv pip compile pyproject.toml --universal --python-version 3.11 --upgrade"
    quiet = "--generate-hashes --no-header --no-annotate --quiet"
    run = subprocess.run([*command.split(), *quiet.split(), *options], check=True, capture_output=True, text=True)
    return re.findall(r"^\S.*(?:\n +--hash.*)+", run.stdout, re.MULTILINE)


def write(parts: dict[str, list[str]]) -> None:
    """Write both files."""
    lines = ["# Made by `make lock`: exact versions and hashes of everything that make installs.\n"]
    for part, pins in parts.items():
        lines += [f"# {part}", *pins, ""]
    Path(".ci/requirements.txt").write_text("\n".join(lines), encoding="utf-8")
    versions = sorted({pin.split(" \\\n")[0] for pins in parts.values() for pin in pins}, key=str.lower)
    lines = ["# Made by `make lock`: exact versions, for `pip install -c constraints.txt`.", *versions, ""]
    Path("constraints.txt").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    seen: set[str] = set()
    parts = {}
    for part, groups in PARTS.items():
        parts[part] = [pin for pin in resolve(groups) if pin not in seen]
        seen.update(parts[part])
    write(parts)
