"""Tests for idempotency keys derived from the delivery's id."""

import re
from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from copydesk.posting.platform import short_key, tid_key, uuid_key
from copydesk.store.ids import IdGenerator

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
seeds = st.builds(
    lambda seconds, bits: IdGenerator(lambda most: bits % (1 << most))(NOW + timedelta(seconds=seconds)),
    st.integers(0, 10**9),
    st.integers(0, 2**74 - 1),
)
ALPHABET = "234567abcdefghijklmnopqrstuvwxyz"


def decode_tid(tid: str) -> tuple[int, int]:
    """Return (microseconds since 1970, clock id), decoded independently from the specification."""
    value = 0
    for letter in tid:
        value = value * 32 + ALPHABET.index(letter)
    return value >> 10, value & 1023


@given(seed=seeds, position=st.integers(0, 99))
def test_key_is_deterministic(seed, position):
    assert tid_key(seed, position) == tid_key(seed, position)
    assert uuid_key(seed, position) == uuid_key(seed, position)
    assert short_key(seed) == short_key(seed)


@given(seed=seeds)
def test_thread_keys_differ_and_sort_in_order(seed):
    keys = [tid_key(seed, position) for position in range(100)]
    assert sorted(set(keys)) == keys
    assert len({uuid_key(seed, position) for position in range(100)}) == 100


@given(seed=seeds, position=st.integers(0, 99))
def test_tid_follows_specification(seed, position):
    tid = tid_key(seed, position)
    assert re.fullmatch(r"[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}", tid)
    micros, clock = decode_tid(tid)
    assert 0 <= clock < 1024
    milliseconds = int(seed.replace("-", "")[:12], 16)
    assert milliseconds * 1000 <= micros < (milliseconds + 1) * 1000


@given(first=seeds, second=seeds)
def test_deliveries_share_no_key(first, second):
    if first != second:
        assert uuid_key(first, 0) != uuid_key(second, 0)
        assert short_key(first) != short_key(second)


def test_simultaneous_deliveries_share_no_tid():
    # Both sources of randomness are seeded: a TID has room for a million keys per millisecond, so chance pairs exist.
    ids = IdGenerator(Random(1).getrandbits, Random(2).getrandbits)
    keys = {tid_key(ids(NOW), position) for _ in range(100) for position in range(2)}
    assert len(keys) == 200
