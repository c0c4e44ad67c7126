"""Encryption with a passphrase: scrypt (RFC 7914) for the key, AES-256-GCM (NIST SP 800-38D) for the content.

An encrypted file is one ASCII header line followed by the ciphertext with its tag. The header is authenticated too:

    COPYDESK-SEALED 1 scrypt N r p SALT NONCE CHECK

Salt, nonce and check are hexadecimal; salt and nonce are new for each write. The check is the part of the scrypt output
that is not the key: it distinguishes a wrong passphrase from a damaged file.
"""

import hmac
import os
import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from copydesk.errors import CredentialsError, WrongPassphraseError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NEWER_HEADER = re.compile(rb"COPYDESK-SEALED (?!1 )[0-9]+ ")
_HEADER = re.compile(
    rb"COPYDESK-SEALED 1 scrypt (\d{1,7}) (\d{1,2}) (\d{1,2}) ([0-9a-f]{32}) ([0-9a-f]{24}) ([0-9a-f]{32})\n"
)
_KEY, _CHECK = 32, 16
"""Lengths in bytes."""
# The header is read before it is authenticated: a planted file could ask for any amount.
MAX_MEMORY, MAX_PASSES = 2**28, 16
"""Limits on the scrypt parameters of a file header: bytes of memory, and number of passes over it."""


class ScryptParameters(NamedTuple):
    """scrypt parameters: one guess takes 128 * n * r bytes of memory, p times."""

    n: int = 2**15
    r: int = 8
    p: int = 3


DEFAULT_PARAMETERS = ScryptParameters()
"""One of the settings recommended by OWASP's Password Storage Cheat Sheet: 32 MiB, measured at 0.2 s."""


class Passphrase:
    """Encrypt and decrypt with one passphrase. The last derived key is cached, as derivation is slow by design."""

    def __init__(self, text: str, *, parameters: ScryptParameters = DEFAULT_PARAMETERS) -> None:
        # Normalize: keyboards and systems produce composed or decomposed forms of the same letter.
        self._text = unicodedata.normalize("NFC", text).encode(errors="surrogatepass")
        self._cost = parameters
        self._cached_key: tuple[tuple[ScryptParameters, bytes], bytes] | None = None

    def encrypt(self, content: bytes) -> bytes:
        """Return `content` encrypted under a new salt and nonce."""
        # New for each write: AES-GCM breaks if a nonce is used twice with one key.
        salt, nonce = os.urandom(16), os.urandom(12)
        derived = self._derive(self._cost, salt)
        n, r, p = self._cost
        header = f"COPYDESK-SEALED 1 scrypt {n} {r} {p} {salt.hex()} {nonce.hex()} {derived[_KEY:].hex()}\n".encode()
        return header + _cipher(derived).encrypt(nonce, content, header)

    def decrypt(self, sealed: bytes, file_name: str) -> bytes:
        """Return the decrypted content. `file_name` is used in error messages.

        Raise WrongPassphraseError, or CredentialsError if the file is damaged or was written by a newer version.
        """
        header = _HEADER.match(sealed)
        if header is None:
            raise _header_error(sealed, file_name)
        n, r, p = (int(number) for number in header.groups()[:3])
        salt, nonce, check = (bytes.fromhex(digits.decode()) for digits in header.groups()[3:])
        if not _are_parameters_safe(n, r, p):
            raise damaged_file_error(file_name)
        derived = self._derive(ScryptParameters(n, r, p), salt)
        if not hmac.compare_digest(derived[_KEY:], check):
            hint = "Nothing changed. Try again, or correct COPYDESK_PASSPHRASE if it is set."
            raise WrongPassphraseError(f"Wrong passphrase for {file_name}.", hint=hint)
        return _decrypt(derived, nonce, sealed[header.end() :], header[0], file_name)

    def _derive(self, cost: ScryptParameters, salt: bytes) -> bytes:
        if self._cached_key is None or self._cached_key[0] != (cost, salt):
            from cryptography.hazmat.primitives.kdf.scrypt import Scrypt  # noqa: PLC0415 - only needed with an encrypted file

            kdf = Scrypt(salt=salt, length=_KEY + _CHECK, n=cost.n, r=cost.r, p=cost.p)
            self._cached_key = ((cost, salt), kdf.derive(self._text))
        return self._cached_key[1]


def _cipher(derived: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - as above

    return AESGCM(derived[:_KEY])


def _decrypt(derived: bytes, nonce: bytes, content: bytes, header: bytes, file_name: str) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

    try:
        return _cipher(derived).decrypt(nonce, content, header)
    except InvalidTag:
        raise damaged_file_error(file_name) from None


def _are_parameters_safe(n: int, r: int, p: int) -> bool:
    """Return True for scrypt parameters within the limits: a crafted header must not exhaust memory or time."""
    return n > 1 and n & (n - 1) == 0 and r > 0 and 1 <= p <= MAX_PASSES and 128 * n * r <= MAX_MEMORY


def _header_error(sealed: bytes, file_name: str) -> CredentialsError:
    if _NEWER_HEADER.match(sealed):
        return CredentialsError(f"A newer version of Copydesk created {file_name}.", hint="Install that version.")
    return damaged_file_error(file_name)


def damaged_file_error(file_name: str) -> CredentialsError:
    """Return the error for a file with invalid content."""
    hint = f"Nothing was overwritten. If {file_name}.1 exists, it is the previous version: rename it to {file_name}."
    return CredentialsError(f"{file_name} is damaged.", hint=hint)
