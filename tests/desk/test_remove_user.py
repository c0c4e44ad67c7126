"""Tests that a user is removed with everything that belongs to them, and nothing of anybody else."""

import asyncio
import os
from hashlib import sha256

import pytest

from copydesk.credentials.vault import FOLDER_NAME
from copydesk.desk import users as users_module
from copydesk.desk.accounts.credentials import secret_name
from copydesk.errors import ConflictError, NotFoundError, StoreBusyError
from copydesk.images.storage import list_stored
from copydesk.model.delivery import DeliveryState
from copydesk.posting.fake import FakeServer
from copydesk.store import tables, users
from desk_fixtures import (
    NOW,
    URL_ONE,
    FakeWeb,
    create_source,
    entry,
    execute_sql,
    feed,
    integrity_errors,
    list_drafts,
    query_db,
)
from desks_fixtures import MODEL, OWNED_TABLES, fill, open_desks_at, open_working_desks, rows_of
from image_samples import drawing, photo
from store_fixtures import postgresql_server


async def fail(*_):
    raise StoreBusyError


async def test_rows_of_every_table_are_deleted(tmp_path):
    async with open_working_desks(tmp_path) as desks:
        anna = await desks.users.add("anna")
        for user in (desks.owner, anna):
            await fill(await desks.get(user), tmp_path)
        before = rows_of(tmp_path, desks.owner.id)
        assert [name for name, rows in {**before, **rows_of(tmp_path, anna.id)}.items() if not rows] == []
        (indexed,) = query_db(tmp_path, "SELECT count(*) FROM draft_words")

        assert await desks.users.remove("anna") == anna

        assert {name: rows for name, rows in rows_of(tmp_path, anna.id).items() if rows} == {}
        assert rows_of(tmp_path, desks.owner.id) == before
        assert query_db(tmp_path, "SELECT count(*) FROM draft_words") == [(indexed[0] / 2,)]
        assert [user.name for user in await desks.users.list()] == ["owner"]
    assert integrity_errors(tmp_path) == []


async def test_every_table_without_a_user_is_known():
    # Rows of any other would stay when a user is removed.
    without = {table.name for table in tables.metadata.sorted_tables} - {table.name for table in OWNED_TABLES}
    assert without == {"user", "removed_send"}


async def test_credentials_are_deleted(tmp_path):
    async with open_working_desks(tmp_path) as desks:
        anna = await desks.users.add("anna")
        for user in (desks.owner, anna):
            desk = await desks.get(user)
            account = await desk.accounts.connect("fake", {"name": "me"})
            await desk._context.vault.save(
                secret_name(account.details, desk.user), {"password": f"secret-of-{user.name}"}
            )
            webhook = await desk.webhooks.create({"url": "https://hooks.example/"})
            await desk.writers.add(MODEL, f"key-of-{user.name}")
        vault = desk._context.vault
        # On PostgreSQL the secrets of webhooks are in the database.
        count = 2 if postgresql_server() is not None else 3
        assert len(await vault.names()) == 2 * count

        await desks.users.remove("anna")

        kept = await vault.names()
        assert len(kept) == count
        assert not any(webhook.id in name for name in kept)
        secrets = [{"password": "secret-of-owner"}, {"key": "key-of-owner"}]
        assert [await vault.load(name) for name in kept if "webhook" not in name] == secrets
    content = b"".join(path.read_bytes() for path in (tmp_path / FOLDER_NAME).iterdir())
    assert b"secret-of-anna" not in content
    assert b"key-of-anna" not in content
    assert webhook.secret.encode() not in content


async def test_key_of_an_interrupted_add_is_deleted(tmp_path, monkeypatch):
    async with open_working_desks(tmp_path) as desks:
        owner, anna = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        await owner.writers.add(MODEL, "key-of-owner")
        with monkeypatch.context() as patch:
            patch.setattr(anna._context, "write_durable", fail)
            with pytest.raises(StoreBusyError):
                await anna.writers.add(MODEL, "key-of-anna")
        vault = owner._context.vault
        assert len(await vault.names()) == 2
        await desks.users.remove("anna")
        assert [await vault.load(name) for name in await vault.names()] == [{"key": "key-of-owner"}]


