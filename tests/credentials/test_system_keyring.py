"""Tests for choosing the system keyring: only a backend that stores secrets encrypted is used."""

import subprocess
import sys

import keyring.core
import pytest
from keyring.backends import fail, null
from keyring.backends.chainer import ChainerBackend

from copydesk.credentials.backends import find_keyring


# None of these derives from KeyringBackend: keyring would list them as available in every test of this process.
class Good:
    priority = 5


class Poor:
    priority = 0


class Plaintext:
    priority = 9


Plaintext.__module__ = "keyrings.alt.file"


class Broken:
    @property
    def priority(self):
        raise RuntimeError("no session bus")


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        (Good(), Good),
        (Poor(), None),
        (Plaintext(), None),
        (fail.Keyring(), None),
        (null.Keyring(), None),
        (Broken(), None),
    ],
)
def test_only_secure_keyring_is_used(monkeypatch, backend, expected):
    monkeypatch.setattr(keyring.core, "get_keyring", lambda: backend)
    assert type(find_keyring()) is (expected or type(None))


def test_first_usable_backend_of_chain_is_used(monkeypatch):
    monkeypatch.setattr(ChainerBackend, "backends", [Plaintext(), Poor(), Good()])
    monkeypatch.setattr(keyring.core, "get_keyring", ChainerBackend)
    assert type(find_keyring()) is Good


def test_misconfigured_keyring_is_ignored(monkeypatch):
    def broken() -> None:
        raise ModuleNotFoundError("no.such.Keyring")

    monkeypatch.setattr(keyring.core, "get_keyring", broken)
    assert find_keyring() is None


def test_keyring_is_imported_lazily():
    code = "import sys, copydesk.credentials.vault; print({'keyring', 'cryptography'} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "set()\n"
