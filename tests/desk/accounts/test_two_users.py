"""Tests that users who connected the same account keep credentials of their own."""

import socket

import pytest

from copydesk.desk.accounts.credentials import AccountCredentials, secret_name
from copydesk.errors import CredentialsError
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import LoginError
from desks_fixtures import open_desks_at


def open_desks_with_vault(home):
    platforms = {"fake": FakePlatform(FakeServer())}
    return open_desks_at(home, platforms=platforms, secrets__plain="true", secrets__keyring="false")


async def connect(desk):
    """Connect the account; return it and what reads its credentials."""
    account = (await desk.accounts.connect("fake", {"name": "me"})).details
    credentials = AccountCredentials(lambda: desk._context.vault, desk.user)
    await credentials.save(account, {"password": f"password-of-{desk.user.name}"})
    return account, credentials


async def test_same_account_has_credentials_for_each_user(tmp_path):
    async with open_desks_with_vault(tmp_path) as desks:
        owner, anna = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        (account, of_owner), (_, of_anna) = await connect(owner), await connect(anna)
        assert await of_owner.read(account) == {"password": "password-of-owner"}
        assert await of_anna.read(account) == {"password": "password-of-anna"}

        await anna.accounts.remove("fake:me")

        assert await of_owner.read(account) == {"password": "password-of-owner"}
        with pytest.raises(LoginError) as missing:
            await of_anna.read(account)
        # Another machine may have them.
        assert missing.value.message == f"No credentials for fake:me on {socket.gethostname()}."
        await owner.accounts.remove("fake:me")
        assert await owner._context.vault.names() == ()


@pytest.mark.parametrize(
    "value", ['{"password": "from-the-environment"}', '{"fake:me@https://fake.example": {"password": "x"}}', "{", "one"]
)
async def test_environment_holds_credentials_of_the_owner_only(tmp_path, monkeypatch, value):
    async with open_desks_with_vault(tmp_path) as desks:
        owner, anna = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        (account, of_owner), (_, of_anna) = await connect(owner), await connect(anna)
        monkeypatch.setenv("COPYDESK_SECRET_FAKE", value)
        assert await of_anna.read(account) == {"password": "password-of-anna"}
        if "from-the-environment" in value:
            assert await of_owner.read(account) == {"password": "from-the-environment"}


async def test_name_of_the_owner_did_not_change(tmp_path):
    """Credentials that were stored before there were several users are found."""
    async with open_desks_with_vault(tmp_path) as desks:
        account, _ = await connect(await desks.get(desks.owner))
        assert secret_name(account, desks.owner) == f"fake:{account.id}@{account.server}"


async def test_user_whose_credentials_cannot_be_deleted_stays(tmp_path, monkeypatch):
    async with open_desks_with_vault(tmp_path) as desks:
        anna = await desks.get(await desks.users.add("anna"))
        account, credentials = await connect(anna)

        async def fail(_):
            raise CredentialsError("The keyring is locked.")

        with monkeypatch.context() as patch:
            patch.setattr(anna._context.vault, "remove", fail)
            with pytest.raises(CredentialsError, match="The keyring is locked"):
                await desks.users.remove("anna")

        assert await credentials.read(account) == {"password": "password-of-anna"}
        # The account is removed already, so only its name in the vault leads to them.
        await desks.users.remove("anna")
        assert await anna._context.vault.names() == ()
