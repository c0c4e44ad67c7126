"""Opens the sample desk: a real desk in a folder of its own, on sources that are served in-process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from copydesk import sample
from copydesk.settings import Secret, Settings

if TYPE_CHECKING:
    # At run time imported when the desk is opened: the settings are wanted before the console's first paint.
    from copydesk.desk import Desk
    from copydesk.desk.ground import Clock

PLATFORM, LATENCY = "fake", 0.3
"""The platform that the sample desk posts to, and the seconds that it takes."""


def sample_settings(settings: Settings) -> Settings:
    """The settings with what the sample desk needs where they leave it open."""
    ranking, twitter = settings.ranking, settings.twitter
    if not ranking.interests:
        ranking = msgspec.structs.replace(ranking, interests=sample.INTERESTS)
    twitter = msgspec.structs.replace(twitter, bearer_token=Secret(sample.BEARER))
    return msgspec.structs.replace(settings, ranking=ranking, twitter=twitter)


@asynccontextmanager
async def open_sample(settings: Settings, *, clock: "Clock | None" = None) -> "AsyncIterator[Desk]":
    """The sample desk, with its sources and its voice where it is new."""
    from copydesk.desk import open_desk  # noqa: PLC0415 - see above
    from copydesk.desk.ground import utc_now  # noqa: PLC0415
    from copydesk.posting.fake import FakePlatform, FakeServer  # noqa: PLC0415

    # A platform that is all here, in a file beside the database: what is posted can be seen, and is seen by nobody.
    platform = FakePlatform(FakeServer(settings.data_home / "posted.jsonl"), latency=LATENCY)
    async with open_desk(settings, clock=clock or utc_now, platforms={PLATFORM: platform}) as desk:
        # Dated relative to the making of the desk: what is read again is the same, and not modified.
        desk.ground.transport = sample.transport(desk.ground.user.created_at)
        # The voice comes last: where it is, everything is.
        if not (await desk.voice.read()).style:
            await _furnish(desk)
        yield desk


async def _furnish(desk: "Desk") -> None:
    await desk.accounts.connect(PLATFORM, {"name": "you"})
    there = {source.name for source in await desk.sources.list()}
    for each in sample.SOURCES:
        if each.name not in there:
            # Without a test fetch: one of them is down, so that there is something to see.
            await desk.sources.create(each.type, each.url, name=each.name, config=each.config, test=False)
    await desk.voice.update(sample.VOICE)
