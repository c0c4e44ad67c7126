"""Vaults for tests, with a cheap passphrase and an in-memory keyring."""

import json
from pathlib import Path

from copydesk.credentials.backends import Environment
from copydesk.credentials.encryption import ScryptParameters
from copydesk.credentials.vault import Vault
from copydesk.settings import Secrets
from copydesk.text.redaction import Redaction

CHEAP_SCRYPT = ScryptParameters(n=2, r=8, p=1)
PASSPHRASE = "correct horse battery"
SECRET_NAME = "bluesky:did:plc:xyz@https://bsky.social"
OTHER_NAME = "mastodon:42@https://social.example"
PLANTED_SECRETS = {"password": "planted-pässword-1", "refresh": "planted/refresh+2=="}


class MemoryKeyring:
    """The part of a keyring that the vault uses."""

    name = "in memory"

    def __init__(self) -> None:
        self.passwords: dict[tuple[str, str], str] = {}
        self.error: Exception | None = None

    def get_password(self, service: str, name: str) -> str | None:
        self._raise_error()
        return self.passwords.get((service, name))

    def set_password(self, service: str, name: str, password: str) -> None:
        self._raise_error()
        self.passwords[service, name] = password

    def delete_password(self, service: str, name: str) -> None:
        self._raise_error()
        del self.passwords[service, name]

    def _raise_error(self) -> None:
        if self.error is not None:
            raise self.error


class PassphrasePrompt:
    """A passphrase prompt that returns prepared answers and records the questions."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.questions: list[bool] = []

    async def __call__(self, *, new: bool) -> str:
        self.questions.append(new)
        return self.answers.pop(0)


def make_vault(home: Path, *, environ=None, keyring=None, ask=None, plain=False, known=None, single=None) -> Vault:
    """Return a vault, without a keyring unless given."""
    return Vault(
        home / "secrets",
        Environment(environ or {}, single or {}),
        preferences=Secrets(plain=plain),
        prompt_passphrase=ask,
        redaction=known or Redaction(),
        find_keyring=lambda: keyring,
        parameters=CHEAP_SCRYPT,
    )


def make_encrypted_vault(home: Path, *, passphrase: str = PASSPHRASE, **more) -> Vault:
    """Return a vault in an encrypted file."""
    return make_vault(home, environ={"COPYDESK_PASSPHRASE": passphrase}, **more)


def read_files(home: Path) -> dict[str, bytes]:
    """Return the content of all files in a folder by relative path."""
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def find_secrets(content: bytes) -> list[str]:
    """Return the planted secrets found in `content`, in any encoding."""
    found = []
    for secret in PLANTED_SECRETS.values():
        encodings = {secret, json.dumps(secret)[1:-1], secret.encode().hex()}
        found += [encoding for encoding in encodings if encoding.encode() in content]
    return found
