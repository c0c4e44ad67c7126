"""Tests for credentials from environment variables and systemd, which take precedence and are never written."""

import pytest

from copydesk.errors import CredentialsError
from vault_fixtures import (
    OTHER_NAME,
    PASSPHRASE,
    PLANTED_SECRETS,
    SECRET_NAME,
    make_encrypted_vault,
    make_vault,
    read_files,
)

SECOND = "bluesky:did:plc:abc@https://pds.example"


async def read_with_variable(home, value: str, name: str = SECRET_NAME, **options):
    return await make_vault(home, environ={"COPYDESK_SECRET_BLUESKY": value}, **options).load(name)


async def test_json_secrets_apply_to_all_platform_accounts(tmp_path):
    value = '{"password": "planted-1"}'
    assert (
        await read_with_variable(tmp_path, value)
        == await read_with_variable(tmp_path, value, SECOND)
        == {"password": "planted-1"}
    )
    assert await read_with_variable(tmp_path, value, OTHER_NAME) is None


async def test_single_value_is_the_platforms_only_secret(tmp_path):
    assert await read_with_variable(tmp_path, "abcd-efgh\n", single={"bluesky": "password"}) == {
        "password": "abcd-efgh"
    }
    with pytest.raises(CredentialsError, match="contains one value; bluesky needs several"):
        await read_with_variable(tmp_path, "abcd-efgh")


async def test_secrets_may_be_given_per_account(tmp_path):
    await make_vault(tmp_path, plain=True).save(SECOND, {"password": "kept"})
    value = '{"%s": {"password": "given"}}' % SECRET_NAME  # noqa: UP031 - braces
    assert await read_with_variable(tmp_path, value) == {"password": "given"}
    assert await read_with_variable(tmp_path, value, SECOND) == {"password": "kept"}


@pytest.mark.parametrize(
    "value", ["{", '{"a": 1}', '{"a": "b", "c": {"d": "e"}}', "{}", '{"a": {"b": 1}}', " {planted"]
)
async def test_malformed_json_is_reported_without_its_content(tmp_path, value):
    with pytest.raises(CredentialsError, match="COPYDESK_SECRET_BLUESKY is not JSON") as caught:
        await read_with_variable(tmp_path, value, single={"bluesky": "password"})
    assert "planted" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_platform_name_is_uppercased_in_variable(tmp_path):
    environ = {"COPYDESK_SECRET_DEV_TO": '{"key": "planted"}'}
    assert await make_vault(tmp_path, environ=environ).load("dev.to:1@https://dev.to") == {"key": "planted"}


async def test_environment_takes_precedence(tmp_path):
    await make_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)
    assert await read_with_variable(tmp_path, '{"password": "given"}') == {"password": "given"}


async def test_environment_secret_cannot_be_replaced(tmp_path):
    secrets = make_vault(tmp_path, environ={"COPYDESK_SECRET_BLUESKY": '{"password": "given"}'}, plain=True)
    with pytest.raises(CredentialsError, match="from the environment and cannot be replaced"):
        await secrets.save(SECRET_NAME, PLANTED_SECRETS)
    assert read_files(tmp_path) == {}
    await secrets.save(OTHER_NAME, PLANTED_SECRETS)
    assert await secrets.names() == (OTHER_NAME,)


async def test_systemd_credentials_are_read(tmp_path):
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "copydesk-bluesky").write_text('{"password": "given"}\n')
    (folder / "copydesk-passphrase").write_text(f"{PASSPHRASE}\n")
    secrets = make_vault(tmp_path, environ={"CREDENTIALS_DIRECTORY": str(folder)})
    assert await secrets.load(SECRET_NAME) == {"password": "given"}
    await secrets.save(OTHER_NAME, PLANTED_SECRETS)
    assert await make_encrypted_vault(tmp_path).load(OTHER_NAME) == PLANTED_SECRETS
    names = (await secrets.status()).environment
    assert names == (str(folder / "copydesk-bluesky"), str(folder / "copydesk-passphrase"))


async def test_variable_takes_precedence_over_credential_file(tmp_path):
    (tmp_path / "copydesk-bluesky").write_text('{"password": "in the file"}')
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path), "COPYDESK_SECRET_BLUESKY": '{"password": "in the variable"}'}
    assert await make_vault(tmp_path, environ=environ).load(SECRET_NAME) == {"password": "in the variable"}


async def test_unreadable_credential_is_reported(tmp_path):
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    (tmp_path / "copydesk-bluesky").mkdir()
    with pytest.raises(CredentialsError, match=r"Cannot read .*copydesk-bluesky"):
        await make_vault(tmp_path, environ=environ).load(SECRET_NAME)
    (tmp_path / "copydesk-bluesky").rmdir()
    (tmp_path / "copydesk-bluesky").write_bytes(b"planted\xff")
    with pytest.raises(CredentialsError, match="not a text file") as caught:
        await make_vault(tmp_path, environ=environ).load(SECRET_NAME)
    assert caught.value.__context__ is None


async def test_status_names_variables_without_values(tmp_path):
    environ = {"COPYDESK_SECRET_BLUESKY": "planted-1", "COPYDESK_PASSPHRASE": "planted-2", "HOME": "/root"}
    assert (await make_vault(tmp_path, environ=environ).status()).environment == (
        "COPYDESK_PASSPHRASE",
        "COPYDESK_SECRET_BLUESKY",
    )
