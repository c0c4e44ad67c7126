"""Tests for the jobs of all users in one process."""

import asyncio
from datetime import timedelta

import pytest

from copydesk.errors import StoreBusyError
from copydesk.jobs import AllJobs, run_all_jobs
from copydesk.model.job import JobName
from desk_fixtures import NOW, URL_ONE, FakeWeb, Watch, create_source, entry, feed, list_drafts, query_db
from desks_fixtures import open_desks_at
from schedule_fixtures import insert_scheduled


def make_web():
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    return web


async def finish(all_jobs):
    """Tick once, and finish the jobs of every user."""
    await all_jobs.tick()
    for jobs in all_jobs._jobs.values():
        await jobs.drain()


async def job_names(desk):
    return {state.name for state in await desk.job_leases.states()}


async def test_jobs_of_every_user_run(tmp_path):
    async with open_desks_at(tmp_path, make_web()) as desks:
        users = (desks.owner, await desks.users.add("anna"))
        for user in users:
            await create_source(await desks.get(user))
        messages = []
        all_jobs = AllJobs(desks, lambda user, message: messages.append((user.name, message.job)))
        await finish(all_jobs)
        await all_jobs.stop()
        for user in users:
            desk = await desks.get(user)
            assert len(await list_drafts(desk)) == 1
            assert {JobName.PIPELINE, JobName.RETENTION} <= await job_names(desk)
        assert sorted(messages) == [("anna", "pipeline"), ("owner", "pipeline")]


@pytest.mark.sqlite("of a server no automatic backups are made")
async def test_one_backup_is_made(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        anna = await desks.get(await desks.users.add("anna"))
        all_jobs = AllJobs(desks)
        await finish(all_jobs)
        await all_jobs.stop()
        assert JobName.BACKUP in await job_names(await desks.get(desks.owner))
        assert JobName.BACKUP not in await job_names(anna)
        assert len(list((tmp_path / "backups").iterdir())) == 1


async def test_users_come_and_go(tmp_path):
    watch = Watch()
    async with open_desks_at(tmp_path, clock=watch) as desks:
        all_jobs = AllJobs(desks)
        await finish(all_jobs)
        anna = await desks.get(await desks.users.add("anna"))
        assert await job_names(anna) == set()
        await finish(all_jobs)
        assert JobName.ZONES in await job_names(anna)
        await desks.users.remove("anna")
        await finish(all_jobs)
        assert list(all_jobs._jobs) == [desks.owner.id]
        await all_jobs.stop()


async def test_next_draft_and_new_work_of_any_user(tmp_path):
    watch = Watch()
    async with open_desks_at(tmp_path, clock=watch) as desks:
        owner, anna = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        await insert_scheduled(owner, NOW + timedelta(hours=2))
        await insert_scheduled(anna, NOW + timedelta(hours=1))
        all_jobs = AllJobs(desks)
        assert await all_jobs.tick() == timedelta(hours=1)
        for jobs in all_jobs._jobs.values():
            await jobs.drain()
        await all_jobs.tick()
        assert not await all_jobs.has_new_work()
        await insert_scheduled(anna, NOW + timedelta(minutes=5))
        async with asyncio.timeout(60):
            # A server may notify a moment after the commit.
            while not await all_jobs.has_new_work():
                pass
        await all_jobs.stop()


async def test_stop_ends_the_jobs_of_all_users(tmp_path):
    web = make_web()
    async with open_desks_at(tmp_path, web) as desks:
        await create_source(await desks.get(await desks.users.add("anna")))
        held = web.hold(URL_ONE)
        async with run_all_jobs(desks, shutdown_timeout=0):
            await held.requested.wait()
    assert query_db(tmp_path, "SELECT status FROM run") == [("cancelled",)]
    assert query_db(tmp_path, "SELECT name FROM job WHERE owner IS NOT NULL") == []


async def test_unreadable_users_do_not_end_the_jobs(tmp_path, monkeypatch):
    async with open_desks_at(tmp_path, make_web()) as desks:
        all_jobs = AllJobs(desks)
        await finish(all_jobs)
        owner = await desks.get(desks.owner)
        await create_source(owner)

        async def fail():
            raise StoreBusyError

        monkeypatch.setattr(desks.users, "list", fail)
        await finish(all_jobs)
        await all_jobs.stop()
        assert len(await list_drafts(owner)) == 1
