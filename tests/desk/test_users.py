"""Tests for desks of several users in one database."""

import asyncio

import pytest

from copydesk import InvalidError, NotFoundError, open_desk
from desk_fixtures import query_db, settings_at


def stored_names(home):
    return [name for (name,) in query_db(home, 'SELECT name FROM "user" ORDER BY id')]


async def test_user_sees_only_own_drafts(tmp_path):
    settings = settings_at(tmp_path)
    async with open_desk(settings) as desk:
        (draft,) = (await desk.drafts.create({"text": "The owner's."})).drafts
        assert desk.user.name == "owner"
    async with open_desk(settings, user="anna") as desk:
        assert desk.user.name == "anna"
        assert (await desk.drafts.list()).items == ()
        with pytest.raises(NotFoundError):
            await desk.drafts.approve(draft.id)
        await desk.drafts.create({"text": "Anna's."})
    async with open_desk(settings, user="anna") as desk:
        assert [draft.text for draft in (await desk.drafts.list()).items] == ["Anna's."]
    async with open_desk(settings, user="owner") as desk:
        assert [draft.text for draft in (await desk.drafts.list()).items] == ["The owner's."]
    assert stored_names(tmp_path) == ["owner", "anna"]


async def test_first_user_is_the_owner(tmp_path):
    """The console opens the first user's desk: it must not become Anna's because she came first."""
    settings = settings_at(tmp_path)
    async with open_desk(settings, user="anna") as desk:
        await desk.drafts.create({"text": "Anna's."})
    async with open_desk(settings) as desk:
        assert desk.user.name == "owner"
        assert (await desk.drafts.list()).items == ()


async def test_user_is_created_once(tmp_path):
    settings = settings_at(tmp_path)

    async def open_and_close() -> str:
        async with open_desk(settings, user="anna") as desk:
            return desk.user.id

    async with open_desk(settings):
        first, second = await asyncio.gather(open_and_close(), open_and_close())
    assert first == second
    assert stored_names(tmp_path) == ["owner", "anna"]


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "an\nna", 5])
async def test_invalid_user_name_is_refused(tmp_path, name):
    with pytest.raises(InvalidError, match=r"^user: "):
        async with open_desk(settings_at(tmp_path), user=name):
            pass
    assert not (tmp_path / "state").exists()
