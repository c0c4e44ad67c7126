"""Encrypts with a passphrase: scrypt (RFC 7914) for the key, AES-256-GCM (NIST SP 800-38D) for the content.

A sealed file is one line of ASCII, and the encrypted content with its tag after it. The line is authenticated too:

    COPYDESK-SEALED 1 scrypt N r p SALT NONCE CHECK

Salt, nonce and check are hexadecimal; the first two are drawn anew for each writing. The check is the part of what
scrypt gives that is not the key: by it a wrong passphrase is told from a damaged file.
"""

import hmac
import os
import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from copydesk.errors import SecretsError, WrongPassphraseError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NEWER = re.compile(rb"COPYDESK-SEALED (?!1 )[0-9]+ ")
_HEADER = re.compile(
    rb"COPYDESK-SEALED 1 scrypt (\d{1,7}) (\d{1,2}) (\d{1,2}) ([0-9a-f]{32}) ([0-9a-f]{24}) ([0-9a-f]{32})\n"
)
_KEY, _CHECK = 32, 16
"""Bytes."""
MOST_MEMORY, MOST_PASSES = 2**28, 16
"""Bytes, and how many times over them, that the header of a file may make scrypt work."""


class Cost(NamedTuple):
    """What one guess of a passphrase costs: 128 * n * r bytes of memory, p times over."""

    n: int = 2**15
    r: int = 8
    p: int = 3


USUAL = Cost()
"""One of those that OWASP's Password Storage Cheat Sheet names: 32 MiB, and 0.2 s where it was measured."""


class Passphrase:
    """Seals and unseals with one passphrase, and remembers the last key, as each takes a while."""

    def __init__(self, text: str, *, cost: Cost = USUAL) -> None:
        # One letter can be written in two ways, and not every keyboard writes it in the same one.
        self._text = unicodedata.normalize("NFC", text).encode(errors="surrogatepass")
        self._cost = cost
        self._last: tuple[tuple[Cost, bytes], bytes] | None = None

    def seal(self, content: bytes) -> bytes:
        """`content`, sealed under a new salt and nonce."""
        salt, nonce = os.urandom(16), os.urandom(12)
        derived = self._derived(self._cost, salt)
        n, r, p = self._cost
        header = f"COPYDESK-SEALED 1 scrypt {n} {r} {p} {salt.hex()} {nonce.hex()} {derived[_KEY:].hex()}\n".encode()
        return header + _cipher(derived).encrypt(nonce, content, header)

    def unseal(self, sealed: bytes, where: str) -> bytes:
        """What was sealed. `where` names the file in the errors.

        WrongPassphraseError; SecretsError for what is damaged, or written by a newer version.
        """
        header = _HEADER.match(sealed)
        if header is None:
            raise _not_ours(sealed, where)
        n, r, p = (int(number) for number in header.groups()[:3])
        salt, nonce, check = (bytes.fromhex(digits.decode()) for digits in header.groups()[3:])
        if not _bearable(n, r, p):
            raise damaged(where)
        derived = self._derived(Cost(n, r, p), salt)
        if not hmac.compare_digest(derived[_KEY:], check):
            hint = "Nothing was changed. Try again; or if COPYDESK_PASSPHRASE is set, set it anew."
            raise WrongPassphraseError(f"The passphrase is not the one of {where}.", hint=hint)
        return _decrypted(derived, nonce, sealed[header.end() :], header[0], where)

    def _derived(self, cost: Cost, salt: bytes) -> bytes:
        if self._last is None or self._last[0] != (cost, salt):
            from cryptography.hazmat.primitives.kdf.scrypt import Scrypt  # noqa: PLC0415 - only where there is a file

            kdf = Scrypt(salt=salt, length=_KEY + _CHECK, n=cost.n, r=cost.r, p=cost.p)
            self._last = ((cost, salt), kdf.derive(self._text))
        return self._last[1]


def _cipher(derived: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - as above

    return AESGCM(derived[:_KEY])


def _decrypted(derived: bytes, nonce: bytes, content: bytes, header: bytes, where: str) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

    try:
        return _cipher(derived).decrypt(nonce, content, header)
    except InvalidTag:
        raise damaged(where) from None


def _bearable(n: int, r: int, p: int) -> bool:
    """Whether these are parameters of scrypt, and not ones that take all the memory or an hour."""
    return n > 1 and n & (n - 1) == 0 and r > 0 and 1 <= p <= MOST_PASSES and 128 * n * r <= MOST_MEMORY


def _not_ours(sealed: bytes, where: str) -> SecretsError:
    if _NEWER.match(sealed):
        return SecretsError(f"A newer version of Copydesk wrote {where}.", hint="Install that version.")
    return damaged(where)


def damaged(where: str) -> SecretsError:
    """The error for a file that holds something else than what was written."""
    hint = f"Nothing was overwritten. {where}.1, if it is there, is the one before: rename it to take its place."
    return SecretsError(f"{where} is damaged.", hint=hint)
