"""Vaults for tests, with a cheap passphrase and an in-memory keyring."""

import json
from pathlib import Path

from copydesk.secrets.environment import Environment
from copydesk.secrets.redaction import Redaction
from copydesk.secrets.seal import Cost
from copydesk.secrets.vault import Vault
from copydesk.settings import Secrets

CHEAP = Cost(n=2, r=8, p=1)
PASSPHRASE = "correct horse battery"
NAME = "bluesky:did:plc:xyz@https://bsky.social"
OTHER = "mastodon:42@https://social.example"
PLANTED = {"password": "planted-pässword-1", "refresh": "planted/refresh+2=="}


class MemoryKeyring:
    """The part of a keyring that the vault uses."""

    name = "in memory"

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.failing: Exception | None = None

    def get_password(self, service: str, name: str) -> str | None:
        self._raise_error()
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, password: str) -> None:
        self._raise_error()
        self.kept[service, name] = password

    def delete_password(self, service: str, name: str) -> None:
        self._raise_error()
        del self.kept[service, name]

    def _raise_error(self) -> None:
        if self.failing is not None:
            raise self.failing


class Asked:
    """A passphrase prompt that returns prepared answers and records the questions."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.questions: list[bool] = []

    async def __call__(self, *, new: bool) -> str:
        self.questions.append(new)
        return self.answers.pop(0)


def vault(home: Path, *, environ=None, keyring=None, ask=None, plain=False, known=None, single=None) -> Vault:
    """Return a vault, without a keyring unless given."""
    return Vault(
        home / "secrets",
        Environment(environ or {}, single or {}),
        choice=Secrets(plain=plain),
        ask=ask,
        known=known or Redaction(),
        keyring=lambda: keyring,
        cost=CHEAP,
    )


def sealed(home: Path, *, passphrase: str = PASSPHRASE, **more) -> Vault:
    """Return a vault in an encrypted file."""
    return vault(home, environ={"COPYDESK_PASSPHRASE": passphrase}, **more)


def bytes_of(home: Path) -> dict[str, bytes]:
    """Return the content of all files in a folder by relative path."""
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def traces(content: bytes) -> list[str]:
    """Return the planted secrets found in `content`, in any encoding."""
    found = []
    for secret in PLANTED.values():
        encodings = {secret, json.dumps(secret)[1:-1], secret.encode().hex()}
        found += [encoding for encoding in encodings if encoding.encode() in content]
    return found
