"""The door of the console in a browser: whom it lets in, and what it tells of."""

import pytest

from copydesk.cli.web_door import Door


class Told(Door):
    """A door that keeps the addresses that it told of."""

    def __init__(self, port: int = 8399) -> None:
        self.addresses: list[str] = []
        super().__init__(port, self.addresses.append)
        self.announce()

    def key(self) -> str:
        """The key in the last address."""
        return self.addresses[-1].partition("/?key=")[2]


def test_the_address_is_of_the_loopback_and_its_key_cannot_be_guessed() -> None:
    door = Told()
    assert door.addresses[0].startswith("http://127.0.0.1:8399/?key=")
    assert len(door.key()) > 20
    assert door.key() != Told().key()


def test_a_key_opens_once() -> None:
    door = Told()
    key = door.key()
    assert door.take(key)
    assert not door.take(key)


def test_who_comes_with_a_used_key_finds_a_new_one_where_it_is_served() -> None:
    door = Told()
    first = door.key()
    door.take(first)
    door.take(first)
    door.take(first)
    assert len(door.addresses) == 2
    assert door.key() != first
    assert door.take(door.key())


@pytest.mark.parametrize("key", [None, "", "guess", "kéy"])
def test_a_wrong_key_opens_nothing_and_prints_nothing(key: str | None) -> None:
    door = Told()
    assert not door.take(key)
    assert len(door.addresses) == 1


def test_a_key_is_no_cookie_and_a_cookie_is_no_key() -> None:
    door = Told()
    assert not door.knows(door.key())
    assert not door.take(door.session)
    assert door.knows(door.session)
    assert not door.knows(None)
    assert not door.knows("")


def test_two_consoles_have_two_cookies() -> None:
    assert Told(8399).cookie != Told(8400).cookie


@pytest.mark.parametrize("host", ["127.0.0.1:8399", "localhost:8399"])
@pytest.mark.parametrize("origin", [None, "http://127.0.0.1:8399", "http://localhost:8399"])
def test_what_comes_from_here_is_at_home(host: str, origin: str | None) -> None:
    assert Told().at_home(host, origin)


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
def test_nothing_else_is(host: str, origin: str | None) -> None:
    assert not Told().at_home(host, origin)
