"""Secrets that the environment gives, for servers. They win over every other place and are never written.

For accounts of a platform: the variable `COPYDESK_SECRET_<PLATFORM>`, as in `COPYDESK_SECRET_BLUESKY`, else the file
`copydesk-<platform>` in `$CREDENTIALS_DIRECTORY`, where systemd puts what `LoadCredential=` names. Either holds

- one value, as `hunter2-hunter2`, where the platform wants one secret only,
- or secrets by their names: `{"password": "hunter2-hunter2"}`. Both are for every account of the platform on any
  server, so with more than one account say which:
- secrets by account: `{"bluesky:did:plc:xyz@https://bsky.social": {"password": "hunter2-hunter2"}}`. Other accounts
  are looked for in the other places.

What begins with `{` is read as JSON. The passphrase of the encrypted file: `COPYDESK_PASSPHRASE`, else the file
`copydesk-passphrase` there.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from copydesk.errors import SecretsError
from copydesk.secrets.content import Hidden, Secrets, decoded, is_secrets
from copydesk.secrets.folder import LARGEST

PASSPHRASE = "COPYDESK_PASSPHRASE"  # noqa: S105 - its name
_PREFIX = "COPYDESK_SECRET_"
_CREDENTIALS = "CREDENTIALS_DIRECTORY"


class Environment:
    """What the environment gives. `single` has, by platform, the name of the secret that one value stands for."""

    def __init__(self, environ: Mapping[str, str], single: Mapping[str, str]) -> None:
        self._environ = environ
        self._single = single

    def read(self, name: str) -> Secrets | None:
        """The secrets of an account, `platform:...`; None where the environment has none of it. SecretsError."""
        platform = name.partition(":")[0]
        where, text = self._given(f"{_PREFIX}{_plain(platform).upper()}", f"copydesk-{_plain(platform)}")
        if not text:
            return None
        if not text.lstrip().startswith("{"):
            return Hidden({self._name_of_single(platform, where): text})
        value = decoded(text)
        if isinstance(value, dict) and value:
            if is_secrets(value):
                return Hidden(value)
            if all(is_secrets(each) for each in value.values()):
                return Hidden(value[name]) if name in value else None
        hint = 'It takes one value, {"name": "value"}, or {"account": {"name": "value"}}.'
        raise SecretsError(f"{where} begins as JSON and is not what belongs there.", hint=hint)

    def passphrase(self) -> str | None:
        """The passphrase of the encrypted file; None without one."""
        return self._given(PASSPHRASE, "copydesk-passphrase")[1] or None

    def given(self) -> tuple[str, ...]:
        """The names of the variables and files, for the user to see; not what is in them."""
        files = self._folder.glob("copydesk-*") if self._folder else ()
        variables = (name for name in self._environ if name.startswith(_PREFIX) or name == PASSPHRASE)
        return (*sorted(variables), *sorted(str(file) for file in files))

    @property
    def _folder(self) -> Path | None:
        folder = self._environ.get(_CREDENTIALS)
        return Path(folder) if folder else None

    def _given(self, variable: str, file: str) -> tuple[str, str]:
        """Where it stands, and what is there; nothing where it stands nowhere."""
        if text := self._environ.get(variable, "").rstrip("\r\n"):
            return variable, text
        if self._folder is None:
            return "", ""
        path = self._folder / file
        return str(path), _read(path)

    def _name_of_single(self, platform: str, where: str) -> str:
        if platform not in self._single:
            hint = 'Write them by their names: {"name": "value"}.'
            raise SecretsError(f"{where} holds one value, and {platform} takes several.", hint=hint)
        return self._single[platform]


def _plain(platform: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", platform.lower())


def _read(path: Path) -> str:
    content, wrong = b"", ""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST)
        return content.decode().rstrip("\r\n")
    except FileNotFoundError:
        return ""
    except OSError as error:
        wrong = error.strerror or "it is not a file"
    except UnicodeDecodeError:
        wrong = "it is not text"
    raise SecretsError(f"{path} cannot be read: {wrong}.")
