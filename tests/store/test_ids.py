"""Ids: UUIDv7, in order, whatever the clock does."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.store.ids import Ids, least_id, new_id, time_of

NOW = datetime(2026, 2, 11, 9, 30, 0, 123456, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 200_000_000_000_000_000).map(lambda number: EPOCH + timedelta(microseconds=number))


@given(MOMENTS)
def test_an_id_is_a_uuid_of_version_7_in_canonical_form(now: datetime) -> None:
    made = uuid.UUID(new := Ids()(now))

    assert str(made) == new
    assert made.version == 7
    assert made.variant == uuid.RFC_4122


@given(MOMENTS)
def test_an_id_carries_the_time_it_was_made_to_the_millisecond(now: datetime) -> None:
    assert time_of(Ids()(now)) == now.replace(microsecond=now.microsecond // 1000 * 1000)


@given(st.lists(MOMENTS, min_size=2, max_size=50))
def test_ids_increase_whatever_the_clock_does(clock: list[datetime]) -> None:
    ids = Ids()

    made = [ids(now) for now in clock]

    assert made == sorted(set(made))


def test_ids_increase_within_one_millisecond() -> None:
    made = [new_id(NOW) for _ in range(10_000)]

    assert made == sorted(set(made))


def test_a_full_counter_borrows_the_next_millisecond() -> None:
    # All the random bits are ones: a millisecond has room for the fewest ids.
    ids = Ids(lambda bits: (1 << bits) - 1)
    ids._counter, ids._moment = (1 << 74) - 2, int(NOW.timestamp() * 1000)

    before, after = ids(NOW), ids(NOW)

    assert before < after
    assert time_of(after) == time_of(before) == NOW.replace(microsecond=124000)


def test_threads_get_different_ids() -> None:
    def slow_bits(_: int) -> int:
        time.sleep(0)  # lets another thread in
        return 1

    ids = Ids(slow_bits, slow_bits)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: ids(NOW), range(1000)))

    assert len(set(made)) == 1000


def test_two_processes_do_not_make_the_same_id() -> None:
    assert Ids()(NOW) != Ids()(NOW)


def test_the_offset_of_the_clock_does_not_matter() -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))

    assert time_of(Ids()(tokyo)) == time_of(Ids()(NOW))


@pytest.mark.parametrize("now", [NOW.replace(tzinfo=None), datetime(1969, 12, 31, tzinfo=UTC)])
def test_a_time_that_is_no_moment_or_too_early_is_refused(now: datetime) -> None:
    with pytest.raises(ValueError, match="makes no id"):
        new_id(now)


@pytest.mark.parametrize("text", ["", "hello", "0" * 36, str(uuid.UUID(int=0)), "2a7f25ff-d475-450b-87d0-fa2a3defdc41"])
def test_what_is_no_id_has_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="not an id"):
        time_of(text)


@given(st.integers(0, 4_000_000_000_000), st.integers(-2000, 2000))
def test_the_least_id_of_a_moment_parts_what_was_made_before_it_from_the_rest(moment: int, apart: int) -> None:
    then = EPOCH + timedelta(milliseconds=moment)
    made = max(then + timedelta(milliseconds=apart), EPOCH)

    assert (Ids()(made) >= least_id(then)) == (made >= then)
