"""Pages of one user's drafts on PostgreSQL among those of ten users and of thousands.

Each user has a thousand drafts, so that a page differs only by the size of the tables. COPYDESK_BENCH_USERS is the
number of users, by default 1,000; `make bench-users` measures with 10,000, who have ten million drafts.
"""

import asyncio
import gc
import os
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench_draft_queries import Filter, make_filters
from large_desk import COMMON_WORD, IDS
from large_server_desk import fill_for_users, id_of_user
from table_row import Row

import postgresql_server
from copydesk.desk import Desk, open_desks
from copydesk.desk.desks import Desks
from desk_fixtures import settings_at

FEW_USERS, MANY_USERS = 10, int(os.environ.get("COPYDESK_BENCH_USERS", "1000"))
DRAFTS_PER_USER, PAGE = 1_000, 25
MEASURED_USERS, ROUNDS = 8, 40
COLD_USERS = 100
"""Users whose page was not read since the tables were written."""
TARGET = 1.2


class Pages(NamedTuple):
    """Milliseconds of the same page among few and among many users."""

    few: float
    many: float

    @property
    def ratio(self) -> float:
        return self.many / self.few


def measure() -> list[Row]:
    """Return the rows of the table."""
    with TemporaryDirectory() as folder, _server() as server:
        homes = [Path(folder) / name for name in ("few", "many")]
        for home, users in zip(homes, (FEW_USERS, MANY_USERS), strict=True):
            home.mkdir()
            fill = partial(fill_for_users, users=users, drafts_per_user=DRAFTS_PER_USER)
            server.share(home, f"copydesk_users_{users}", fill)
        return asyncio.run(_measure(*homes))


@contextmanager
def _server() -> Iterator[postgresql_server.PostgresqlServer]:
    """Yield the server of the benchmarks, or one of this module's own."""
    if postgresql_server.server is not None:
        yield postgresql_server.server
        return
    server = postgresql_server.use_postgresql(synced=True)
    try:
        yield server
    finally:
        server.close()


async def _measure(few_home: Path, many_home: Path) -> list[Row]:
    async with open_desks(settings_at(few_home)) as few, open_desks(settings_at(many_home)) as many:
        gc.freeze()
        # Before anything else is read, and with the connection and the modules ready.
        await (await _open(many, 1)).drafts.list()
        cold = [await _time_page(await _open(many, number), {}) for number in _pick(COLD_USERS, 2, MANY_USERS)]
        pages = {case.name: await _compare(few, many, case) for case in make_filters(IDS, DRAFTS_PER_USER)}
        search = await _compare(few, many, None)
    return _rows(pages, search, statistics.median(cold))


def _rows(pages: dict[str, Pages], search: Pages, cold: float) -> list[Row]:
    drafts = f"{MANY_USERS * DRAFTS_PER_USER:,} drafts of {MANY_USERS:,} users on PostgreSQL"
    plain = pages["no filter"]
    worst = max(pages, key=lambda name: pages[name].ratio)
    return [
        _row(f"page of {PAGE} of {drafts}", plain),
        _row(f"the worst of {len(pages)} pages by filters among {drafts}: {worst}", pages[worst]),
        _row(f"search for a common word among {drafts}", search),
        Row(
            f"page of {PAGE} of {drafts}, of a user who has read none before",
            f"{cold:.2f} ms",
            f"one who has {plain.many:.2f} ms",
            f"{cold / plain.many:.2f}",
            "",
            None,
        ),
    ]


def _row(label: str, pages: Pages) -> Row:
    return Row(
        label,
        f"{pages.many:.2f} ms",
        f"among {FEW_USERS * DRAFTS_PER_USER:,} of {FEW_USERS} users {pages.few:.2f} ms",
        f"{pages.ratio:.2f}",
        f"at most {TARGET:g}",
        pages.ratio <= TARGET,
    )


def _pick(count: int, first: int, users: int) -> Sequence[int]:
    """Return numbers of users, but for those below `first`."""
    return random.Random(1).sample(range(first, users), min(count, users - first))


async def _open(desks: Desks, number: int) -> Desk:
    """Return the desk of a user."""
    return await desks.get(id_of_user(IDS.user, number))


async def _compare(few: Desks, many: Desks, filter: Filter | None) -> Pages:
    """Measure a page of several users in turn in both databases; without a filter, a search."""
    fastest = []
    numbers = (_pick(MEASURED_USERS, 1, FEW_USERS), _pick(MEASURED_USERS, 1, MANY_USERS))
    for pair in zip(*numbers, strict=True):
        desks = [await _open(database, number) for database, number in zip((few, many), pair, strict=True)]
        parameters = [_parameters(filter, number) for number in pair]
        rounds = [
            [await _time_page(desk, values) for desk, values in zip(desks, parameters, strict=True)]
            for _ in range(ROUNDS)
        ]
        # Other load only ever makes a page slower.
        fastest.append([min(times) for times in zip(*rounds, strict=True)])
    return Pages(*(statistics.median(column) for column in zip(*fastest, strict=True)))


def _parameters(filter: Filter | None, number: int) -> dict[str, object] | None:
    """Return the parameters of the filter for this user; None for a search."""
    if filter is None or "source_id" not in filter.params:
        return filter and filter.params
    return {"source_id": id_of_user(filter.params["source_id"], number)}


async def _time_page(desk: Desk, parameters: dict[str, object] | None) -> float:
    started = time.perf_counter()
    if parameters is None:
        page = await desk.drafts.search(COMMON_WORD)
    else:
        page = await desk.drafts.list(**parameters)
    milliseconds = 1000 * (time.perf_counter() - started)
    assert page.items
    return milliseconds


if __name__ == "__main__":
    for row in measure():
        print(row)
