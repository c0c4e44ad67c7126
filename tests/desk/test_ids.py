"""Tests for ids that are given by their ends, and for short ids in lists."""

from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from copydesk.desk import Desk
from copydesk.errors import InvalidError
from copydesk.model.ids import IdKind
from copydesk.model.token import Scope
from copydesk.store import id_ends
from copydesk.store.raw_sql import dbapi_connection
from desk_fixtures import create_source, execute_sql, open_desk_at
from posting_fixtures import connect_account, create_approved_draft, fake_platforms, open_posting_desk
from store_fixtures import connect_to, postgresql_server

EXPERIMENT = {
    "name": "Hooks",
    "parameter": "hook",
    "variants": [{"id": name, "label": name, "config": {"hook": name}} for name in ("a", "b")],
}


def make_id(end: str) -> str:
    """Return an id that ends with `end`."""
    return "01987a3c-1f00-7abc-8def-0123456789ab"[: -len(end)] + end


async def create_draft(desk: Desk, home: Path, text: str, end: str) -> str:
    """Create a draft whose id ends with `end`; return the id."""
    (draft,) = (await desk.drafts.create({"text": text})).drafts
    draft_id = make_id(end)
    with closing(connect_to(home)) as connection, connection:
        if postgresql_server() is not None:
            # Foreign keys are checked otherwise, as SQLite does only on the connections of the desk.
            connection.execute("SET session_replication_role = replica")
        for table, column in (("draft_event", "draft_id"), ("draft", "id")):
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (draft_id, draft.id))
    return draft_id


async def create_rows(desk: Desk) -> dict[IdKind, str]:
    """Create one row of each kind; return the ids."""
    await connect_account(desk)
    draft = await create_approved_draft(desk)
    await desk.posting.post(draft)
    (report,) = await desk.posting.list_deliveries(draft)
    return {
        IdKind.SOURCE: (await create_source(desk)).id,
        IdKind.ITEM: (await desk.drafts.get(draft)).item.id,
        IdKind.DRAFT: draft,
        IdKind.DELIVERY: report.id,
        IdKind.RUN: (await desk.pipeline.queue()).id,
        IdKind.EXPERIMENT: (await desk.experiments.create(EXPERIMENT)).id,
        IdKind.WEBHOOK: (await desk.webhooks.create({"url": "https://hooks.example/"})).id,
        IdKind.TOKEN: (await desk.tokens.create("agent", Scope.READ)).id,
    }


@pytest.fixture
async def posting_desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        yield desk


async def test_every_kind_is_found_by_its_end(posting_desk):
    ids = await create_rows(posting_desk)

    assert set(ids) == set(IdKind)
    for kind, whole_id in ids.items():
        for length in (4, 6, 12, 20, 35):
            assert await posting_desk.ids.resolve(kind, [whole_id[-length:].upper()]) == (whole_id,)
        assert await posting_desk.ids.shorten(kind, [whole_id]) == {whole_id: whole_id[-6:]}
        (match,) = await posting_desk.ids.list_newest(kind)
        assert (match.id, match.short_id) == (whole_id, whole_id[-6:])


async def test_rows_are_described(posting_desk):
    await create_rows(posting_desk)
    (draft,) = await posting_desk.drafts.queue() or (await posting_desk.drafts.list()).items

    described = {
        kind: [(match.status, match.text) for match in await posting_desk.ids.list_newest(kind)] for kind in IdKind
    }

    (run,) = (await posting_desk.pipeline.list()).items
    assert described == {
        IdKind.SOURCE: [("unknown", "one.example")],
        IdKind.ITEM: [("drafted", draft.item.title)],
        IdKind.DRAFT: [("posted", draft.text)],
        IdKind.DELIVERY: [("sent", draft.text)],
        IdKind.RUN: [("queued", f"{run.started_at:%Y-%m-%d %H:%M UTC}")],
        IdKind.EXPERIMENT: [("active", "Hooks")],
        IdKind.WEBHOOK: [("active", "https://hooks.example/")],
        IdKind.TOKEN: [("active", "agent")],
    }


