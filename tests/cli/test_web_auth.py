"""Tests for authenticating browsers: one-time keys, the session token, and the allowed origins."""

import pytest

from copydesk.cli.web import BrowserAuth


class RecordingAuth(BrowserAuth):
    """A BrowserAuth that records the addresses it announces."""

    def __init__(self, port: int = 8399) -> None:
        self.addresses: list[str] = []
        super().__init__(port, self.addresses.append)
        self.announce()

    def key(self) -> str:
        """Return the key of the last address."""
        return self.addresses[-1].partition("/#key=")[2]


def test_address_is_loopback_with_random_key() -> None:
    auth = RecordingAuth()
    assert auth.addresses[0].startswith("http://127.0.0.1:8399/#key=")
    assert len(auth.key()) > 20
    assert auth.key() != RecordingAuth().key()


def test_key_works_once() -> None:
    auth = RecordingAuth()
    key = auth.key()
    assert auth.redeem(key)
    assert not auth.redeem(key)


def test_used_key_prints_new_address() -> None:
    auth = RecordingAuth()
    first_key = auth.key()
    auth.redeem(first_key)
    auth.redeem(first_key)
    auth.redeem(first_key)
    assert len(auth.addresses) == 2
    assert auth.key() != first_key
    assert auth.redeem(auth.key())


@pytest.mark.parametrize("key", [None, "", "guess", "kéy"])
def test_invalid_key_is_refused_silently(key: str | None) -> None:
    auth = RecordingAuth()
    assert not auth.redeem(key)
    assert len(auth.addresses) == 1


def test_key_and_session_token_are_not_interchangeable() -> None:
    auth = RecordingAuth()
    assert not auth.is_session(auth.key())
    assert not auth.redeem(auth.session_token)
    assert auth.is_session(auth.session_token)
    assert not auth.is_session(None)
    assert not auth.is_session("")


def test_session_token_does_not_use_up_key() -> None:
    auth = RecordingAuth()
    assert auth.admits(auth.key(), auth.session_token)
    assert auth.admits(auth.key(), None)
    assert not auth.admits(auth.key(), None)


def test_start_creates_new_session_token() -> None:
    assert RecordingAuth().session_token != RecordingAuth().session_token


@pytest.mark.parametrize("secret", ["\ud83d", "\0", "é" * 1000])
def test_malformed_secret_is_refused(secret: str) -> None:
    auth = RecordingAuth()
    assert not auth.admits(secret, secret)


@pytest.mark.parametrize("host", ["127.0.0.1:8399", "localhost:8399"])
@pytest.mark.parametrize("origin", [None, "http://127.0.0.1:8399", "http://localhost:8399"])
def test_local_hosts_and_origins_are_allowed(host: str, origin: str | None) -> None:
    assert RecordingAuth().is_own_origin(host, origin)


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("elsewhere.example", None),
        ("elsewhere.example:8399", "http://elsewhere.example:8399"),
        ("127.0.0.1:9000", None),
        ("127.0.0.1:8399", "https://elsewhere.example"),
        ("127.0.0.1:8399", "http://127.0.0.1:9000"),
        ("127.0.0.1:8399", "https://127.0.0.1:8399"),
        ("127.0.0.1:8399", "null"),
        ("127.0.0.1:8399", ""),
    ],
)
def test_other_hosts_and_origins_are_refused(host: str, origin: str | None) -> None:
    assert not RecordingAuth().is_own_origin(host, origin)
