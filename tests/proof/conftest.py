"""The real servers that posts are proven against: each is started once for a test process that asks for it."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count

import pytest

import pds_server

_numbers = count(1)


@pytest.fixture(scope="session")
def pds() -> Iterator[pds_server.Pds]:
    """A Bluesky PDS. Where it cannot be installed its tests are skipped, but never in CI."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(pds_server.running())
        except pds_server.UnavailableError as error:
            if os.environ.get("CI"):
                pytest.fail(f"In CI there has to be a PDS: {error}")
            pytest.skip(f"no PDS: {error}")
        yield server


@pytest.fixture
def writer(pds: pds_server.Pds) -> pds_server.Writer:
    """A new account on the PDS."""
    return pds.writer(f"writer{next(_numbers)}")
