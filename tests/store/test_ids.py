"""Tests for UUIDv7 ids and their order."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import ClockError
from copydesk.store.ids import IdGenerator, creation_time, min_id, new_id

NOW = datetime(2026, 2, 11, 9, 30, 0, 123456, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.integers(0, 200_000_000_000_000_000).map(lambda number: EPOCH + timedelta(microseconds=number))


@given(TIMES)
def test_id_is_canonical_uuid7(now: datetime) -> None:
    parsed = uuid.UUID(new := IdGenerator()(now))

    assert str(parsed) == new
    assert parsed.version == 7
    assert parsed.variant == uuid.RFC_4122


@given(TIMES)
def test_id_carries_creation_time_in_milliseconds(now: datetime) -> None:
    assert creation_time(IdGenerator()(now)) == now.replace(microsecond=now.microsecond // 1000 * 1000)


@given(st.lists(TIMES, min_size=2, max_size=50))
def test_ids_increase_when_clock_jumps(clock: list[datetime]) -> None:
    ids = IdGenerator()

    generated = [ids(now) for now in clock]

    assert generated == sorted(set(generated))


def test_ids_increase_within_one_millisecond() -> None:
    generated = [new_id(NOW) for _ in range(10_000)]

    assert generated == sorted(set(generated))


def test_full_counter_borrows_next_millisecond() -> None:
    # All random bits are ones: the fewest ids fit into a millisecond.
    ids = IdGenerator(lambda bits: (1 << bits) - 1)
    ids._counter, ids._last_millisecond = (1 << 74) - 2, int(NOW.timestamp() * 1000)

    before, after = ids(NOW), ids(NOW)

    assert before < after
    assert creation_time(after) == creation_time(before) == NOW.replace(microsecond=124000)


def test_threads_get_different_ids() -> None:
    def slow_bits(_: int) -> int:
        time.sleep(0)  # let another thread run
        return 1

    ids = IdGenerator(slow_bits, slow_bits)
    with ThreadPoolExecutor(8) as pool:
        generated = list(pool.map(lambda _: ids(NOW), range(1000)))

    assert len(set(generated)) == 1000


def test_processes_get_different_ids() -> None:
    assert IdGenerator()(NOW) != IdGenerator()(NOW)


def test_clock_offset_is_ignored() -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))

    assert creation_time(IdGenerator()(tokyo)) == creation_time(IdGenerator()(NOW))


@pytest.mark.parametrize("now", [NOW.replace(tzinfo=None), datetime(1969, 12, 31, tzinfo=UTC)])
def test_naive_or_pre_epoch_time_is_refused(now: datetime) -> None:
    with pytest.raises((ValueError, ClockError), match=r"makes no id|before 1970"):
        new_id(now)


@pytest.mark.parametrize("text", ["", "hello", "0" * 36, str(uuid.UUID(int=0)), "2a7f25ff-d475-450b-87d0-fa2a3defdc41"])
def test_time_of_invalid_id_raises(text: str) -> None:
    with pytest.raises(ValueError, match="not an id"):
        creation_time(text)


@given(st.integers(0, 4_000_000_000_000), st.integers(-2000, 2000))
def test_least_id_separates_earlier_from_later(milliseconds: int, offset: int) -> None:
    limit = EPOCH + timedelta(milliseconds=milliseconds)
    created_at = max(limit + timedelta(milliseconds=offset), EPOCH)

    assert (IdGenerator()(created_at) >= min_id(limit)) == (created_at >= limit)
