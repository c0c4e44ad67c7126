"""Serialization of credentials: account name -> secret name -> secret."""

import json
from typing import TypeGuard

from copydesk.errors import CredentialsError

Secrets = dict[str, str]


class MaskedSecrets(Secrets):
    """Secrets whose repr shows only their names."""

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name!r}: •••" for name in self) + "}"


def encode(value: object) -> bytes:
    """Return `value` as ASCII JSON. Escapes can represent any string, including lone surrogates."""
    return json.dumps(value).encode("ascii")


def decode(content: bytes | str) -> object:
    """Return the parsed JSON, or None if it is invalid."""
    # Do not chain the exception: JSONDecodeError holds the whole text, and with it the secrets.
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found


def is_secrets(value: object) -> TypeGuard[Secrets]:
    """Return True if `value` is a dict of strings."""
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def parse_secrets(content: bytes, error: CredentialsError) -> dict[str, Secrets]:
    """Return the secrets of every account in a file. Raise `error` if the content has another shape."""
    value = decode(content)
    if not isinstance(value, dict) or not all(is_secrets(secrets) for secrets in value.values()):
        raise error
    return {name: MaskedSecrets(secrets) for name, secrets in value.items()}
