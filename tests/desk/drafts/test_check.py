"""Tests for checking a text that is being typed, and for the claims of stored drafts."""

from pathlib import Path

import pytest

from copydesk.errors import InvalidError, NotFoundError
from copydesk.model.draft import Checks, ClaimVerdict, Format
from copydesk.model.requests import MAX_TEXT_LENGTH
from copydesk.model.targets import TextLimit
from desk_fixtures import URL_ONE, URL_TWO, FakeWeb, create_source, entry, feed, list_drafts, open_desk_at
from posting_fixtures import connect_account, fake_platforms, open_posting_desk

SUMMARY = "The harbour bridge opened on Monday after nine years. It cost 40 million euros and carries 900 cars a day."
UNKNOWN = "019a5b2e-6c1f-7d3a-9b47-3f0c2a91e5d8"


async def drafted(desk):
    await create_source(desk, URL_ONE)
    await desk.pipeline.run()
    return (await list_drafts(desk))[0]


@pytest.fixture
def web() -> FakeWeb:
    pages = FakeWeb()
    pages.put(URL_ONE, feed(entry(1, title="Harbour bridge opens", text=SUMMARY)))
    return pages


async def test_typed_text_is_checked_against_the_source(tmp_path: Path, web: FakeWeb) -> None:
    async with open_desk_at(tmp_path, web) as desk:
        draft = await drafted(desk)
        checks = await desk.drafts.check("It cost 50 million euros and carries 900 cars a day.", draft_id=draft.id)
        assert [claim.verdict for claim in checks.claims] == [ClaimVerdict.CONTRADICTS]
        assert "contradiction" in {finding.rule for finding in checks.findings}
        assert (await desk.drafts.get(draft.id)) == draft


async def test_claims_are_stored_with_the_draft_and_renewed_by_an_edit(tmp_path: Path, web: FakeWeb) -> None:
    async with open_desk_at(tmp_path, web) as desk:
        draft = await drafted(desk)
        assert {claim.verdict for claim in draft.checks.claims} == {ClaimVerdict.SUPPORTED}
        edited = await desk.drafts.edit(draft.id, "The harbour bridge closed on Monday after nine years.")
        (claim,) = (await desk.drafts.get(draft.id)).checks.claims
        assert claim == edited.checks.claims[0]
        assert claim.verdict is ClaimVerdict.CONTRADICTS
        assert claim.source is not None
        assert claim.source.text.startswith("The harbour bridge opened")


async def test_text_of_no_draft_is_checked_without_a_source(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        checks = await desk.drafts.check("Bread &amp; salt", format="THREAD")
        assert {"entity", "thread-parts"} <= {finding.rule for finding in checks.findings}
        assert checks.claims == ()
        assert "empty" in {finding.rule for finding in (await desk.drafts.check("")).findings}


async def test_unknown_draft_and_too_long_text_are_refused(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(NotFoundError):
            await desk.drafts.check("Mine.", draft_id=UNKNOWN)
        with pytest.raises(InvalidError):
            await desk.drafts.check("a" * (MAX_TEXT_LENGTH + 1))


def platforms(checks: Checks) -> set[str]:
    """Return the platforms for which the text is too long."""
    names = ("Bluesky", "Mastodon", "X", "Fake Social")
    return {name for name in names for finding in checks.findings if f"on {name}," in finding.message}


async def test_limits_of_connected_platforms_apply(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        assert platforms(await desk.drafts.check("a" * 301)) == {"Bluesky", "X"}
        await connect_account(desk, platform="micropub")
        # It takes no short draft.
        assert platforms(await desk.drafts.check("a" * 301)) == {"Bluesky", "X"}
        await connect_account(desk, platform="mastodon")
        assert platforms(await desk.drafts.check("a" * 301)) == set()
        assert platforms(await desk.drafts.check("a" * 501)) == {"Mastodon"}


async def test_limit_of_a_server_takes_the_place_of_its_platform(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await connect_account(desk, platform="mastodon", max_length=5000)
        assert platforms(await desk.drafts.check("a" * 5000)) == set()
        assert platforms(await desk.drafts.check("a" * 5001)) == {"Mastodon"}
        await connect_account(desk, "other", platform="mastodon", max_length=600)
        assert platforms(await desk.drafts.check("a" * 601)) == {"Mastodon"}


async def test_limits_are_those_of_the_targeted_account(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await connect_account(desk, platform="bluesky")
        await connect_account(desk, platform="mastodon")
        for targets, expected in (
            (["Mastodon:me"], set()),
            (["mastodon"], set()),
            (["x:me"], {"X"}),
            ([], {"Bluesky"}),
        ):
            created = await desk.drafts.create({"text": "a" * 400, "targetPlatforms": targets})
            assert platforms((await desk.drafts.get(created.drafts[0].id)).checks) == expected


async def test_limits_are_those_of_the_platforms_that_posting_uses(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await connect_account(desk, max_length=100)
        created = await desk.drafts.create({"text": "a" * 101})
        draft = await desk.drafts.get(created.drafts[0].id)
        assert await desk.drafts.text_limits(draft.id) == (TextLimit("fake", 100),)
        assert platforms(draft.checks) == {"Fake Social"}


async def test_limits_of_an_edit_are_those_of_its_checks(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        created = await desk.drafts.create({"text": "one\n\n---\n\ntwo", "format": "THREAD"})
        targeted = await desk.drafts.create({"text": "Some.", "targetPlatforms": ["mastodon", "x"]})
        thread, short = (result.drafts[0].id for result in (created, targeted))
        assert await desk.drafts.text_limits(thread) == (TextLimit("x", 280), TextLimit("bluesky", 300))
        # LinkedIn takes no thread.
        await connect_account(desk, platform="linkedin")
        await connect_account(desk, platform="mastodon", max_length=5000)
        assert await desk.drafts.text_limits(thread) == (TextLimit("mastodon", 5000),)
        assert await desk.drafts.text_limits(short) == (TextLimit("x", 280), TextLimit("mastodon", 5000))


async def test_texts_are_written_for_the_connected_platforms(tmp_path: Path) -> None:
    # Too long for Bluesky, but not for Mastodon.
    bridge = (
        "Engineers of the Harwick harbour authority reopen the historic swing bridge of 1868 on Saturday, after"
        " nineteen months in which contractors replaced eleven of forty cracked iron girders, two motors and the"
        " asphalt of both footways for 14 million pounds altogether."
    )
    bakery = (
        "The oldest bakery of Lyon sold a last loaf of wholemeal rye bread on Friday, and the municipal museum paid"
        " 9,000 euros for the brick oven in which four generations baked 600 loaves nightly through two world wars,"
        " general strikes and several spring floods."
    )
    web = FakeWeb()
    titles = (
        "Swing bridge at Harwick reopens to traffic on Saturday",
        "Lyon's oldest bakery closes and sells its oven",
    )
    for url, title, text in zip((URL_ONE, URL_TWO), titles, (bridge, bakery), strict=True):
        web.put(url, feed(entry(1, title=title, text=text, link=f"{url}/1")))
    async with open_desk_at(tmp_path, web) as desk:
        before = [await drafted(desk), await desk.voice.preview({}, Format.SHORT)]
        await connect_account(desk, platform="mastodon")
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        (second,) = [draft for draft in await list_drafts(desk) if draft.id != before[0].id]
        after = [second, await desk.voice.preview({}, Format.SHORT)]
    quoted = [bridge in text.text or bakery in text.text for text in (*before, *after)]
    assert quoted == [False, False, True, True]
