"""Tests for sources: creating with a test fetch, changing, testing, deleting, OPML import and export."""

import asyncio

import pytest

from copydesk.errors import InvalidError, NotAFeedError, NotFoundError, PageNotFoundError
from copydesk.model.serialization import to_json_value
from copydesk.model.source import Health, SourceConfig
from copydesk.store import sources as kept
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

PAGE_HTML = (
    '<html><head><link rel="alternate" type="application/rss+xml" href="/news.xml"></head><body>Hi</body></html>'
)


async def test_new_source_takes_name_of_feed(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), title="The Ferry Gazette"))
    async with open_desk_at(tmp_path, web) as desk:
        source = await desk.sources.create({"type": "rss", "url": URL_ONE})
        assert await desk.sources.list() == (source,)

    assert web.requested_urls == [URL_ONE]
    assert (source.name, source.type, source.url, source.config) == ("The Ferry Gazette", "rss", URL_ONE, None)
    assert (source.enabled, source.health, source.last_fetch) == (True, Health.UNKNOWN, None)
    assert (source.fail_count, source.last_error, source.item_count) == (0, None, 0)
    assert source.created_at == source.updated_at == NOW


async def test_source_as_json(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        source = await create_source(desk, name="One", weight=2, maxItems=5)

    assert to_json_value(source) == {
        "id": source.id,
        "type": "rss",
        "name": "One",
        "url": URL_ONE,
        "config": {"weight": 2.0, "maxItems": 5},
        "enabled": True,
        "lastFetch": None,
        "health": "unknown",
        "failCount": 0,
        "lastError": None,
        "createdAt": "2026-02-10T12:00:00.000Z",
        "updatedAt": "2026-02-10T12:00:00.000Z",
        "itemCount": 0,
        "namedByUser": True,
    }


async def test_feed_of_site_is_discovered(tmp_path):
    web = FakeWeb()
    web.put("https://site.example/", PAGE_HTML, content_type="text/html")
    web.put("https://site.example/news.xml", feed(entry(1), title="News"))
    async with open_desk_at(tmp_path, web) as desk:
        source = await desk.sources.create({"type": "rss", "url": "https://site.example/#top", "name": "Mine"})

    assert (source.name, source.url) == ("Mine", "https://site.example/news.xml")


@pytest.mark.parametrize(
    ("body", "error"), [(None, PageNotFoundError), ("<html></html>", NotAFeedError), ("", NotAFeedError)]
)
async def test_unreadable_url_is_not_added(tmp_path, body, error):
    web = FakeWeb()
    if body is not None:
        web.put(URL_ONE, body)
    async with open_desk_at(tmp_path, web) as desk:
        with pytest.raises(error):
            await desk.sources.create({"type": "rss", "url": URL_ONE})
        assert await desk.sources.list() == ()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "name: takes 1 to 200 characters, not 0"),
        ({"name": "   "}, "name: takes 1 to 200 characters, not 0"),
        ({"name": "x" * 201}, "name: takes 1 to 200 characters, not 201"),
        ({"name": "\udcff"}, "name: is not valid UTF-8"),
        ({"name": "One\x1b]0;Two\x07"}, "name: contains a control character (U+001B)"),
        ({"config": {"tags": ["fine", "a\nb"]}}, "config.tags: contains a control character (U+000A)"),
        ({"type": "gopher"}, "type: "),
        ({"url": ""}, "url: "),
        ({"url": "not an address"}, "url: "),
        ({"url": "file:///etc/passwd"}, "url: "),
        ({"url": "ftp://one.example/feed"}, "url: "),
        ({"url": "https://" + "x" * 2000 + ".example/"}, "url: takes 1 to 2000 characters, not 2017"),
        (
            {"config": {"wieght": 2}},
            "config.wieght: is not a setting of rss; it has exclude, images, include, interval, language, maxItems,",
        ),
        ({"config": {"weight": "heavy"}}, "config.weight: takes a number, not text"),
        ({"config": {"weight": 11}}, "config.weight: takes a number of at most 10"),
        ({"config": {"maxItems": 0}}, "config.maxItems: takes a whole number of at least 1"),
        ({"config": {"interval": 1.5}}, "config.interval: takes a whole number, not a number"),
        ({"config": {"tags": ["x" * 51]}}, "config.tags[0]: takes text of at most 50 characters"),
        ({"config": {"tags": "one"}}, "config.tags: takes a list, not text"),
        ({"config": {"listing": "best"}}, "config.listing: takes one of hot, new, top, rising"),
    ],
)
async def test_invalid_field_is_refused_without_fetching(tmp_path, fields, message):
    web = FakeWeb()
    values = {"type": "rss", "url": URL_ONE} | fields
    async with open_desk_at(tmp_path, web) as desk:
        with pytest.raises(InvalidError) as refused:
            await desk.sources.create(values)
        existing = await create_source(desk)
        with pytest.raises(InvalidError) as refused_change:
            await desk.sources.update(existing.id, fields)
        assert await desk.sources.get(existing.id) == existing

    assert str(refused.value).startswith(message)
    assert str(refused_change.value).startswith(message)
    assert web.requested_urls == []


