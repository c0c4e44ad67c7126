"""Which of the system's keyrings is taken: none that keeps secrets as they are, or nowhere."""

import subprocess
import sys

import keyring.core
import pytest
from keyring.backends import fail, null
from keyring.backends.chainer import ChainerBackend

from copydesk.secrets.system_keyring import usable_keyring


# None of these is a KeyringBackend: keyring would list them as of the system, in every test of this process.
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
    ("found", "taken"),
    [
        (Good(), Good),
        (Poor(), None),
        (Plaintext(), None),
        (fail.Keyring(), None),
        (null.Keyring(), None),
        (Broken(), None),
    ],
)
def test_only_a_keyring_that_keeps_secrets_as_secrets_is_taken(monkeypatch, found, taken):
    monkeypatch.setattr(keyring.core, "get_keyring", lambda: found)
    assert type(usable_keyring()) is (taken or type(None))


def test_of_several_the_first_good_one_is_taken_alone(monkeypatch):
    monkeypatch.setattr(ChainerBackend, "backends", [Plaintext(), Poor(), Good()])
    monkeypatch.setattr(keyring.core, "get_keyring", ChainerBackend)
    assert type(usable_keyring()) is Good


def test_a_configuration_that_names_no_keyring_is_as_none(monkeypatch):
    def broken() -> None:
        raise ModuleNotFoundError("no.such.Keyring")

    monkeypatch.setattr(keyring.core, "get_keyring", broken)
    assert usable_keyring() is None


def test_keyring_is_imported_when_it_is_first_used():
    code = "import sys, copydesk.secrets.vault; print({'keyring', 'cryptography'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"
