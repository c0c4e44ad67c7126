"""Tests for the desks of several users on one opened database."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from copydesk.desk import open_desk
from copydesk.desk.pipeline.service import Pipeline
from copydesk.errors import ConflictError, DeskClosedError, InvalidError, NotFoundError, StoreBusyError
from copydesk.model.run import RunStatus
from desk_fixtures import URL_ONE, URL_TWO, FakeWeb, create_source, entry, execute_sql, feed, query_db, settings_at
from desks_fixtures import open_desks_at


async def test_users_see_only_their_own(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        anna, ben = [await desks.get(await desks.users.add(name)) for name in ("anna", "ben")]
        owner = await desks.get(desks.owner)
        for desk in (owner, anna, ben):
            await desk.drafts.create({"text": f"By {desk.user.name}."})
        for desk in (owner, anna, ben):
            (draft,) = (await desk.drafts.list()).items
            assert draft.text == f"By {desk.user.name}."
        (draft,) = (await anna.drafts.list()).items
        with pytest.raises(NotFoundError):
            await ben.drafts.approve(draft.id)


async def test_desk_of_a_user_is_opened_once(tmp_path, monkeypatch):
    recovered = []
    recover = Pipeline.recover

    async def count(pipeline):
        recovered.append(pipeline)
        return await recover(pipeline)

    monkeypatch.setattr(Pipeline, "recover", count)
    async with open_desks_at(tmp_path) as desks:
        anna = await desks.users.add("anna")
        assert recovered == []
        opened = await asyncio.gather(*(desks.get(user) for user in (anna, anna.id, anna, desks.owner)))
        assert opened[0] is opened[1] is opened[2] is not opened[3]
        assert len(recovered) == 2


async def test_interrupted_run_is_recovered_on_first_use(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        anna = await desks.users.add("anna")
        run = await (await desks.get(anna)).pipeline.queue()
    dead = query_db(tmp_path, "SELECT owner FROM run")[0][0].rsplit("/", 2)[0] + "/999999999/1"
    execute_sql(tmp_path, "UPDATE run SET status = 'running', owner = ?", dead)
    async with open_desks_at(tmp_path) as desks:
        await desks.get(desks.owner)
        assert query_db(tmp_path, "SELECT status FROM run") == [("running",)]
        found = await (await desks.get(anna)).pipeline.get(run.id)
        assert found.status is RunStatus.INTERRUPTED


@pytest.mark.sqlite("PostgreSQL has a lock for each user")
async def test_desks_share_connections_vault_and_network(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        contexts = [(await desks.get(user))._context for user in (desks.owner, await desks.users.add("anna"))]
        first, second = contexts
        assert first.database is second.database
        assert first.vault is second.vault
        assert first.shared.http_transport is second.shared.http_transport
        assert first.platforms is not second.platforms


async def test_all_desks_are_closed_at_the_end(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        anna = await desks.users.add("anna")
        opened = [await desks.get(user) for user in (desks.owner, anna)]
    for desk in opened:
        with pytest.raises(DeskClosedError):
            await desk.drafts.list()
    for work in (
        desks.get(anna), desks.get(anna.id), desks.users.list(), desks.users.add("ben"), desks.users.remove("anna"),
        desks.change_counter(), desks.release_memory(),
    ):  # fmt: skip
        with pytest.raises(DeskClosedError):
            await work


async def test_unknown_user_is_not_found(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        with pytest.raises(NotFoundError, match=r"^No user 'anna'"):
            await desks.get("anna")
        await desks.users.add("anna")
        # By id only: a name is looked up with `users.get`.
        with pytest.raises(NotFoundError):
            await desks.get("anna")
        with pytest.raises(NotFoundError, match=r"No user 'ana'. Did you mean anna?"):
            await desks.users.get("ana")


async def test_user_removed_by_another_process_is_not_found(tmp_path):
    async with open_desks_at(tmp_path) as desks, open_desks_at(tmp_path) as other_process:
        anna = await desks.users.add("anna")
        desk = await desks.get(anna)
        token = await desk.tokens.create("agent", "read")
        await other_process.users.remove("anna")
        assert await desks.authenticate(token.secret) is None
        with pytest.raises(NotFoundError):
            await desks.get(anna.id)
        with pytest.raises(DeskClosedError):
            await desk.drafts.list()
        with pytest.raises(NotFoundError):
            await desks.get(anna)


async def test_users_are_listed_owner_first(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        assert [user.name for user in await desks.users.list()] == ["owner"]
        await desks.users.add("zoe")
        await desks.users.add("anna")
        users = await desks.users.list()
        assert [(user.name, user.is_owner) for user in users] == [("owner", True), ("zoe", False), ("anna", False)]
        assert [await desks.users.get(user.id) for user in users] == list(users)
        assert desks.owner == users[0]


async def test_name_is_taken_whatever_its_case(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        await desks.users.add("Anna")
        for name in ("Anna", "anna", " ANNA ", "OWNER"):
            with pytest.raises(ConflictError, match=r"^There is already a user “"):
                await desks.users.add(name)
        assert len(await desks.users.list()) == 2


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "an\nna", 5])
async def test_invalid_user_name_is_not_added(tmp_path, name):
    async with open_desks_at(tmp_path) as desks:
        with pytest.raises(InvalidError, match=r"^name: "):
            await desks.users.add(name)
        assert len(await desks.users.list()) == 1


async def test_open_desk_opens_the_same_desk(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        anna = await desks.users.add("anna")
        async with open_desk(settings_at(tmp_path), user="anna") as desk:
            assert desk.user == anna
        async with open_desk(settings_at(tmp_path)) as desk:
            assert desk.user == desks.owner


async def test_failed_recovery_leaves_no_desk(tmp_path, monkeypatch):
    async with open_desks_at(tmp_path) as desks:

        async def fail(_):
            raise StoreBusyError

        with monkeypatch.context() as patch:
            patch.setattr(Pipeline, "recover", fail)
            with pytest.raises(StoreBusyError):
                await desks.get(desks.owner)
        desk = await desks.get(desks.owner)
        assert (await desk.drafts.list()).items == ()


async def test_runs_of_two_users_do_not_wait_for_each_other(tmp_path):
    web = FakeWeb()
    for url in (URL_ONE, URL_TWO):
        web.put(url, feed(entry(1)))
    held = web.hold(URL_ONE)
    async with open_desks_at(tmp_path, web) as desks:
        owner, anna = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        await create_source(owner, URL_ONE)
        # Of another host: on PostgreSQL the requests to one take turns.
        await create_source(anna, URL_TWO)
        waiting = asyncio.create_task(owner.pipeline.run())
        await held.requested.wait()
        assert (await anna.pipeline.run()).status is RunStatus.SUCCEEDED
        held.released.set()
        assert (await waiting).status is RunStatus.SUCCEEDED
        for desk in (owner, anna):
            assert len((await desk.drafts.list()).items) == 1


def test_desk_in_a_file_needs_no_server(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from copydesk.desk import open_desk
from copydesk.settings import load

async def open_and_close():
    async with open_desk(load({{}}, Path({str(tmp_path)!r}))) as desk:
        await desk.drafts.counts()

asyncio.run(open_and_close())
assert not [name for name in sys.modules if name.startswith(("psycopg", "copydesk.store.postgresql"))]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
