"""Access to account credentials in whichever backend stores them.

The first credential selects the backend, and all others go there until the last one is deleted: in two backends, one
copy could be outdated. The order of preference:

1. the system keyring, if there is one and `secrets.keyring` is on;
2. a file encrypted with the passphrase from the environment;
3. an unencrypted file that only its owner can read, if the user agreed with `secrets.plain` or `allow_plain`;
4. a file encrypted with a passphrase that the user is prompted for.

Credentials from the environment (see `backends`) take precedence over all backends.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from copydesk.credentials.backends import (
    BACKEND_FILES,
    BackendKind,
    EncryptedFile,
    Environment,
    Keyring,
    PlainFile,
    SecretBackend,
    Secrets,
    find_keyring,
    list_names,
)
from copydesk.credentials.encryption import DEFAULT_PARAMETERS, Passphrase, ScryptParameters
from copydesk.credentials.private_folder import PrivateFolder
from copydesk.errors import CredentialsError, WrongPassphraseError
from copydesk.model.serialization import Struct
from copydesk.settings import Secrets as SecretsSection
from copydesk.settings import Settings
from copydesk.text.redaction import DEFAULT_REDACTION, Redaction

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")

FOLDER_NAME = "secrets"
"""Name of the folder inside the data folder."""
MIN_PASSPHRASE_LENGTH = 8
"""Minimum length of a new passphrase. A floor, not advice: whoever has the file can guess for as long as they like."""


class PassphrasePrompt(Protocol):
    """Prompt the user for the passphrase. Called on the event loop."""

    async def __call__(self, *, new: bool) -> str:
        """Return the passphrase, empty if the user gives none. Prompt twice for a new one."""
        ...


class VaultStatus(Struct, frozen=True):
    """State of the vault, with texts for the user. Contains no secret and no account name."""

    backend: BackendKind
    has_credentials: bool
    """True if any credential is stored; otherwise `backend` is the one that the first would go to."""
    usable: bool
    """True if the backend can be read now, as far as is known without prompting for a passphrase."""
    description: str
    environment: tuple[str, ...]
    """Variables and files in the environment that provide credentials."""


def check_new_passphrase(text: str) -> None:
    """Raise CredentialsError if the passphrase is too short to be a new one."""
    if len(text) < MIN_PASSPHRASE_LENGTH:
        raise CredentialsError(
            f"A passphrase needs at least {MIN_PASSPHRASE_LENGTH} characters.", hint="Use four or more words."
        )


class Vault:
    """Account credentials: a few named secrets for each account, such as `bluesky:did:plc:xyz@https://bsky.social`.

    Operations are serialized within the process, and writes across processes. Every method may raise CredentialsError,
    or its subclass WrongPassphraseError, after which the passphrase is prompted for again.
    """

    def __init__(
        self,
        folder: Path,
        environment: Environment,
        *,
        preferences: SecretsSection,
        prompt_passphrase: PassphrasePrompt | None = None,
        redaction: Redaction = DEFAULT_REDACTION,
        find_keyring: "Callable[[], KeyringBackend | None]" = find_keyring,
        parameters: ScryptParameters = DEFAULT_PARAMETERS,
    ) -> None:
        self._folder = PrivateFolder(folder)
        self._environment = environment
        self._preferences = preferences
        self._is_plain_allowed = preferences.plain
        self._prompt_passphrase = prompt_passphrase
        self._redaction = redaction
        self._find_keyring = find_keyring
        self._parameters = parameters
        self._passphrase: Passphrase | None = None
        # One operation at a time, so that the user is prompted for the passphrase once.
        self._lock = asyncio.Lock()

    async def load(self, name: str) -> Secrets | None:
        """Return the secrets of an account, or None. Their values are hidden in its repr."""
        secrets = await asyncio.to_thread(self._environment.load, name)
        if secrets is None:
            async with self._lock:
                backend = await self._current_backend()
                secrets = await self._run_in_thread(backend.load, name) if backend else None
        # Before anyone can use, and log, them.
        self._redaction.add(*(secrets or {}).values())
        return secrets

    async def save(self, name: str, secrets: Mapping[str, str]) -> None:
        """Replace the secrets of an account durably and atomically.

        Raise CredentialsError if they come from the environment, which cannot be changed.
        """
        self._redaction.add(*secrets.values())
        if await asyncio.to_thread(self._environment.load, name) is not None:
            hint = "Remove it from the environment, then connect the account again."
            raise CredentialsError(
                "The credentials of this account come from the environment and cannot be replaced.", hint=hint
            )
        async with self._lock:
            backend = await self._current_backend() or await self._open_backend(
                await asyncio.to_thread(self._choose_kind), new=True
            )
            await self._run_in_thread(self._write_locked, backend, lambda: backend.save(name, dict(secrets)))

    async def read_environment(self, name: str) -> Secrets | None:
        """Return the secrets that the environment provides for an account, or None."""
        return await asyncio.to_thread(self._environment.load, name)

    async def check_access(self, name: str) -> None:
        """Raise an error if the secrets of an account cannot be read from the backend, or deleted there."""
        async with self._lock:
            backend = await self._current_backend()
            if backend is not None:
                await self._run_in_thread(backend.load, name)

    async def remove(self, name: str) -> None:
        """Delete the secrets of an account from the backend. Those in the environment stay."""
        async with self._lock:
            backend = await self._current_backend()
            if backend is not None:
                await self._run_in_thread(self._write_locked, backend, lambda: backend.remove(name))

    async def names(self) -> tuple[str, ...]:
        """Return the names of all stored accounts, sorted, without those of the environment."""
        async with self._lock:
            if await asyncio.to_thread(self._find_kind) is BackendKind.KEYRING:
                return await asyncio.to_thread(list_names, self._folder)
            backend = await self._current_backend()
            return await self._run_in_thread(backend.names) if backend else ()

    async def load_note(self, name: str) -> str | None:
        """Return a note that is stored with the credentials if they are in the system keyring; else None."""
        keyring = await self._current_keyring()
        return await asyncio.to_thread(keyring.load_note, name) if keyring else None

    async def save_note(self, name: str, text: str) -> None:
        """Store a note with the credentials if they are in the system keyring."""
        keyring = await self._current_keyring()
        if keyring is not None:
            await asyncio.to_thread(keyring.save_note, name, text)

    async def _current_keyring(self) -> Keyring | None:
        if await asyncio.to_thread(self._find_kind) is not BackendKind.KEYRING:
            return None
        backend = await asyncio.to_thread(self._find_keyring)
        return Keyring(self._folder, backend) if backend is not None else None

    async def status(self) -> VaultStatus:
        """Return the state of the vault. The user is not prompted."""
        return await asyncio.to_thread(self._get_status)

    def allow_plain(self) -> None:
        """Allow unencrypted storage if no better backend is available. The user has agreed to it."""
        self._is_plain_allowed = True

    async def _current_backend(self) -> SecretBackend | None:
        """Return the backend that stores credentials, or None while there are none."""
        kind = await asyncio.to_thread(self._find_kind)
        return None if kind is None else await self._open_backend(kind)

    async def _open_backend(self, kind: BackendKind, *, new: bool = False) -> SecretBackend:
        if kind is BackendKind.PLAIN:
            return PlainFile(self._folder)
        if kind is BackendKind.ENCRYPTED:
            return EncryptedFile(self._folder, await self._get_passphrase(new=new))
        backend = await asyncio.to_thread(self._find_keyring)
        if backend is None:
            hint = "Unlock it, or start Copydesk in your desktop session. Nothing was overwritten."
            raise CredentialsError(
                "Your credentials are in the system keyring, which is not accessible from here.", hint=hint
            )
        return Keyring(self._folder, backend)

    async def _get_passphrase(self, *, new: bool) -> Passphrase:
        """Return the passphrase, prompting for it once per process."""
        if self._passphrase is None:
            text = await asyncio.to_thread(self._environment.passphrase)
            if text is None and self._prompt_passphrase is not None:
                text = await self._prompt_passphrase(new=new)
            if not text:
                raise _no_passphrase_error(new=new)
            if new:
                check_new_passphrase(text)
            # Before the first use, which may fail with a traceback.
            self._redaction.add(text, permanent=True)
            self._passphrase = Passphrase(text, parameters=self._parameters)
        return self._passphrase

    async def _run_in_thread(self, func: Callable[..., T], *args: object) -> T:
        """Run a blocking call in a thread; forget the passphrase if it was wrong."""
        try:
            return await asyncio.to_thread(func, *args)
        except WrongPassphraseError:
            self._passphrase = None
            raise

    def _write_locked(self, backend: SecretBackend, func: Callable[[], None]) -> None:
        # Lock in the thread: if the task is cancelled, its thread keeps running, and the asyncio lock is already
        # released.
        with self._folder.lock():
            # Another process may have stored its first credential since the backend was selected.
            if self._find_kind() not in (None, backend.kind):
                raise CredentialsError("Another Copydesk process uses another credential store.", hint="Try again.")
            func()

    def _find_kind(self) -> BackendKind | None:
        """Return the kind of the backend in use, or None. Raise CredentialsError if there are several."""
        # By the files alone, without opening them: this runs before every access.
        kinds = [kind for kind in BackendKind if self._folder.exists(BACKEND_FILES[kind])]
        # As after restoring a backup. Nobody but the user can tell which of the two is current.
        if len(kinds) > 1:
            files = " and ".join(str(self._folder.path / BACKEND_FILES[kind]) for kind in kinds)
            raise CredentialsError(f"Credentials found in {files}.", hint="Move the outdated one away.")
        return kinds[0] if kinds else None

    def _choose_kind(self) -> BackendKind:
        """Return the kind of the backend for the first credential."""
        if self._preferences.keyring and self._find_keyring() is not None:
            return BackendKind.KEYRING
        # A passphrase that is there already is better than the plain file the user allowed.
        needs_prompt = self._passphrase is None and self._environment.passphrase() is None
        return BackendKind.PLAIN if self._is_plain_allowed and needs_prompt else BackendKind.ENCRYPTED

    def _get_status(self) -> VaultStatus:
        current = self._find_kind()
        kind = current or self._choose_kind()
        backend = self._find_keyring() if kind is BackendKind.KEYRING else None
        path = self._folder.path / BACKEND_FILES[kind]
        keyring_name = backend.name if backend else "not accessible from here"
        description = {
            BackendKind.KEYRING: f"the system keyring ({keyring_name})",
            BackendKind.ENCRYPTED: f"{path}, encrypted with a passphrase",
            BackendKind.PLAIN: f"{path}, NOT encrypted",
        }[kind]
        can_decrypt = self._prompt_passphrase or self._passphrase or self._environment.passphrase()
        return VaultStatus(
            backend=kind,
            has_credentials=current is not None,
            usable={
                BackendKind.KEYRING: bool(backend),
                BackendKind.ENCRYPTED: bool(can_decrypt),
                BackendKind.PLAIN: True,
            }[kind],
            description=description,
            environment=self._environment.origins(),
        )


def open_vault(
    settings: Settings,
    *,
    prompt_passphrase: PassphrasePrompt | None = None,
    environ: Mapping[str, str] = os.environ,
    single: Mapping[str, str] | None = None,
) -> Vault:
    """Return the vault of a desk. Nothing is read or created until it is used.

    `prompt_passphrase` is called at most once per process, unless the passphrase is wrong. `single` maps platforms to
    the name of the secret that a bare value in the environment stands for: {"bluesky": "password"}.
    """
    environment = Environment(environ, single or {})
    return Vault(
        settings.data_home / FOLDER_NAME, environment, preferences=settings.secrets, prompt_passphrase=prompt_passphrase
    )


def _no_passphrase_error(*, new: bool) -> CredentialsError:
    if not new:
        hint = "Set COPYDESK_PASSPHRASE, or start Copydesk in a terminal to be prompted."
        return CredentialsError("Your credentials are encrypted and no passphrase is set.", hint=hint)
    hint = "Set COPYDESK_PASSPHRASE to encrypt them, or connect with --plain to store them unencrypted."
    return CredentialsError("No keyring and no passphrase to store credentials with.", hint=hint)
