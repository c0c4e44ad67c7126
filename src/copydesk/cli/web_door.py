"""Who is let in to the console in a browser: the one browser that has the address, and no page of anybody else's.

The server listens on the loopback only, which keeps out neither other users of this machine nor other pages in the
same browser. So the address has a key that opens once, for a cookie; and what comes from another page, or by a name
that another site has pointed at this machine (DNS rebinding), is refused.
"""

import secrets
from collections.abc import Callable

HOST = "127.0.0.1"
_BYTES = 16


class Door:
    """`announce` is told each address that opens it, once."""

    def __init__(self, port: int, announce: Callable[[str], None]) -> None:
        self.port = port
        self.cookie = f"copydesk-{port}"
        """A browser's cookies are for all ports of a host: two consoles need two names."""
        self.session = secrets.token_urlsafe(_BYTES)
        """What the cookie holds."""
        self._announce = announce
        self.hosts = (f"{HOST}:{port}", f"localhost:{port}")
        """As the console is called in a browser."""
        self._key: str | None = None
        self._used: list[str] = []

    def announce(self) -> None:
        """Make an address, unless there is one that nobody has used, and tell of it."""
        if self._key is None:
            self._key = secrets.token_urlsafe(_BYTES)
            self._announce(f"http://{HOST}:{self.port}/?key={self._key}")

    def at_home(self, host: str, origin: str | None) -> bool:
        """Whether a request for `host` that a page of `origin` makes, if any does, comes from here."""
        return host in self.hosts and origin in (None, *(f"http://{each}" for each in self.hosts))

    def knows(self, cookie: str | None) -> bool:
        """Whether this is the cookie of a browser that was let in."""
        return cookie is not None and _same(cookie, self.session)

    def take(self, key: str | None) -> bool:
        """Whether the key opens. It does so once; who comes with one that was used is told of a new one."""
        if key is None:
            return False
        if self._key is not None and _same(key, self._key):
            self._used.append(key)
            self._key = None
            return True
        if any(_same(key, used) for used in self._used):
            self.announce()
        return False


def _same(given: str, right: str) -> bool:
    """In the same time whatever is given, so that nothing is learnt from trying."""
    return secrets.compare_digest(given.encode(), right.encode())
