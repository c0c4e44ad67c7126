"""Tests for the state of a source after each possible outcome of a fetch."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.errors import GoneError
from copydesk.ingest import fetch_policy
from copydesk.model.run import RunStatus
from copydesk.model.source import Health, Source
from copydesk.store import sources
from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_THREE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    draft_titles,
    entry,
    feed,
    item_states,
    open_desk_at,
    query_db,
    story_title,
)


async def source_after_run(home, prepare, **settings: str) -> Source:
    """Run once with a second, working source; return the source at ONE."""
    web = FakeWeb()
    prepare(web)
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(home, web, **settings) as desk:
        source = await create_source(desk)
        await create_source(desk, URL_TWO)
        run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        assert story_title(2) in await draft_titles(desk)
        return await desk.sources.get(source.id)


async def test_successful_fetch(tmp_path):
    source = await source_after_run(tmp_path, lambda web: web.put(URL_ONE, feed(entry(1), entry(3))))

    assert (source.health, source.fail_count, source.last_error) == (Health.HEALTHY, 0, None)
    assert (source.last_fetch, source.item_count) == (NOW, 2)


@pytest.mark.parametrize(
    ("set_response", "health", "fail_count", "message"),
    [
        (lambda web: web.fail(URL_ONE, 404), Health.ERROR, 1, "Page not found on one.example (404)."),
        (
            lambda web: web.fail(URL_ONE, 410),
            Health.ERROR,
            1,
            "this address permanently (410). Remove the source",
        ),
        (lambda web: web.fail(URL_ONE, 500), Health.DEGRADED, 1, "status 500 (internal server error)"),
        (
            lambda web: web.fail(URL_ONE, 403),
            Health.DEGRADED,
            1,
            "blocks programs (403). Check the credentials",
        ),
        (lambda web: web.fail(URL_ONE, 429, retry_after="60"), Health.DEGRADED, 0, "asks to wait 1 minute."),
        (lambda web: web.disconnect(URL_ONE), Health.DEGRADED, 1, "Cannot connect to one.example."),
        (lambda web: web.hold(URL_ONE), Health.DEGRADED, 1, "did not respond in time."),
        (lambda web: web.put(URL_ONE, "<html><body/></html>"), Health.DEGRADED, 1, "is a web page, not a feed."),
        (lambda web: web.put(URL_ONE, ""), Health.DEGRADED, 1, "The response is empty."),
        (lambda web: web.put(URL_ONE, "hello"), Health.DEGRADED, 1, "neither XML nor a JSON Feed."),
    ],
    ids=["404", "410", "500", "403", "429", "unreachable", "timeout", "html", "empty", "text"],
)
async def test_failure_is_described(tmp_path, set_response, health, fail_count, message):
    source = await source_after_run(tmp_path, set_response, network__timeout="1")

    assert (source.health, source.fail_count) == (health, fail_count)
    assert message in str(source.last_error)
    assert (source.last_fetch, source.item_count) == (NOW, 0)


async def test_third_failure_is_error_and_success_resets_it(tmp_path):
    web, clock, fetch_states = FakeWeb(), Watch(), []
    web.fail(URL_ONE, 503)
    async with open_desk_at(tmp_path, web, clock) as desk:
        source = await create_source(desk)
        for _ in range(3):
            clock.advance(60)
            await desk.pipeline.run()
            failing = await desk.sources.get(source.id)
            fetch_states.append((failing.fail_count, failing.health))
        web.put(URL_ONE, feed(entry(1)))
        await desk.pipeline.run()
        recovered = await desk.sources.get(source.id)

    assert fetch_states == [(1, Health.DEGRADED), (2, Health.DEGRADED), (3, Health.ERROR)]
    assert (recovered.fail_count, recovered.health, recovered.last_error) == (0, Health.HEALTHY, None)


async def test_source_with_410_is_not_fetched_until_moved(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.fail(URL_ONE, 410)
    web.put(URL_TWO, feed(entry(1)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        clock.advance(40 * 86_400)
        await desk.pipeline.run()
        assert web.requested_urls == [URL_ONE]
        await desk.sources.update(source.id, {"url": URL_TWO}, test=False)
        await desk.pipeline.run()
        assert web.requested_urls == [URL_ONE, URL_TWO]
        assert (await desk.sources.get(source.id)).health is Health.HEALTHY


@asynccontextmanager
async def desk_with_gone_source(path: Path, web: FakeWeb, clock: Watch) -> AsyncIterator[tuple[Desk, Source]]:
    """Open a desk whose source has answered 410, and works again."""
    web.fail(URL_ONE, 410)
    async with open_desk_at(path, web, clock) as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        clock.advance(86_400)
        await desk.pipeline.run()
        assert web.requested_urls == [URL_ONE]
        web.put(URL_ONE, feed(entry(1)))
        yield desk, source


async def test_run_that_names_a_gone_source_fetches_it(tmp_path):
    async with desk_with_gone_source(tmp_path, web := FakeWeb(), Watch()) as (desk, source):
        await desk.pipeline.run({"sourceIds": [source.id]})
        assert (await desk.sources.get(source.id)).health is Health.HEALTHY
        await desk.pipeline.run()
        assert web.requested_urls == [URL_ONE] * 3


async def test_successful_test_fetch_revives_a_gone_source(tmp_path):
    async with desk_with_gone_source(tmp_path, web := FakeWeb(), Watch()) as (desk, source):
        assert (await desk.sources.test(source.id)).ok
        revived = await desk.sources.get(source.id)
        assert (revived.health, revived.fail_count, revived.last_error) == (Health.UNKNOWN, 0, None)
        await desk.pipeline.run({"due": True})
        assert web.requested_urls == [URL_ONE] * 3


async def test_failed_test_fetch_leaves_a_gone_source(tmp_path):
    async with desk_with_gone_source(tmp_path, web := FakeWeb(), Watch()) as (desk, source):
        web.fail(URL_ONE, 410)
        assert not (await desk.sources.test(source.id)).ok
        await desk.pipeline.run()
        assert web.requested_urls == [URL_ONE] * 2


async def test_enabling_tries_a_gone_source_once(tmp_path):
    async with desk_with_gone_source(tmp_path, web := FakeWeb(), Watch()) as (desk, source):
        web.fail(URL_ONE, 410)
        await desk.sources.update(source.id, {"enabled": False})
        await desk.sources.update(source.id, {"enabled": True})
        await desk.pipeline.run({"due": True})
        await desk.pipeline.run({"due": True})
        assert web.requested_urls == [URL_ONE] * 2


async def test_enabling_keeps_what_a_fetch_has_stored_meanwhile(tmp_path, monkeypatch):
    async with desk_with_gone_source(tmp_path, FakeWeb(), Watch()) as (desk, source):
        await desk.sources.update(source.id, {"enabled": False})
        write = desk._context.write_durable

        async def fetch_and_write(*args):
            await desk.pipeline.run({"sourceIds": [source.id]})
            return await write(*args)

        with monkeypatch.context() as patch:
            patch.setattr(desk._context, "write_durable", fetch_and_write)
            await desk.sources.update(source.id, {"enabled": True})
    assert query_db(tmp_path, "SELECT source.fetch ->> 'lastOk' FROM source") != [(None,)]


async def test_enabling_at_a_new_address_forgets_the_state_of_the_old_one(tmp_path):
    async with desk_with_gone_source(tmp_path, FakeWeb(), Watch()) as (desk, source):
        await desk.sources.update(source.id, {"enabled": False})
        await desk.sources.update(source.id, {"enabled": True, "url": URL_TWO}, test=False)
    assert query_db(tmp_path, "SELECT CAST(source.fetch ->> 'fails' AS integer) FROM source") == [(0,)]


@pytest.mark.parametrize("test", [True, False])
async def test_saving_the_address_revives_a_gone_source(tmp_path, test):
    async with desk_with_gone_source(tmp_path, FakeWeb(), Watch()) as (desk, source):
        saved = await desk.sources.update(source.id, {"url": URL_ONE}, test=test)
        assert (saved.health, saved.last_error) == (Health.UNKNOWN, None)
        await desk.pipeline.run({"due": True})
        assert (await desk.sources.get(source.id)).health is Health.HEALTHY


async def test_saving_the_address_of_a_source_that_is_still_gone_is_refused(tmp_path):
    async with desk_with_gone_source(tmp_path, web := FakeWeb(), Watch()) as (desk, source):
        web.fail(URL_ONE, 410)
        with pytest.raises(GoneError):
            await desk.sources.update(source.id, {"url": URL_ONE})


async def test_named_source_that_is_skipped_is_reported(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.fail(URL_ONE, 429, retry_after="3600")
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        throttled, other = await create_source(desk), await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        named = await desk.pipeline.run({"sourceIds": [throttled.id, other.id]})
        assert named.stats.skipped_sources == (throttled.name,)
        assert (await desk.pipeline.run()).stats.skipped_sources == ()


async def test_cooldown_of_host_survives_restart(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.fail(URL_ONE, 429, retry_after="3600")
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        source = await create_source(desk)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
    web.put(URL_ONE, feed(entry(1)))

    for seconds, expected in ((1800, 1), (1799, 1), (2, 2)):
        clock.advance(seconds)
        async with open_desk_at(tmp_path, web, clock) as desk:
            run = await desk.pipeline.run()
            assert run.status is RunStatus.SUCCEEDED
            assert web.requested_urls.count(URL_ONE) == expected
    async with open_desk_at(tmp_path, web, clock) as desk:
        assert (await desk.sources.get(source.id)).last_error is None
    assert story_title(1) in item_states(tmp_path)


async def test_cooldown_applies_to_all_sources_of_host(tmp_path):
    web, clock = FakeWeb(), Watch()
    other = URL_ONE + "/comments"
    web.fail(URL_ONE, 429, retry_after="3600")
    web.put(other, feed(entry(1)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        other_source = await create_source(desk, other)
        await desk.pipeline.run()
        assert web.requested_urls == [URL_ONE]
        assert "asks to wait" in str((await desk.sources.get(other_source.id)).last_error)
        tested = await desk.sources.test(other_source.id)
        assert (tested.ok, web.requested_urls) == (False, [URL_ONE])
        web.put(URL_ONE, feed(entry(2)))
        clock.advance(3601)
        await desk.pipeline.run()
        assert [source.last_error for source in await desk.sources.list()] == [None, None]


async def test_long_silence_of_busy_source_is_stale(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(*(entry(number, hours=24 * number) for number in range(5))))
    async with open_desk_at(tmp_path, web, clock) as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        clock.advance(timedelta(days=13).total_seconds())
        await desk.pipeline.run()
        assert (await desk.sources.get(source.id)).health is Health.HEALTHY
        clock.advance(timedelta(days=2).total_seconds())
        await desk.pipeline.run()
        assert (await desk.sources.get(source.id)).health is Health.STALE


async def test_interrupted_first_fetch_keeps_its_lookup(tmp_path):
    """It was once counted as a success and a failure, so the next fetch was not treated as the first."""
    web, clock = FakeWeb(), Watch()
    lookup = "https://api.x.com/2/users/by/username/somebody"
    web.put(lookup, '{"data": {"id": "7", "username": "somebody", "name": "Somebody"}}')
    async with open_desk_at(tmp_path, web, clock, twitter__bearer_token="t") as desk:
        source = await create_source(desk, "https://x.com/somebody", type="twitter")
        run = await desk.pipeline.run()
        assert (run.status, run.stats.sources_failed) == (RunStatus.FAILED, 1)
        failed = await desk.sources.get(source.id)
        assert (failed.fail_count, failed.health, failed.item_count) == (1, Health.ERROR, 0)
        assert query_db(tmp_path, "SELECT source.fetch ->> 'lastOk' FROM source") == [(None,)]
        clock.advance(60)
        await desk.pipeline.run()

    assert web.requested_urls.count(lookup) == 1


async def test_offline_machine_blames_no_source(tmp_path):
    web = FakeWeb()
    for url in (URL_ONE, URL_TWO, URL_THREE):
        web.disconnect(url)
    async with open_desk_at(tmp_path, web) as desk:
        for url in (URL_ONE, URL_TWO, URL_THREE):
            await create_source(desk, url)
        run = await desk.pipeline.run()
        sources = await desk.sources.list()

    assert run.status is RunStatus.FAILED
    assert run.error == "Cannot reach any source: this machine seems to be offline. Stored items are kept."
    assert query_db(tmp_path, "SELECT error_category FROM run") == [("unreachable",)]
    assert [source.fail_count for source in sources] == [0, 0, 0]
    assert all("Cannot connect to" in str(source.last_error) for source in sources)


async def test_cooldowns_added_while_saving(tmp_path, monkeypatch):
    """The event loop adds hosts to the same dict; the thread that iterated over it once failed the run."""
    web, loop, both_failed = FakeWeb(), asyncio.get_running_loop(), threading.Event()
    for url in (URL_ONE, URL_TWO):
        web.fail(url, 429, retry_after="3600")
    response, failures, original_save = web.hold(URL_TWO), [], sources.save_cooldowns

    def record_failure(*args):
        failures.append(args)
        if len(failures) == 2:
            both_failed.set()
        return after_failure(*args)

    def save_slowly(conn, user_id, hosts, now):
        iterator = iter(hosts)
        next(iterator)
        loop.call_soon_threadsafe(response.released.set)
        assert both_failed.wait(60)
        assert len(list(iterator)) <= 1
        original_save(conn, user_id, hosts, now)

    after_failure = fetch_policy.after_failure
    monkeypatch.setattr(fetch_policy, "after_failure", record_failure)
    monkeypatch.setattr(sources, "save_cooldowns", save_slowly)
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await create_source(desk, URL_TWO)
        run = await desk.pipeline.run()

    assert run.stats.sources_failed == 2
    assert sorted(query_db(tmp_path, "SELECT host FROM host_cooldown")) == [("one.example",), ("two.example",)]
