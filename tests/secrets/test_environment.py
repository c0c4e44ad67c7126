"""What the environment gives wins, and is never written."""

import pytest

from copydesk.errors import SecretsError
from vaults import NAME, OTHER, PASSPHRASE, PLANTED, bytes_of, sealed, vault

SECOND = "bluesky:did:plc:abc@https://pds.example"


async def given(home, value: str, name: str = NAME, **more):
    return await vault(home, environ={"COPYDESK_SECRET_BLUESKY": value}, **more).read(name)


async def test_secrets_come_by_their_names_for_every_account_of_the_platform(tmp_path):
    value = '{"password": "planted-1"}'
    assert await given(tmp_path, value) == await given(tmp_path, value, SECOND) == {"password": "planted-1"}
    assert await given(tmp_path, value, OTHER) is None


async def test_one_value_stands_for_the_one_secret_that_the_platform_wants(tmp_path):
    assert await given(tmp_path, "abcd-efgh\n", single={"bluesky": "password"}) == {"password": "abcd-efgh"}
    with pytest.raises(SecretsError, match="holds one value, and bluesky takes several"):
        await given(tmp_path, "abcd-efgh")


async def test_secrets_come_by_account_and_the_others_are_where_they_were(tmp_path):
    await vault(tmp_path, plain=True).keep(SECOND, {"password": "kept"})
    value = '{"%s": {"password": "given"}}' % NAME  # noqa: UP031 - braces
    assert await given(tmp_path, value) == {"password": "given"}
    assert await given(tmp_path, value, SECOND) == {"password": "kept"}


@pytest.mark.parametrize(
    "value", ["{", '{"a": 1}', '{"a": "b", "c": {"d": "e"}}', "{}", '{"a": {"b": 1}}', " {planted"]
)
async def test_what_begins_as_json_and_is_not_what_belongs_there_is_said_and_not_shown(tmp_path, value):
    with pytest.raises(SecretsError, match="COPYDESK_SECRET_BLUESKY begins as JSON") as caught:
        await given(tmp_path, value, single={"bluesky": "password"})
    assert "planted" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_a_platform_s_name_is_written_as_variables_are(tmp_path):
    environ = {"COPYDESK_SECRET_DEV_TO": '{"key": "planted"}'}
    assert await vault(tmp_path, environ=environ).read("dev.to:1@https://dev.to") == {"key": "planted"}


async def test_the_environment_wins_over_what_is_kept(tmp_path):
    await vault(tmp_path, plain=True).keep(NAME, PLANTED)
    assert await given(tmp_path, '{"password": "given"}') == {"password": "given"}


async def test_what_the_environment_gives_is_not_replaced(tmp_path):
    kept = vault(tmp_path, environ={"COPYDESK_SECRET_BLUESKY": '{"password": "given"}'}, plain=True)
    with pytest.raises(SecretsError, match="from the environment and cannot be replaced"):
        await kept.keep(NAME, PLANTED)
    assert bytes_of(tmp_path) == {}
    await kept.keep(OTHER, PLANTED)
    assert await kept.names() == (OTHER,)


async def test_systemd_s_credentials_are_read(tmp_path):
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "copydesk-bluesky").write_text('{"password": "given"}\n')
    (folder / "copydesk-passphrase").write_text(f"{PASSPHRASE}\n")
    kept = vault(tmp_path, environ={"CREDENTIALS_DIRECTORY": str(folder)})
    assert await kept.read(NAME) == {"password": "given"}
    await kept.keep(OTHER, PLANTED)
    assert await sealed(tmp_path).read(OTHER) == PLANTED
    given = (await kept.where()).environment
    assert given == (str(folder / "copydesk-bluesky"), str(folder / "copydesk-passphrase"))


async def test_a_variable_goes_before_a_credential(tmp_path):
    (tmp_path / "copydesk-bluesky").write_text('{"password": "in the file"}')
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path), "COPYDESK_SECRET_BLUESKY": '{"password": "in the variable"}'}
    assert await vault(tmp_path, environ=environ).read(NAME) == {"password": "in the variable"}


async def test_a_credential_that_cannot_be_read_is_said(tmp_path):
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    (tmp_path / "copydesk-bluesky").mkdir()
    with pytest.raises(SecretsError, match="copydesk-bluesky cannot be read"):
        await vault(tmp_path, environ=environ).read(NAME)
    (tmp_path / "copydesk-bluesky").rmdir()
    (tmp_path / "copydesk-bluesky").write_bytes(b"planted\xff")
    with pytest.raises(SecretsError, match="it is not text") as caught:
        await vault(tmp_path, environ=environ).read(NAME)
    assert caught.value.__context__ is None


async def test_which_variables_there_are_is_told_and_not_what_is_in_them(tmp_path):
    environ = {"COPYDESK_SECRET_BLUESKY": "planted-1", "COPYDESK_PASSPHRASE": "planted-2", "HOME": "/root"}
    assert (await vault(tmp_path, environ=environ).where()).environment == (
        "COPYDESK_PASSPHRASE",
        "COPYDESK_SECRET_BLUESKY",
    )