@pytest.mark.parametrize("length", [1, 200])
async def test_name_length_limits(tmp_path, length):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        assert (await create_source(desk, name="ö" * length)).name == "ö" * length


async def test_name_is_stripped(tmp_path):
    """A name of 200 characters followed by a space was once refused."""
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        assert (await create_source(desk, name=f" {'x' * 200}\n")).name == "x" * 200


async def test_long_feed_title_is_truncated(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), title="T" * 500))
    web.put(URL_TWO, feed(entry(1), title=" "))
    async with open_desk_at(tmp_path, web) as desk:
        assert (await desk.sources.create({"type": "rss", "url": URL_ONE})).name == "T" * 200
        assert (await desk.sources.create({"type": "rss", "url": URL_TWO})).name == "two.example"


async def test_omitted_fields_keep_their_values(tmp_path):
    clock = Watch()
    async with open_desk_at(tmp_path, FakeWeb(), clock) as desk:
        source = await create_source(desk, name="One", weight=2)
        clock.advance(60)
        changed = await desk.sources.update(source.id, {"name": "Uno"})
        unchanged = await desk.sources.update(source.id, {})
        disabled = await desk.sources.update(source.id, {"enabled": False})
        without_config = await desk.sources.update(source.id, {"config": None})

    assert (changed.name, changed.url, changed.config) == ("Uno", URL_ONE, SourceConfig(weight=2.0))
    assert (changed.created_at, changed.updated_at) == (NOW, clock())
    assert unchanged == changed
    assert (disabled.enabled, disabled.config) == (False, SourceConfig(weight=2.0))
    assert without_config.config is None


async def test_only_new_url_resets_fetch_state(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.fail(URL_ONE, 500)
    web.put(URL_TWO, feed(entry(1)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        renamed = await desk.sources.update(source.id, {"name": "Other", "config": {"weight": 3}, "url": URL_ONE})
        assert (renamed.fail_count, renamed.health, renamed.last_fetch) == (1, Health.DEGRADED, NOW)
        moved = await desk.sources.update(source.id, {"url": URL_TWO})
        assert (moved.fail_count, moved.health, moved.last_fetch) == (0, Health.UNKNOWN, None)
        assert moved.last_error is None
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(1)]


@pytest.mark.parametrize("field", ["id", "health", "failCount", "fetch"])
async def test_internal_fields_cannot_be_changed(tmp_path, field):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        source = await create_source(desk)
        with pytest.raises(InvalidError, match=f"{field}: cannot be changed"):
            await desk.sources.update(source.id, {field: "x"})


@pytest.mark.parametrize("value", ["yes", 1, None])
async def test_enabled_is_a_boolean(tmp_path, value):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        source = await create_source(desk)
        with pytest.raises(InvalidError, match="enabled: takes true or false"):
            await desk.sources.update(source.id, {"enabled": value})


async def test_deleting_removes_items_and_drafts_only(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2, hours=60)))
    web.put(URL_TWO, feed(entry(3)))
    async with open_desk_at(tmp_path, web) as desk:
        source, _ = await create_source(desk, tags=["x"]), await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        await desk.sources.delete(source.id)
        assert await draft_titles(desk) == [story_title(3)]
        with pytest.raises(NotFoundError):
            await desk.sources.delete(source.id)

    assert item_states(tmp_path) == {story_title(3): "drafted"}
    for table in ("draft_tag", "draft_image"):
        assert query_db(tmp_path, f"SELECT count(*) FROM {table}") == [(0,)]
    assert query_db(tmp_path, "SELECT count(*) FROM draft_event") == [(1,)]


async def test_test_fetch_stores_nothing(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(*(entry(number) for number in range(25))))
    web.fail(URL_TWO, 404)
    web.put(URL_THREE, feed())
    async with open_desk_at(tmp_path, web) as desk:
        working, missing, empty = [
            await desk.sources.test((await create_source(desk, url)).id) for url in (URL_ONE, URL_TWO, URL_THREE)
        ]

    assert working.ok
    assert [(item.title, item.url) for item in working.items] == [
        (story_title(number), f"https://stories.example/{number}") for number in range(20)
    ]
    assert to_json_value(missing) == {
        "ok": False,
        "error": "Page not found on two.example (404). Check the address; the site may have moved its feed.",
    }
    assert (empty.ok, empty.items) == (True, ())
    assert item_states(tmp_path) == {}
    assert query_db(tmp_path, "SELECT fail_count, last_fetch FROM source") == [(0, None)] * 3


