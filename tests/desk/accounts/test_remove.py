"""Tests for removing an account: whenever it is interrupted, the account is there with its credentials, or is gone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.desk.accounts.credentials import AccountCredentials
from copydesk.errors import ConflictError, CredentialsError, NotFoundError
from copydesk.model.delivery import Account, ConnectedAccount
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import NOW
from posting_fixtures import open_posting_desk
from schedule_fixtures import insert_scheduled

OTHER_NAMES = ("fake:you@https://fake.example", "someone/fake:me@https://fake.example", "writer:fake@https://m.example")
"""Credentials of another account, of another user, and of a model."""


class RevokingPlatform(FakePlatform):
    """A platform that revokes credentials, and stores which it was asked for."""

    def __init__(self, server: FakeServer) -> None:
        super().__init__(server)
        self.revoked: list[str] = []

    async def disconnect(self, account: Account) -> None:
        """Record the account."""
        self.revoked.append(account.name)


@pytest.fixture
def platform() -> RevokingPlatform:
    return RevokingPlatform(FakeServer())


@pytest.fixture
async def desk(tmp_path: Path, platform: RevokingPlatform) -> AsyncIterator[Desk]:
    """A desk with two accounts, and the credentials of others."""
    options = {"COPYDESK_SECRETS__PLAIN": "true", "COPYDESK_SECRETS__KEYRING": "false"}
    async with open_posting_desk(tmp_path, {"fake": platform}, **options) as desk:
        for name in ("me", "you"):
            await connect(desk, name)
        for name in OTHER_NAMES[1:]:
            await desk._context.vault.save(name, {"password": "other"})
        yield desk


async def connect(desk: Desk, name: str) -> ConnectedAccount:
    account = await desk.accounts.connect("fake", {"name": name})
    await AccountCredentials(lambda: desk._context.vault, desk.user).save(account.details, {"password": name})
    return account


async def names(desk: Desk) -> list[str]:
    return [account.details.name for account in await desk.accounts.list()]


async def test_removed_account_leaves_no_credentials(desk: Desk, platform: RevokingPlatform) -> None:
    assert (await desk.accounts.remove("fake:me")).details.name == "me"
    assert await names(desk) == ["you"]
    assert platform.revoked == ["me"]
    assert await desk._context.vault.names() == OTHER_NAMES


async def test_account_to_which_a_delivery_begins_keeps_its_credentials(
    desk: Desk, platform: RevokingPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, write = await desk._context.vault.names(), desk._context.write_durable
    await insert_scheduled(desk, NOW)
    account = await desk.accounts.get("fake:me")

    async def write_later(work, *values, **options):
        monkeypatch.undo()
        await desk.schedule.due_drafts.dispatch_due()
        return await write(work, *values, **options)

    monkeypatch.setattr(desk._context, "write_durable", write_later)
    with pytest.raises(ConflictError, match="A delivery to this account is in progress"):
        await desk.accounts.remove("fake:me")
    assert await desk.accounts.get("fake:me") == account
    assert await desk._context.vault.names() == stored
    assert platform.revoked == []


async def test_account_connected_again_meanwhile_has_its_credentials(
    desk: Desk, platform: RevokingPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await desk._context.vault.names()

    async def connect_again(account: Account) -> None:
        await connect(desk, account.name)

    monkeypatch.setattr(platform, "disconnect", connect_again)
    await desk.accounts.remove("fake:me")
    assert await names(desk) == ["me", "you"]
    assert await desk._context.vault.names() == stored


async def test_account_stays_while_its_credentials_cannot_be_deleted(
    desk: Desk, platform: RevokingPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: str) -> None:
        raise CredentialsError("The system keyring is locked.")

    monkeypatch.setattr(desk._context.vault, "check_access", fail)
    with pytest.raises(CredentialsError, match="keyring is locked"):
        await desk.accounts.remove("fake:me")
    assert await names(desk) == ["me", "you"]
    assert platform.revoked == []


async def test_credentials_left_by_an_interrupted_removal_are_deleted_by_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: str) -> None:
        raise CredentialsError("The system keyring is locked.", hint="Unlock it and try again.")

    with monkeypatch.context() as patch:
        patch.setattr(desk._context.vault, "remove", fail)
        with pytest.raises(CredentialsError) as raised:
            await desk.accounts.remove("fake:me")
    assert raised.value.message == (
        "fake:me is disconnected, but its credentials are still stored. The system keyring is locked."
    )
    assert raised.value.hint.endswith("Then delete them: copydesk account remove fake:me")
    assert await names(desk) == ["you"]
    assert len(await desk._context.vault.names()) == 4

    with pytest.raises(NotFoundError) as refused:
        await desk.accounts.remove("fake:me")
    assert refused.value.hint == "The credentials that an interrupted removal had left are deleted."
    assert await desk._context.vault.names() == OTHER_NAMES
    with pytest.raises(NotFoundError) as refused:
        await desk.accounts.remove("fake:me")
    assert "copydesk account list" in refused.value.hint


@pytest.mark.sqlite("on PostgreSQL the secrets of webhooks are in the database, where every machine finds them")
async def test_secret_of_an_event_webhook_is_no_credential_of_the_platform_webhook(
    tmp_path: Path, platform: RevokingPlatform
) -> None:
    options = {"COPYDESK_SECRETS__PLAIN": "true", "COPYDESK_SECRETS__KEYRING": "false"}
    async with open_posting_desk(tmp_path, {"webhook": platform}, **options) as desk:
        await desk.webhooks.create({"url": "https://hooks.example/"})
        stored = await desk._context.vault.names()
        with pytest.raises(NotFoundError):
            await desk.accounts.remove("webhook:typo")
        assert await desk._context.vault.names() == stored
        assert len(stored) == 1
