"""Write constraints.txt: the newest versions of everything, as three parts that build on each other.

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


seen: set[str] = set()
lines = ["# Made by `make lock`: exact versions and hashes of everything that is installed.\n"]
for part, groups in PARTS.items():
    added = [pin for pin in resolve(groups) if pin not in seen]
    seen.update(added)
    lines += [f"# {part}", *added, ""]
Path("constraints.txt").write_text("\n".join(lines), encoding="utf-8")
