"""Telling two bodies apart."""

from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from copydesk.text.digest import digest


@given(st.binary(max_size=40), st.integers(0, 400))
def test_the_digest_is_that_of_the_whole_whatever_its_length(piece: bytes, times: int) -> None:
    assert digest(piece * times) == blake2b(piece * times, digest_size=16).digest()
