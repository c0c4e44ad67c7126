"""The way to the keys to accounts, wherever they are kept.

The first key decides on the place, and all others join it until the last one is removed: a key in two places would be
old in one of them. The order of choice:

1. the system's keyring, where there is one and `secrets.keyring` is not off;
2. a file encrypted with the passphrase of the environment;
3. a plain file of its owner alone, where the user said yes to that: `secrets.plain`, or `allow_plain`;
4. a file encrypted with a passphrase that is asked for.

What the environment gives (see `environment`) wins over all of them.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from copydesk import settings as settings_module
from copydesk.errors import SecretsError, WrongPassphraseError
from copydesk.model.wire import Struct
from copydesk.secrets.content import Secrets
from copydesk.secrets.environment import Environment
from copydesk.secrets.files import PlainFile, SealedFile
from copydesk.secrets.folder import PrivateFolder
from copydesk.secrets.places import FILES, Place, Where
from copydesk.secrets.redaction import KNOWN, Redaction
from copydesk.secrets.seal import USUAL, Cost, Passphrase
from copydesk.secrets.system_keyring import Keyring, listed, usable_keyring

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")

FOLDER = "secrets"
"""In the data folder."""
SHORTEST = 8
"""Characters of a new passphrase. It is a floor and no advice: whoever has the file can try as long as they like."""


class Ask(Protocol):
    """Asks the user for the passphrase, on the event loop."""

    async def __call__(self, *, new: bool) -> str:
        """The passphrase; empty where there is none. A new one should be asked for twice."""
        ...


class Whereabouts(Struct, frozen=True):
    """Where the keys to accounts are kept, in words for the user too. No key and no account is in it."""

    where: Where
    begun: bool
    """Whether any key is there; without one it is where the first would go."""
    usable: bool
    """Whether they can be read here and now, as far as that can be told without asking for a passphrase."""
    says: str
    environment: tuple[str, ...]
    """The variables and files by which the environment gives secrets, which win."""


class Vault:
    """The keys to accounts: under each name, as `bluesky:did:plc:xyz@https://bsky.social`, a few secrets by theirs.

    One operation at a time; of all processes one writes at a time. Every method may raise SecretsError, of which
    WrongPassphraseError is one: then the passphrase is asked for anew the next time.
    """

    def __init__(
        self,
        folder: Path,
        environment: Environment,
        *,
        choice: settings_module.Secrets,
        ask: Ask | None = None,
        known: Redaction = KNOWN,
        keyring: "Callable[[], KeyringBackend | None]" = usable_keyring,
        cost: Cost = USUAL,
    ) -> None:
        self._folder = PrivateFolder(folder)
        self._environment = environment
        self._choice = choice
        self._plain = choice.plain
        self._ask = ask
        self._known = known
        self._keyring = keyring
        self._cost = cost
        self._passphrase: Passphrase | None = None
        self._lock = asyncio.Lock()

    async def read(self, name: str) -> Secrets | None:
        """The secrets under a name; None where there are none. Their values do not show in its repr."""
        found = await asyncio.to_thread(self._environment.read, name)
        if found is None:
            async with self._lock:
                place = await self._present()
                found = await self._work(place.read, name) if place else None
        self._known.add(*(found or {}).values())
        return found

    async def keep(self, name: str, secrets: Mapping[str, str]) -> None:
        """Replace the secrets under a name; they are safe on the disk when this returns, the old ones until then.

        What the environment gives cannot be replaced: SecretsError.
        """
        self._known.add(*secrets.values())
        if await asyncio.to_thread(self._environment.read, name) is not None:
            hint = "Take it out of the environment, and connect the account again."
            raise SecretsError("The key to this account comes from the environment and cannot be replaced.", hint=hint)
        async with self._lock:
            place = await self._present() or await self._place(await asyncio.to_thread(self._choose), new=True)
            await self._work(self._change, place, lambda: place.keep(name, dict(secrets)))

    async def given(self, name: str) -> Secrets | None:
        """What the environment alone gives under a name; None where it gives nothing."""
        return await asyncio.to_thread(self._environment.read, name)

    async def remove(self, name: str) -> None:
        """Forget a name, wherever it is kept; what the environment gives stays there."""
        async with self._lock:
            place = await self._present()
            if place is not None:
                await self._work(self._change, place, lambda: place.remove(name))

    async def names(self) -> tuple[str, ...]:
        """Every name that is kept, sorted; those that the environment gives are not among them."""
        async with self._lock:
            if await asyncio.to_thread(self._found) is Where.KEYRING:
                return await asyncio.to_thread(listed, self._folder)
            place = await self._present()
            return await self._work(place.names) if place else ()

    async def where(self) -> Whereabouts:
        """Where keys are kept, or would be. Nothing is asked of the user."""
        return await asyncio.to_thread(self._whereabouts)

    def allow_plain(self) -> None:
        """The user said yes to keys that are kept as they are, where there is no better place."""
        self._plain = True

    async def _present(self) -> Place | None:
        """The place where keys are."""
        where = await asyncio.to_thread(self._found)
        return None if where is None else await self._place(where)

    async def _place(self, where: Where, *, new: bool = False) -> Place:
        if where is Where.PLAIN:
            return PlainFile(self._folder)
        if where is Where.SEALED:
            return SealedFile(self._folder, await self._unlocked(new=new))
        backend = await asyncio.to_thread(self._keyring)
        if backend is None:
            hint = "Unlock it, or start Copydesk where it is: in your session, not before. Nothing was overwritten."
            raise SecretsError("Your keys are in the system's keyring, which cannot be reached from here.", hint=hint)
        return Keyring(self._folder, backend)

    async def _unlocked(self, *, new: bool) -> Passphrase:
        """The passphrase, asked for where this run does not know it yet."""
        if self._passphrase is None:
            text = await asyncio.to_thread(self._environment.passphrase)
            if text is None and self._ask is not None:
                text = await self._ask(new=new)
            if not text:
                raise _without_passphrase(new=new)
            if new and len(text) < SHORTEST:
                raise SecretsError(f"A passphrase has at least {SHORTEST} characters.", hint="Take four words or more.")
            self._known.add(text)
            self._passphrase = Passphrase(text, cost=self._cost)
        return self._passphrase

    async def _work(self, action: Callable[..., T], *args: object) -> T:
        """Do something that blocks."""
        try:
            return await asyncio.to_thread(action, *args)
        except WrongPassphraseError:
            self._passphrase = None
            raise

    def _change(self, place: Place, action: Callable[[], None]) -> None:
        # Whoever is cancelled leaves its thread at work: the folder's lock holds then, too.
        with self._folder.locked():
            if self._found() not in (None, place.where):
                raise SecretsError("Another Copydesk has begun to keep keys in another place.", hint="Try again.")
            action()

    def _found(self) -> Where | None:
        """Where there are keys."""
        found = [where for where in Where if self._folder.holds(FILES[where])]
        if len(found) > 1:
            files = " and ".join(str(self._folder.path / FILES[where]) for where in found)
            raise SecretsError(f"There are keys in {files}.", hint="Move away the one that you do not want.")
        return found[0] if found else None

    def _choose(self) -> Where:
        """Where the first key goes."""
        if self._choice.keyring and self._keyring() is not None:
            return Where.KEYRING
        asked = self._passphrase is None and self._environment.passphrase() is None
        return Where.PLAIN if self._plain and asked else Where.SEALED

    def _whereabouts(self) -> Whereabouts:
        found = self._found()
        where = found or self._choose()
        backend = self._keyring() if where is Where.KEYRING else None
        path = self._folder.path / FILES[where]
        says = {
            Where.KEYRING: f"the system's keyring ({backend.name if backend else 'which cannot be reached from here'})",
            Where.SEALED: f"{path}, encrypted with a passphrase",
            Where.PLAIN: f"{path}, NOT encrypted",
        }[where]
        known = self._ask or self._passphrase or self._environment.passphrase()
        return Whereabouts(
            where=where,
            begun=found is not None,
            usable={Where.KEYRING: bool(backend), Where.SEALED: bool(known), Where.PLAIN: True}[where],
            says=says,
            environment=self._environment.given(),
        )


def open_vault(
    settings: settings_module.Settings,
    *,
    ask: Ask | None = None,
    environ: Mapping[str, str] = os.environ,
    single: Mapping[str, str] | None = None,
) -> Vault:
    """The vault of a desk; nothing is read or made until it is used.

    `ask` asks for the passphrase, once a run. `single` has, by platform, the name of the secret that one value in the
    environment stands for: {"bluesky": "password"}.
    """
    environment = Environment(environ, single or {})
    return Vault(settings.data_home / FOLDER, environment, choice=settings.secrets, ask=ask)


def _without_passphrase(*, new: bool) -> SecretsError:
    if not new:
        hint = "Set COPYDESK_PASSPHRASE, or start Copydesk in a terminal, where it asks."
        return SecretsError("The keys to your accounts are encrypted, and there is no passphrase.", hint=hint)
    hint = "Set COPYDESK_PASSPHRASE to keep them encrypted, or connect with --plain to keep them as they are."
    return SecretsError("There is no keyring here and no passphrase to keep keys with.", hint=hint)
