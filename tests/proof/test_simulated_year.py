"""Tests that a desk runs for a year: every post goes out once, at its slot, and nothing grows without end."""

from datetime import time, timedelta
from itertools import pairwise
from pathlib import Path

from desk_fixtures import integrity_errors, query_db
from sampling import EXHAUSTIVE
from simulated_desk import SLOTS, START, Reading, Year, live_year

DAYS = 365 if EXHAUSTIVE else 2
"""Two days have a clock change, too."""
DAYS_PER_START = 5 if EXHAUSTIVE else 1
"""The desk is closed and opened again after these."""
WARM_UP = 100
"""Days after which caches are full: new stories are compared with the drafts of the last 60 days."""
DAILY_BYTES = 120_000
"""Growth of the database in a day of 13 entries, 10 drafts and 3 posts. Measured: 70,000, most of it drafts and
their history, which are kept."""
DAILY_BLOCKS = 400
"""Growth of the blocks of memory that Python holds in a day; the test itself keeps 50. Measured: 160."""
MEMORY = 50 * 2**20
"""Growth of the process after the warm-up. Measured: 25 MiB, mostly of pages that the allocator keeps."""


def test_desk_runs_for_a_year(tmp_path: Path) -> None:
    year = live_year(tmp_path, DAYS, days_per_start=DAYS_PER_START)
    readings = year.readings
    assert year.failures == []
    assert integrity_errors(tmp_path) == []
    assert_posted_in_slots(year, tmp_path)
    assert {reading.open_files for reading in readings} == {readings[0].open_files}
    assert max(reading.backups for reading in readings) <= 7
    if EXHAUSTIVE:
        assert_growth_is_bounded(readings[WARM_UP // DAYS_PER_START :])


def describe_items(home: Path) -> list[str]:
    """Return how many items ended in which way, the most frequent first."""
    query = "SELECT count(*), state, substr(reason, 1, 20) FROM item GROUP BY 2, 3 ORDER BY 1 DESC LIMIT 20"
    return [" ".join(map(str, row)) for row in query_db(home, query)]


def assert_posted_in_slots(year: Year, home: Path) -> None:
    """Assert that whatever was scheduled arrived once, at a slot by the wall clock, whichever its offset is."""
    days = [START.date() + timedelta(days=day) for day in range(DAYS)]
    slots = [(day, time(*slot)) for day in days for slot in SLOTS]
    local = [at.astimezone(START.tzinfo).replace(tzinfo=None) for at in year.post_times]
    times = [(at.date(), at.time()) for at in local]
    assert sorted(set(times)) == times
    assert set(times) <= set(slots)
    # On a few days the feeds have fewer entries.
    unused = [f"{day} {at:%H:%M}" for day, at in slots if (day, at) not in set(times)]
    assert len(unused) <= 0.05 * len(slots), "\n".join([*describe_items(home), *unused])
    texts = [text for (text,) in query_db(home, "SELECT text FROM draft WHERE status = 'posted'")]
    assert sorted(texts) == sorted(year.posts)
    waiting = "('scheduled', 'posting', 'missed', 'approved')"
    assert query_db(home, f"SELECT id FROM draft WHERE status IN {waiting}") == []


def assert_growth_is_bounded(readings: list[Reading]) -> None:
    """Assert that nothing grows faster than it is used, and that no day takes longer than those before."""
    first, middle, last = readings[0], readings[len(readings) // 2], readings[-1]
    days = (len(readings) - 1) * DAYS_PER_START
    assert (last.database - first.database) / days < DAILY_BYTES
    assert last.database - middle.database < 1.2 * (middle.database - first.database) + DAILY_BYTES
    assert (last.blocks - first.blocks) / days < DAILY_BLOCKS
    assert last.memory - first.memory < MEMORY
    times = [later.cpu - earlier.cpu for earlier, later in pairwise(readings)]
    third = len(times) // 3
    # The fastest of many days: processor time grows on a machine that is busy with other work.
    assert min(times[-third:]) < 2 * min(times[:third])
