"""What is kept, as bytes: names, each with its secrets by their names."""

import json
from typing import TypeGuard

from copydesk.errors import SecretsError

Secrets = dict[str, str]


class Hidden(Secrets):
    """Secrets by their names, of which only the names show themselves."""

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name!r}: •••" for name in self) + "}"


def encoded(value: object) -> bytes:
    """As JSON in ASCII, in which any text can be written, half a surrogate pair too."""
    return json.dumps(value).encode("ascii")


def decoded(content: bytes | str) -> object:
    """What the JSON says; None where it is none."""
    # Not raised from: such an error has the text with the secrets in it.
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found


def is_secrets(value: object) -> TypeGuard[Secrets]:
    """Whether it is text by names."""
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def by_name(content: bytes, wrong: SecretsError) -> dict[str, Secrets]:
    """The secrets of every name in a file; raises `wrong` where the file says something else."""
    value = decoded(content)
    if not isinstance(value, dict) or not all(is_secrets(each) for each in value.values()):
        raise wrong
    return {name: Hidden(each) for name, each in value.items()}
