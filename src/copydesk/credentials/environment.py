"""Credentials from the environment, for servers. They take precedence over every backend and are never written.

For accounts of a platform: the variable `COPYDESK_SECRET_<PLATFORM>`, such as `COPYDESK_SECRET_BLUESKY`, else the file
`copydesk-<platform>` in `$CREDENTIALS_DIRECTORY`, where systemd puts what `LoadCredential=` names. The value is one of

- a single secret, such as `hunter2-hunter2`, if the platform needs only one;
- secrets by name: `{"password": "hunter2-hunter2"}`. Like a single secret, these apply to every account of the platform
  on any server, so with more than one account use the next form;
- secrets by account: `{"bluesky:did:plc:xyz@https://bsky.social": {"password": "hunter2-hunter2"}}`. Other accounts
  are read from the backend.

A value that begins with `{` is parsed as JSON. The passphrase of the encrypted file comes from `COPYDESK_PASSPHRASE`,
else from the file `copydesk-passphrase` in the same directory.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from copydesk.credentials.backends import MaskedSecrets, Secrets, decode, is_secrets
from copydesk.credentials.private_folder import MAX_FILE_SIZE
from copydesk.errors import CredentialsError

PASSPHRASE = "COPYDESK_PASSPHRASE"  # noqa: S105 - the name of a variable
_PREFIX = "COPYDESK_SECRET_"
_CREDENTIALS_DIRECTORY = "CREDENTIALS_DIRECTORY"


class Environment:
    """Credentials found in `environ`. `single` maps platforms to the secret name that a bare value stands for."""

    def __init__(self, environ: Mapping[str, str], single: Mapping[str, str]) -> None:
        self._environ = environ
        self._single = single

    def load(self, name: str) -> Secrets | None:
        """Return the secrets of an account (`platform:...`), or None if the environment has none.

        Raise CredentialsError if a value is malformed or a file cannot be read.
        """
        platform = name.partition(":")[0]
        origin, text = self._lookup(f"{_PREFIX}{_normalize(platform).upper()}", f"copydesk-{_normalize(platform)}")
        if not text:
            return None
        if not text.lstrip().startswith("{"):
            return MaskedSecrets({self._single_secret_name(platform, origin): text})
        value = decode(text)
        if isinstance(value, dict) and value:
            # Both shapes are dicts; an account's secrets are strings, accounts are dicts of them.
            if is_secrets(value):
                return MaskedSecrets(value)
            if all(is_secrets(secrets) for secrets in value.values()):
                return MaskedSecrets(value[name]) if name in value else None
        hint = 'Use a single value, {"name": "value"} or {"account": {"name": "value"}}.'
        raise CredentialsError(f"{origin} is not JSON of the expected form.", hint=hint)

    def passphrase(self) -> str | None:
        """Return the passphrase of the encrypted file, or None."""
        return self._lookup(PASSPHRASE, "copydesk-passphrase")[1] or None

    def origins(self) -> tuple[str, ...]:
        """Return the names of the variables and files found, for display. Their values are not included."""
        files = self._folder.glob("copydesk-*") if self._folder else ()
        variables = (name for name in self._environ if name.startswith(_PREFIX) or name == PASSPHRASE)
        return (*sorted(variables), *sorted(str(file) for file in files))

    @property
    def _folder(self) -> Path | None:
        folder = self._environ.get(_CREDENTIALS_DIRECTORY)
        return Path(folder) if folder else None

    def _lookup(self, variable: str, file: str) -> tuple[str, str]:
        """Return the name of the variable or file, and its text; two empty strings if neither is set."""
        if text := self._environ.get(variable, "").rstrip("\r\n"):
            return variable, text
        if self._folder is None:
            return "", ""
        path = self._folder / file
        return str(path), _read_text(path)

    def _single_secret_name(self, platform: str, where: str) -> str:
        if platform not in self._single:
            hint = 'Use their names: {"name": "value"}.'
            raise CredentialsError(f"{where} contains one value; {platform} needs several.", hint=hint)
        return self._single[platform]


def _normalize(platform: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", platform.lower())


def _read_text(path: Path) -> str:
    content, reason = b"", ""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_SIZE)
        return content.decode().rstrip("\r\n")
    except FileNotFoundError:
        return ""
    except OSError as error:
        reason = error.strerror or "not a file"
    except UnicodeDecodeError:
        reason = "not a text file"
    raise CredentialsError(f"Cannot read {path}: {reason}.")