async def test_opml_round_trip(tmp_path):
    web = FakeWeb()
    async with open_desk_at(tmp_path / "here", web) as desk:
        await create_source(desk, name='Quotes "&" <tags>', weight=2.5, include=["a, b", "/x+/"], tags=["é"])
        await create_source(desk, "https://news.example.substack.com", type="substack", name="News")
        await create_source(desk, "https://www.reddit.com/r/python", type="reddit", listing="top", window="week")
        await create_source(desk, "https://news.ycombinator.com/", type="hackernews", list="best")
        await create_source(desk, "https://news.ycombinator.com/", type="hackernews", query="ferries")
        await create_source(desk, "https://news.ycombinator.com/", type="hackernews", query="harbours")
        await create_source(desk, "https://news.google.com/", type="google_news", query="ferries", hl="en-GB")
        await create_source(desk, "https://x.com/somebody", type="twitter", replies=True)
        before = await desk.sources.list()
        opml = await desk.sources.export_opml()
    async with open_desk_at(tmp_path / "there", web) as desk:
        imported = await desk.sources.import_opml(opml.encode())
        assert imported.refused == ()
        after = await desk.sources.list()
        second_import = await desk.sources.import_opml(opml.encode())

    def comparable(sources):
        return [(source.type, source.name, source.url, source.config or SourceConfig()) for source in sources]

    assert comparable(after) == comparable(before)
    assert (len(second_import.added), len(second_import.known)) == (0, len(before))
    assert web.requested_urls == []


async def test_opml_import_names_refused_feeds(tmp_path):
    opml = b"""<opml version="2.0"><body><outline text="Group">
        <outline text="One" xmlUrl="https://one.example/feed"/>
        <outline text="Local" xmlUrl="file:///etc/passwd"/>
        <outline text="Again" xmlUrl="https://one.example/feed#news"/>
        </outline></body></opml>"""
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        imported = await desk.sources.import_opml(opml)
        with pytest.raises(InvalidError, match="file: is not OPML"):
            await desk.sources.import_opml(b"hello")

    assert [(source.name, source.url) for source in imported.added] == [("One", URL_ONE)]
    assert imported.known == (URL_ONE,)
    assert [address for address, _ in imported.refused] == ["file:///etc/passwd"]


async def test_opml_import_loads_sources_once(tmp_path, monkeypatch):
    feeds = "".join(f'<outline text="{number}" xmlUrl="https://{number}.example/feed"/>' for number in range(300))
    calls = []
    original = kept.list_all

    def counting(*args):
        calls.append(args)
        return original(*args)

    monkeypatch.setattr(kept, "list_all", counting)
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        imported = await desk.sources.import_opml(f"<opml>{feeds}</opml>".encode())
    assert (len(imported.added), len(calls)) == (300, 1)


async def test_source_added_concurrently_is_refused(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    response = web.hold(URL_ONE)
    async with open_desk_at(tmp_path, web) as first_desk, open_desk_at(tmp_path, web) as second_desk:
        create_task = asyncio.create_task(first_desk.sources.create({"type": "rss", "url": URL_ONE}))
        await response.requested.wait()
        # Without a test fetch, which would wait for the other one on PostgreSQL.
        await create_source(second_desk, URL_ONE)
        response.released.set()
        with pytest.raises(InvalidError, match="already"):
            await create_task
        assert len(await first_desk.sources.list()) == 1


async def test_concurrent_moves_to_one_url_are_refused(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as first_desk, open_desk_at(tmp_path) as second_desk:
        first_source, second_source = await create_source(first_desk, URL_ONE), await create_source(first_desk, URL_TWO)
        write = first_desk._context.write_durable

        async def write_after_other(*args):
            monkeypatch.setattr(first_desk._context, "write_durable", write)
            await second_desk.sources.update(second_source.id, {"url": URL_THREE}, test=False)
            return await write(*args)

        monkeypatch.setattr(first_desk._context, "write_durable", write_after_other)
        with pytest.raises(InvalidError, match="already"):
            await first_desk.sources.update(first_source.id, {"url": URL_THREE}, test=False)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "a\x00b"}, "name"),
        ({"name": "a\udcff"}, "name"),
        ({"config": {"query": "a\x00b"}}, "config.query"),
        ({"config": {"include": ["fine", "\udcff"]}}, "config.include"),
        ({"config": {"tags": ["\x00"]}}, "config.tags"),
    ],
)
async def test_unstorable_text_names_field(tmp_path, fields, field):
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(InvalidError) as refused:
            await desk.sources.create({"type": "rss", "url": URL_ONE, **fields}, test=False)
        assert [error.field for error in refused.value.errors] == [field]
        source = await create_source(desk)
        with pytest.raises(InvalidError):
            await desk.sources.update(source.id, fields)
        assert await desk.sources.list() == (source,)