async def test_images_of_no_other_draft_are_deleted(tmp_path):
    shared, own = tmp_path / "shared.png", tmp_path / "own.png"
    shared.write_bytes(drawing())
    own.write_bytes(photo())
    async with open_working_desks(tmp_path) as desks:
        owner, anna = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        folder = owner.settings.images_folder
        for desk, files in ((owner, [shared]), (anna, [shared, own])):
            urls = [await desk.drafts.images.save(file) for file in files]
            images = [{"url": url, "source": "UPLOAD", "alt": "A square."} for url in urls]
            await desk.drafts.create({"text": "Look.", "images": images})
        for name in list_stored(folder):
            os.utime(folder / name, (NOW.timestamp() - 60,) * 2)
        assert len(list_stored(folder)) == 2

        await desks.users.remove("anna")

        assert list(list_stored(folder)) == [sha256(shared.read_bytes()).hexdigest()]


async def test_image_that_was_just_stored_again_stays(tmp_path):
    """Somebody else may be about to create a draft with it."""
    file = tmp_path / "photo.png"
    file.write_bytes(photo())
    async with open_working_desks(tmp_path) as desks:
        anna = await desks.get(await desks.users.add("anna"))
        image = {"url": await anna.drafts.images.save(file), "source": "UPLOAD", "alt": "A photo."}
        await anna.drafts.create({"text": "Look.", "images": [image]})
        await desks.users.remove("anna")
        assert len(list_stored(anna.settings.images_folder)) == 1


async def test_interrupted_removal_is_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(users_module, "BATCH_SIZE", 1)
    async with open_working_desks(tmp_path) as desks:
        anna = await desks.users.add("anna")
        for user in (desks.owner, anna):
            await fill(await desks.get(user), tmp_path)
        before = rows_of(tmp_path, desks.owner.id)
        drafts = len(rows_of(tmp_path, anna.id)["draft"])
        write = desks._ctx.database.write

        async def fail_after_one(work, *args):
            if work is users.remove_some_rows and len(rows_of(tmp_path, anna.id)["draft"]) < drafts:
                raise StoreBusyError
            return await write(work, *args)

        monkeypatch.setattr(desks._ctx.database, "write", fail_after_one)
        with pytest.raises(StoreBusyError):
            await desks.users.remove("anna")
        assert len(rows_of(tmp_path, anna.id)["draft"]) == drafts - 1
        assert anna in await desks.users.list()

        monkeypatch.undo()
        await desks.users.remove("anna")
        assert {name: rows for name, rows in rows_of(tmp_path, anna.id).items() if rows} == {}
        assert rows_of(tmp_path, desks.owner.id) == before
    assert integrity_errors(tmp_path) == []


async def test_last_transaction_deletes_no_large_table(tmp_path, monkeypatch):
    """Other users would wait for it."""
    monkeypatch.setattr(users_module, "BATCH_SIZE", 2)
    async with open_working_desks(tmp_path) as desks:
        anna = await desks.users.add("anna")
        await fill(await desks.get(anna), tmp_path)
        filled, left = rows_of(tmp_path, anna.id), {}
        write_durable = desks._ctx.database.write_durable

        async def look_before(work, *args):
            if work is users.remove:
                left.update(rows_of(tmp_path, anna.id))
            return await write_durable(work, *args)

        monkeypatch.setattr(desks._ctx.database, "write_durable", look_before)
        await desks.users.remove("anna")
    large = ("draft", "draft_event", "item", "event", "idempotency_key", "delivery", "engagement")
    assert [name for name in large if not filled[name]] == []
    assert [name for name in large if left[name]] == []


