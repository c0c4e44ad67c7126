"""Keys follow from the delivery's id, differ where they must, and are what platforms take."""

import re
from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from copydesk.posting.keys import short_key, tid_key, uuid_key
from copydesk.store.ids import Ids

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
seeds = st.builds(
    lambda seconds, bits: Ids(lambda most: bits % (1 << most))(NOW + timedelta(seconds=seconds)),
    st.integers(0, 10**9),
    st.integers(0, 2**74 - 1),
)
ALPHABET = "234567abcdefghijklmnopqrstuvwxyz"


def decoded(tid: str) -> tuple[int, int]:
    """Microseconds since 1970 and the clock, read anew from the specification."""
    value = 0
    for letter in tid:
        value = value * 32 + ALPHABET.index(letter)
    return value >> 10, value & 1023


@given(seed=seeds, place=st.integers(0, 99))
def test_a_key_is_the_same_each_time(seed, place):
    assert tid_key(seed, place) == tid_key(seed, place)
    assert uuid_key(seed, place) == uuid_key(seed, place)
    assert short_key(seed) == short_key(seed)


@given(seed=seeds)
def test_the_keys_of_a_thread_differ_and_sort_in_its_order(seed):
    keys = [tid_key(seed, place) for place in range(100)]
    assert sorted(set(keys)) == keys
    assert len({uuid_key(seed, place) for place in range(100)}) == 100


@given(seed=seeds, place=st.integers(0, 99))
def test_a_tid_is_one_by_its_specification(seed, place):
    tid = tid_key(seed, place)
    assert re.fullmatch(r"[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}", tid)
    micros, clock = decoded(tid)
    assert 0 <= clock < 1024
    made = int(seed.replace("-", "")[:12], 16)
    assert made * 1000 <= micros < (made + 1) * 1000


@given(one=seeds, other=seeds)
def test_two_deliveries_share_no_key(one, other):
    if one != other:
        assert uuid_key(one, 0) != uuid_key(other, 0)
        assert short_key(one) != short_key(other)


def test_deliveries_of_one_moment_share_no_tid():
    ids = Ids(Random(1).getrandbits)
    keys = {tid_key(ids(NOW), place) for _ in range(100) for place in range(2)}
    assert len(keys) == 200
