"""Tests for how drafts credit a source that the user has named."""

from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.drafting.extract.attribution import get_source_name
from copydesk.drafting.writer import build_brief
from copydesk.model.draft import Format
from copydesk.model.voice import Voice
from copydesk.store import items
from desk_fixtures import URL_ONE, FakeWeb, Watch, create_source, entry, feed, open_desk_at

TITLE = "The Quay – News"


async def credited(desk: Desk) -> set[str]:
    """Return the names that drafts of the stored items credit."""
    found = await desk._context.read(items.list_newest, 10)
    briefs = [build_brief(item, Format.SHORT, Voice(), source_type=None) for item in found]
    return {get_source_name(brief) for brief in briefs}


@pytest.mark.parametrize(
    ("name", "expected"), [("The Quay: harbour notes", "The Quay: harbour notes"), (TITLE, "The Quay")]
)
async def test_name_of_the_user_is_credited_whole(tmp_path: Path, name: str, expected: str) -> None:
    web, watch = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1), title=TITLE))
    async with open_desk_at(tmp_path, web, clock=watch) as desk:
        await create_source(desk, URL_ONE, name=name)
        await desk.pipeline.run()
        assert await credited(desk) == {expected}
        # The feed gets another title, which the user has not chosen either.
        web.put(URL_ONE, feed(entry(1), entry(2), title="Quay Media"))
        watch.now += timedelta(days=1)
        await desk.pipeline.run()
        assert await credited(desk) == {expected}


async def test_renamed_source_is_credited_by_its_new_name(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), title=TITLE))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk, URL_ONE, name=TITLE)
        await desk.pipeline.run()
        await desk.sources.update(source.id, {"name": "My quay – notes"})
        assert await credited(desk) == {"My quay – notes"}
