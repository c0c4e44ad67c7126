"""Open the sample desk: a real desk in its own folder, whose sources are served in-process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from copydesk import sample
from copydesk.settings import Secret, Settings

if TYPE_CHECKING:
    # Imported in `open_sample_desks`: the settings are needed before the console's first paint.
    from copydesk.desk import Clock, Desk, Desks

PLATFORM, LATENCY = "fake", 0.3
"""Platform to which the sample desk posts, and its simulated latency in seconds."""


_CREATED_FILE = "created"
"""Empty file beside the database of a sample desk with history, once all of it was stored."""
_POSTS_FILE = "posted.jsonl"


def is_created(settings: Settings) -> bool:
    """Return False if opening the sample desk with history creates it, or ends a creation that was interrupted."""
    if not settings.has_database:
        return False
    posts = settings.data_home / _POSTS_FILE
    # The last step of the creation shows it, too: earlier versions did not write the file.
    return (settings.data_home / _CREATED_FILE).exists() or (
        posts.exists() and sample.UNKNOWN_POST in posts.read_text(encoding="utf-8")
    )


def sample_settings(settings: Settings) -> Settings:
    """Return the settings with defaults for what the sample desk needs."""
    ranking, twitter = settings.ranking, settings.twitter
    if not ranking.interests:
        ranking = msgspec.structs.replace(ranking, interests=sample.INTERESTS)
    twitter = msgspec.structs.replace(twitter, bearer_token=Secret(sample.BEARER))
    # Always in its own folder: made-up drafts have no place among those of a server.
    database = msgspec.structs.replace(settings.database, url="")
    return msgspec.structs.replace(settings, ranking=ranking, twitter=twitter, database=database)


@asynccontextmanager
async def open_sample(
    settings: Settings, *, clock: "Clock | None" = None, with_history: bool = False
) -> "AsyncIterator[Desk]":
    """Open the owner's sample desk; a new one gets its account, sources and voice, and past posts `with_history`."""
    async with open_sample_desks(settings, clock=clock, with_history=with_history) as desks:
        yield await desks.get(desks.owner)


@asynccontextmanager
async def open_sample_desks(
    settings: Settings, *, clock: "Clock | None" = None, with_history: bool = False
) -> "AsyncIterator[Desks]":
    """Open the database of the sample desk for all its users; the owner's desk is the one of `open_sample`."""
    from copydesk.desk import open_desks, utc_now  # noqa: PLC0415 - see above
    from copydesk.posting.fake import FakePlatform, FakeServer, Fault  # noqa: PLC0415
    from copydesk.posting.platform import DeliveryGuarantees  # noqa: PLC0415
    from copydesk.sample.server import SampleClock, SampleTransport  # noqa: PLC0415

    # Before the database is opened, which creates it.
    adds_history = with_history and not is_created(settings)
    # A platform simulated in a file beside the database: posts can be inspected, and nobody else sees them.
    platform = FakePlatform(
        FakeServer(settings.data_home / _POSTS_FILE),
        # As on LinkedIn: an unknown outcome waits for the user.
        guarantees=DeliveryGuarantees(can_read_back=False, settle_time=timedelta(0)),
        fault_tags={"#refused": Fault.REFUSED, "#unknown": Fault.CUT_AFTER},
    )
    time = SampleClock(clock or utc_now)
    transport = SampleTransport(time())
    async with open_desks(settings, clock=time, transport=transport, platforms={PLATFORM: platform}) as desks:
        # Feed dates are relative to the creation of the desks, so that fetching again returns unchanged content.
        transport.set_time(desks.owner.created_at)
        desk = await desks.get(desks.owner)
        await populate(desk)
        if adds_history:
            from copydesk.sample.history import add_history  # noqa: PLC0415 - not for commands

            await add_history(desk, time)
            (settings.data_home / _CREATED_FILE).touch()
        # The user sees a platform that takes as long as a real one; a new desk is opened without waiting for it.
        platform.latency = LATENCY
        yield desks


async def populate(desk: "Desk") -> None:
    """Give a new sample desk its account, sources and voice."""
    # The voice is stored last, so if it exists everything else does too.
    if (await desk.voice.get()).style:
        return
    await desk.accounts.connect(PLATFORM, {"name": "you"})
    existing_names = {source.name for source in await desk.sources.list()}
    for sample_source in sample.SOURCES:
        if sample_source.name not in existing_names:
            # No test fetch: one of them fails on purpose.
            await desk.sources.create(sample_source.request, test=False)
    await desk.voice.update(sample.VOICE)