async def test_whole_and_unknown_ids_are_returned_as_they_are(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        await create_draft(desk, tmp_path, "One.", "aaaa11")
        given = (make_id("bbbb22"), "nobody", "", "bbbb", "aaaa11"[::-1], "%%%%", "\x00", "x" * 1_000_000)

        assert await desk.ids.resolve(IdKind.DRAFT, given) == given
        assert await desk.ids.resolve(IdKind.SOURCE, ["aa11"]) == ("aa11",)


async def test_ambiguous_end_lists_candidates(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        first = await create_draft(desk, tmp_path, "The \x1b[31mferry\nleaves " + "early " * 20, "1aaaa11")
        second = await create_draft(desk, tmp_path, "Harbour news", "2aaaa11")
        await desk.drafts.approve(second)

        with pytest.raises(InvalidError) as error:
            await desk.ids.resolve(IdKind.DRAFT, ["aa11"])

        (problem,) = error.value.errors
        assert problem.message == (
            "“aa11” is the end of several draft ids: 2aaaa11 (approved) Harbour news;"
            " 1aaaa11 (needs review) The ferry leaves early early early…"
        )
        assert await desk.ids.resolve(IdKind.DRAFT, ["1aaaa11", "2aaaa11"]) == (first, second)


async def test_ambiguous_end_names_few_candidates(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        for number in range(6):
            await create_draft(desk, tmp_path, f"Draft {number}", f"{number}aaaa11")

        with pytest.raises(InvalidError, match=r"Draft 5; .*Draft 1; and more") as error:
            await desk.ids.resolve(IdKind.DRAFT, ["aa11"])
        assert "Draft 0" not in str(error.value)


async def test_short_end_is_refused(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(InvalidError, match="“a11” is too short"):
            await desk.ids.resolve(IdKind.DRAFT, ["a11"])


async def test_short_ids_have_one_length(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        ids = [await create_draft(desk, tmp_path, "One.", end) for end in ("bb22aaaa11", "33aaaa11", "c11111")]

        assert list((await desk.ids.shorten(IdKind.DRAFT, ids)).values()) == ["2aaaa11", "3aaaa11", "5c11111"]
        assert await desk.ids.shorten(IdKind.DRAFT, ids[2:]) == {ids[2]: "c11111"}
        # The others are not in this list, but they are there.
        assert await desk.ids.shorten(IdKind.DRAFT, ids[:1]) == {ids[0]: "2aaaa11"}
        assert await desk.ids.shorten(IdKind.DRAFT, []) == {}


async def test_ids_of_others_do_not_matter(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        mine = await create_draft(desk, tmp_path, "One.", "1aaaa11")
        theirs = await create_draft(desk, tmp_path, "Two.", "2aaaa11")
        execute_sql(
            tmp_path, "INSERT INTO user (id, name, time_zone, created_at) VALUES (?, 'anna', 'UTC', 0)", make_id("ffff")
        )
        execute_sql(tmp_path, "UPDATE draft SET user_id = ? WHERE id = ?", make_id("ffff"), theirs)

        assert await desk.ids.resolve(IdKind.DRAFT, ["aa11", "2aaaa11"]) == (mine, "2aaaa11")
        assert await desk.ids.shorten(IdKind.DRAFT, [mine]) == {mine: "aaaa11"}
        assert [match.id for match in await desk.ids.list_newest(IdKind.DRAFT)] == [mine]


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize("kind", [IdKind.DRAFT, IdKind.DELIVERY])
@pytest.mark.parametrize(
    "query",
    [
        lambda conn, user_id, kind: id_ends.list_ending_with(conn, user_id, kind, "aa11", 6),
        lambda conn, user_id, kind: id_ends.list_similar(conn, user_id, kind, [make_id("aa11"), make_id("bb22")]),
    ],
)
async def test_ends_are_found_through_the_index(tmp_path, kind, query: Callable[[Connection, str, IdKind], object]):
    def plan(conn: Connection, user_id: str) -> str:
        statements: list[str] = []
        # They go to the driver, past SQLAlchemy's events.
        connection = dbapi_connection(conn)
        connection.set_trace_callback(statements.append)
        query(conn, user_id, kind)
        connection.set_trace_callback(None)
        return str(connection.execute(f"EXPLAIN QUERY PLAN {statements[-1]}").fetchall())

    async with open_desk_at(tmp_path) as desk:
        found = await desk._context.database.read(plan, desk.user.id)
    assert f"ix_{kind}_user_id_id_end (user_id=? AND <expr>=?)" in found