async def test_owner_stays(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        for owner in (desks.owner, "owner", desks.owner.id):
            with pytest.raises(ConflictError, match=r"^The owner cannot be removed"):
                await desks.users.remove(owner)
        with pytest.raises(NotFoundError, match=r"No user 'ownr'. Did you mean owner"):
            await desks.users.remove("ownr")
        assert await desks.users.list() == (desks.owner,)


async def test_user_stays_while_a_post_is_unsettled(tmp_path):
    server = FakeServer()
    async with open_working_desks(tmp_path, server) as desks:
        anna = await desks.users.add("anna")
        desk = await desks.get(anna)
        await fill(desk, tmp_path)
        before = rows_of(tmp_path, anna.id)
        for state in (DeliveryState.PLANNED, DeliveryState.SENDING, DeliveryState.UNKNOWN):
            execute_sql(tmp_path, "UPDATE delivery SET state = ?", state.value)
            with pytest.raises(ConflictError, match="A draft of anna is being posted; the user was not removed"):
                await desks.users.remove("anna")
        execute_sql(tmp_path, "UPDATE delivery SET state = ?", DeliveryState.SENT.value)
        # The states set above are events.
        events = dict.fromkeys(("event", "webhook_delivery"))
        assert rows_of(tmp_path, anna.id) | events == before | events
        assert await desks.get(anna) is desk
        await desks.users.remove("anna")


async def test_run_of_this_process_is_cancelled(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    held = web.hold(URL_ONE)
    async with open_desks_at(tmp_path, web) as desks:
        desk = await desks.get(await desks.users.add("anna"))
        await create_source(desk)
        run = asyncio.create_task(desk.pipeline.run())
        await held.requested.wait()
        await desks.users.remove("anna")
        assert (await run).status == "cancelled"
    assert query_db(tmp_path, "SELECT * FROM run") == []


async def test_user_stays_while_another_process_runs_their_pipeline(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    held = web.hold(URL_ONE)
    async with open_desks_at(tmp_path, web) as other_process, open_desks_at(tmp_path) as desks:
        desk = await other_process.get(await desks.users.add("anna"))
        await create_source(desk)
        run = asyncio.create_task(desk.pipeline.run())
        await held.requested.wait()
        with pytest.raises(ConflictError, match="A run of anna is in progress; the user was not removed"):
            await desks.users.remove("anna")
        held.released.set()
        assert (await run).status == "succeeded"
        await desks.users.remove("anna")


async def test_removed_user_can_write_nothing(tmp_path):
    async with open_desks_at(tmp_path) as desks, open_desks_at(tmp_path) as other_process:
        desk = await other_process.get(await desks.users.add("anna"))
        await desks.users.remove("anna")
        for work in (desk.drafts.create({"text": "Too late."}), desk.pipeline.queue(), desk.tokens.create("a", "read")):
            with pytest.raises(NotFoundError, match=r"^The user anna was removed; nothing changed\.$"):
                await work
    assert query_db(tmp_path, "SELECT * FROM draft") == []


async def test_removed_posts_are_no_sign_of_a_restored_database(tmp_path):
    """The marks of sends, outside the database, name requests that it does not know any more."""
    async with open_working_desks(tmp_path) as desks:
        owner = await desks.get(desks.owner)
        for user in (await desks.users.add("anna"), desks.owner):
            await fill(await desks.get(user), tmp_path)
        assert await owner.posting.missing_sends() is None
        await desks.users.remove("anna")
        assert await owner.posting.missing_sends() is None
        (source,) = await owner.sources.list()
        draft_id = (await list_drafts(owner))[0].id
        await owner.drafts.approve(draft_id)
        await owner.posting.post(draft_id)
        await owner.sources.delete(source.id)
        assert await owner.posting.missing_sends() is None
    async with open_working_desks(tmp_path) as desks:
        assert await (await desks.get(desks.owner)).posting.missing_sends() is None


async def test_images_that_no_draft_has_are_removed_with_the_only_user_who_stored_them(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        anna, ben = [await desks.get(await desks.users.add(name)) for name in ("anna", "ben")]
        await anna.drafts.images.save_content(drawing(9, 9))
        shared = await anna.drafts.images.save_content(drawing(8, 8))
        image = {"url": shared, "source": "UPLOAD"}
        await anna.drafts.create({"text": "One.", "images": [image]})
        await ben.drafts.images.save_content(drawing(8, 8))
        folder = ben.settings.images_folder
        for name in list_stored(folder):
            os.utime(folder / name, (0, 0))

        await desks.users.remove("anna")

        assert list(list_stored(folder)) == [shared.rpartition("/")[2]]
        assert (await ben.drafts.create({"text": "Two.", "images": [image]})).drafts
