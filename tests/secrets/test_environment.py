"""Tests for credentials from environment variables and systemd, which take precedence and are never written."""

import pytest

from copydesk.errors import SecretsError
from vaults import NAME, OTHER, PASSPHRASE, PLANTED, bytes_of, sealed, vault

SECOND = "bluesky:did:plc:abc@https://pds.example"


async def given(home, value: str, name: str = NAME, **more):
    return await vault(home, environ={"COPYDESK_SECRET_BLUESKY": value}, **more).read(name)


async def test_json_secrets_apply_to_all_platform_accounts(tmp_path):
    value = '{"password": "planted-1"}'
    assert await given(tmp_path, value) == await given(tmp_path, value, SECOND) == {"password": "planted-1"}
    assert await given(tmp_path, value, OTHER) is None


async def test_single_value_is_the_platforms_only_secret(tmp_path):
    assert await given(tmp_path, "abcd-efgh\n", single={"bluesky": "password"}) == {"password": "abcd-efgh"}
    with pytest.raises(SecretsError, match="holds one value, and bluesky takes several"):
        await given(tmp_path, "abcd-efgh")


async def test_secrets_may_be_given_per_account(tmp_path):
    await vault(tmp_path, plain=True).keep(SECOND, {"password": "kept"})
    value = '{"%s": {"password": "given"}}' % NAME  # noqa: UP031 - braces
    assert await given(tmp_path, value) == {"password": "given"}
    assert await given(tmp_path, value, SECOND) == {"password": "kept"}


@pytest.mark.parametrize(
    "value", ["{", '{"a": 1}', '{"a": "b", "c": {"d": "e"}}', "{}", '{"a": {"b": 1}}', " {planted"]
)
async def test_malformed_json_is_reported_without_its_content(tmp_path, value):
    with pytest.raises(SecretsError, match="COPYDESK_SECRET_BLUESKY begins as JSON") as caught:
        await given(tmp_path, value, single={"bluesky": "password"})
    assert "planted" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_platform_name_is_uppercased_in_variable(tmp_path):
    environ = {"COPYDESK_SECRET_DEV_TO": '{"key": "planted"}'}
    assert await vault(tmp_path, environ=environ).read("dev.to:1@https://dev.to") == {"key": "planted"}


async def test_environment_takes_precedence(tmp_path):
    await vault(tmp_path, plain=True).keep(NAME, PLANTED)
    assert await given(tmp_path, '{"password": "given"}') == {"password": "given"}


async def test_environment_secret_cannot_be_replaced(tmp_path):
    secrets = vault(tmp_path, environ={"COPYDESK_SECRET_BLUESKY": '{"password": "given"}'}, plain=True)
    with pytest.raises(SecretsError, match="from the environment and cannot be replaced"):
        await secrets.keep(NAME, PLANTED)
    assert bytes_of(tmp_path) == {}
    await secrets.keep(OTHER, PLANTED)
    assert await secrets.names() == (OTHER,)


async def test_systemd_credentials_are_read(tmp_path):
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "copydesk-bluesky").write_text('{"password": "given"}\n')
    (folder / "copydesk-passphrase").write_text(f"{PASSPHRASE}\n")
    secrets = vault(tmp_path, environ={"CREDENTIALS_DIRECTORY": str(folder)})
    assert await secrets.read(NAME) == {"password": "given"}
    await secrets.keep(OTHER, PLANTED)
    assert await sealed(tmp_path).read(OTHER) == PLANTED
    names = (await secrets.where()).environment
    assert names == (str(folder / "copydesk-bluesky"), str(folder / "copydesk-passphrase"))


async def test_variable_takes_precedence_over_credential_file(tmp_path):
    (tmp_path / "copydesk-bluesky").write_text('{"password": "in the file"}')
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path), "COPYDESK_SECRET_BLUESKY": '{"password": "in the variable"}'}
    assert await vault(tmp_path, environ=environ).read(NAME) == {"password": "in the variable"}


async def test_unreadable_credential_is_reported(tmp_path):
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    (tmp_path / "copydesk-bluesky").mkdir()
    with pytest.raises(SecretsError, match="copydesk-bluesky cannot be read"):
        await vault(tmp_path, environ=environ).read(NAME)
    (tmp_path / "copydesk-bluesky").rmdir()
    (tmp_path / "copydesk-bluesky").write_bytes(b"planted\xff")
    with pytest.raises(SecretsError, match="it is not text") as caught:
        await vault(tmp_path, environ=environ).read(NAME)
    assert caught.value.__context__ is None


async def test_status_names_variables_without_values(tmp_path):
    environ = {"COPYDESK_SECRET_BLUESKY": "planted-1", "COPYDESK_PASSPHRASE": "planted-2", "HOME": "/root"}
    assert (await vault(tmp_path, environ=environ).where()).environment == (
        "COPYDESK_PASSPHRASE",
        "COPYDESK_SECRET_BLUESKY",
    )
