"""Tests for the vault: values round-trip, in one backend, never in a weaker one than the user agreed to."""

import asyncio
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.credentials.backends import BackendKind
from copydesk.credentials.vault import open_vault
from copydesk.errors import CredentialsError, WrongPassphraseError
from copydesk.settings import load
from sampling import sample_size
from vault_fixtures import (
    OTHER_NAME,
    PASSPHRASE,
    PLANTED_SECRETS,
    SECRET_NAME,
    MemoryKeyring,
    PassphrasePrompt,
    find_secrets,
    make_encrypted_vault,
    make_vault,
    read_files,
)

any_text = st.text(st.characters(exclude_categories=()), max_size=40)


def vaults_of_each_backend(home: Path):
    return [
        make_vault(home / "a", keyring=MemoryKeyring()),
        make_encrypted_vault(home / "b"),
        make_vault(home / "c", plain=True),
    ]


async def test_saved_secrets_are_read_until_removed(tmp_path):
    for secrets in vaults_of_each_backend(tmp_path):
        assert await secrets.load(SECRET_NAME) is None
        await secrets.save(SECRET_NAME, PLANTED_SECRETS)
        await secrets.save(OTHER_NAME, {"token": "another"})
        assert (await secrets.load(SECRET_NAME), await secrets.names()) == (PLANTED_SECRETS, (SECRET_NAME, OTHER_NAME))
        await secrets.save(SECRET_NAME, {"password": "newer"})
        assert await secrets.load(SECRET_NAME) == {"password": "newer"}
        await secrets.remove(SECRET_NAME)
        await secrets.remove(SECRET_NAME)
        assert (await secrets.load(SECRET_NAME), await secrets.names()) == (None, (OTHER_NAME,))
        await secrets.remove(OTHER_NAME)
        assert await secrets.names() == ()


@given(secrets=st.dictionaries(any_text, any_text, max_size=5), name=st.text(min_size=1))
@settings(max_examples=sample_size(20))
def test_any_secrets_round_trip(secrets, name):
    async def save_and_read(home: Path) -> None:
        for store in vaults_of_each_backend(home):
            await store.save(name, secrets)
            assert await store.load(name) == secrets

    with tempfile.TemporaryDirectory() as home:
        asyncio.run(save_and_read(Path(home)))


async def test_secrets_persist_across_runs(tmp_path):
    await make_encrypted_vault(tmp_path).save(SECRET_NAME, PLANTED_SECRETS)
    assert await make_encrypted_vault(tmp_path).load(SECRET_NAME) == PLANTED_SECRETS


async def test_encrypted_file_contains_no_plaintext(tmp_path):
    secrets = make_encrypted_vault(tmp_path)
    await secrets.save(SECRET_NAME, PLANTED_SECRETS)
    await secrets.save(SECRET_NAME, PLANTED_SECRETS | {"more": "than before"})
    files = read_files(tmp_path)
    assert {"secrets/secrets.sealed", "secrets/secrets.sealed.1"} <= set(files)
    for content in files.values():
        assert not find_secrets(content)
        assert PASSPHRASE.encode() not in content
        assert b"did:plc" not in content


async def test_keyring_backend_writes_only_names_to_files(tmp_path):
    keyring = MemoryKeyring()
    await make_vault(tmp_path, keyring=keyring, plain=True).save(SECRET_NAME, PLANTED_SECRETS)
    assert all(not find_secrets(content) for content in read_files(tmp_path).values())
    assert [service for service, _ in keyring.passwords] == ["copydesk"]


async def test_files_and_folder_are_private(tmp_path):
    for secrets in vaults_of_each_backend(tmp_path):
        await secrets.save(SECRET_NAME, PLANTED_SECRETS)
        await secrets.save(SECRET_NAME, PLANTED_SECRETS)
    for path in tmp_path.rglob("*"):
        if path.name != ".gitignore":
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


async def test_plain_file_needs_consent(tmp_path):
    with pytest.raises(CredentialsError, match=r"No keyring .* COPYDESK_PASSPHRASE .* --plain"):
        await make_vault(tmp_path).save(SECRET_NAME, PLANTED_SECRETS)
    with pytest.raises(CredentialsError):
        await make_vault(tmp_path, ask=PassphrasePrompt("")).save(SECRET_NAME, PLANTED_SECRETS)
    assert read_files(tmp_path) == {}


async def test_passphrase_takes_precedence_over_consent(tmp_path):
    await make_encrypted_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)
    assert not (tmp_path / "secrets/secrets.json").exists()


async def test_consent_lasts_until_last_key_is_removed(tmp_path):
    agreed = make_vault(tmp_path)
    agreed.allow_plain()
    await agreed.save(SECRET_NAME, PLANTED_SECRETS)
    await make_vault(tmp_path).save(OTHER_NAME, {"token": "another"})
    for name in (SECRET_NAME, OTHER_NAME):
        await make_vault(tmp_path).remove(name)
    with pytest.raises(CredentialsError):
        await make_vault(tmp_path).save(SECRET_NAME, PLANTED_SECRETS)


async def test_removed_secret_is_in_no_file(tmp_path):
    secrets = make_vault(tmp_path, plain=True)
    await secrets.save(OTHER_NAME, {"token": "another"})
    await secrets.save(SECRET_NAME, PLANTED_SECRETS)
    await secrets.save(OTHER_NAME, {"token": "a third"})
    await secrets.remove(SECRET_NAME)
    assert not find_secrets(b"".join(read_files(tmp_path).values()))


async def test_removed_secret_is_not_in_keyring(tmp_path):
    keyring = MemoryKeyring()
    secrets = make_vault(tmp_path, keyring=keyring)
    await secrets.save(SECRET_NAME, PLANTED_SECRETS)
    await secrets.save(SECRET_NAME, PLANTED_SECRETS | {"more": "than before"})
    await secrets.remove(SECRET_NAME)
    assert keyring.passwords == {}


async def test_later_keys_use_the_first_keys_backend(tmp_path):
    await make_encrypted_vault(tmp_path).save(SECRET_NAME, PLANTED_SECRETS)
    keyring = MemoryKeyring()
    later = make_encrypted_vault(tmp_path, keyring=keyring, plain=True)
    await later.save(OTHER_NAME, {"token": "another"})
    assert keyring.passwords == {}
    assert (await later.status()).backend is BackendKind.ENCRYPTED


async def test_unreachable_keyring_is_not_replaced(tmp_path):
    await make_vault(tmp_path, keyring=MemoryKeyring()).save(SECRET_NAME, PLANTED_SECRETS)
    without_keyring = make_encrypted_vault(tmp_path, plain=True)
    before = read_files(tmp_path)
    for operation in (
        without_keyring.load(SECRET_NAME),
        without_keyring.save(SECRET_NAME, PLANTED_SECRETS),
        without_keyring.remove(SECRET_NAME),
    ):
        with pytest.raises(CredentialsError, match="not accessible from here"):
            await operation
    assert await without_keyring.names() == (SECRET_NAME,)
    assert read_files(tmp_path) == before


async def test_keyring_error_is_reported_without_secrets(tmp_path):
    keyring = MemoryKeyring()
    secrets = make_vault(tmp_path, keyring=keyring, plain=True)
    await secrets.save(SECRET_NAME, PLANTED_SECRETS)

    class LockedError(Exception):
        pass

    for failure, message in (
        (LockedError(*PLANTED_SECRETS.values()), "is locked"),
        (OSError(PLANTED_SECRETS["refresh"]), "OSError"),
    ):
        keyring.error = failure
        for operation in (
            secrets.load(SECRET_NAME),
            secrets.save(SECRET_NAME, PLANTED_SECRETS),
            secrets.remove(SECRET_NAME),
        ):
            with pytest.raises(CredentialsError, match=message) as caught:
                await operation
            assert caught.value.__cause__ is caught.value.__context__ is None
            assert not find_secrets(str(caught.value).encode())
    keyring.error = None
    assert await secrets.load(SECRET_NAME) == PLANTED_SECRETS


async def test_keyring_update_killed_midway_keeps_previous(tmp_path):
    keyring = MemoryKeyring()
    secrets = make_vault(tmp_path, keyring=keyring)
    await secrets.save(SECRET_NAME, {"refresh": "first"})
    await secrets.save(SECRET_NAME, {"refresh": "second"})
    del keyring.passwords["copydesk", SECRET_NAME]
    assert await secrets.load(SECRET_NAME) == {"refresh": "first"}


async def test_foreign_keyring_entry_is_refused(tmp_path):
    keyring = MemoryKeyring()
    secrets = make_vault(tmp_path, keyring=keyring)
    await secrets.save(SECRET_NAME, PLANTED_SECRETS)
    keyring.passwords["copydesk", SECRET_NAME] = '{"password": 1}'
    with pytest.raises(CredentialsError, match="not created by Copydesk"):
        await secrets.load(SECRET_NAME)


async def test_passphrase_is_requested_once_per_run(tmp_path):
    prompt = PassphrasePrompt(PASSPHRASE)
    secrets = make_vault(tmp_path, ask=prompt)
    await secrets.save(SECRET_NAME, PLANTED_SECRETS)
    await asyncio.gather(*(secrets.load(SECRET_NAME) for _ in range(5)), secrets.save(OTHER_NAME, {}), secrets.names())
    assert prompt.questions == [True]
    later_prompt = PassphrasePrompt(PASSPHRASE)
    later = make_vault(tmp_path, ask=later_prompt)
    await asyncio.gather(*(later.load(SECRET_NAME) for _ in range(5)))
    assert later_prompt.questions == [False]


async def test_empty_vault_requests_no_passphrase(tmp_path):
    prompt = PassphrasePrompt()
    secrets = make_vault(tmp_path, ask=prompt)
    assert await secrets.load(SECRET_NAME) is None
    assert await secrets.names() == ()
    await secrets.remove(SECRET_NAME)
    await secrets.status()
    assert prompt.questions == []
    assert read_files(tmp_path) == {}


async def test_invalid_passphrase_changes_nothing_and_is_retried(tmp_path):
    await make_encrypted_vault(tmp_path).save(SECRET_NAME, PLANTED_SECRETS)
    before = read_files(tmp_path)
    secrets = make_vault(tmp_path, ask=PassphrasePrompt("wrong one", "wrong two", "wrong three", PASSPHRASE))
    for operation in (
        secrets.load(SECRET_NAME),
        secrets.save(SECRET_NAME, {"password": "lost"}),
        secrets.remove(SECRET_NAME),
    ):
        with pytest.raises(WrongPassphraseError, match="Nothing changed"):
            await operation
    assert await secrets.load(SECRET_NAME) == PLANTED_SECRETS
    assert {name: before[name] for name in before} == {name: read_files(tmp_path)[name] for name in before}


async def test_passphrase_is_unicode_normalized(tmp_path):
    await make_encrypted_vault(tmp_path, passphrase="café au lait").save(SECRET_NAME, PLANTED_SECRETS)
    assert (
        await make_encrypted_vault(tmp_path, passphrase="cafe\N{COMBINING ACUTE ACCENT} au lait").load(SECRET_NAME)
        == PLANTED_SECRETS
    )


async def test_short_passphrase_is_refused(tmp_path):
    with pytest.raises(CredentialsError, match="at least 8"):
        await make_encrypted_vault(tmp_path, passphrase="letmein").save(SECRET_NAME, PLANTED_SECRETS)
    assert read_files(tmp_path) == {}


async def test_status_names_backend_before_and_after_first_key(tmp_path):
    for secrets, backend in zip(vaults_of_each_backend(tmp_path), BackendKind, strict=True):
        before = await secrets.status()
        await secrets.save(SECRET_NAME, PLANTED_SECRETS)
        after = await secrets.status()
        assert (before.backend, before.has_credentials, after.backend, after.has_credentials) == (
            backend,
            False,
            backend,
            True,
        )
        assert before.usable
        assert after.usable
        assert before.description == after.description
    assert (await make_vault(tmp_path / "c").status()).description.endswith("NOT encrypted")
    unreachable = await make_vault(tmp_path / "a").status()
    assert (unreachable.backend, unreachable.usable) == (BackendKind.KEYRING, False)
    assert not (await make_vault(tmp_path / "b").status()).usable


async def test_two_backends_at_once_are_an_error(tmp_path):
    await make_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)
    (tmp_path / "secrets/secrets.sealed").write_bytes(b"")
    with pytest.raises(CredentialsError, match="Move the outdated one away"):
        await make_encrypted_vault(tmp_path).load(SECRET_NAME)


async def test_repr_shows_no_secret(tmp_path):
    for secrets in vaults_of_each_backend(tmp_path):
        await secrets.save(SECRET_NAME, PLANTED_SECRETS)
        text = repr(
            (secrets, vars(secrets), await secrets.load(SECRET_NAME), await secrets.status(), await secrets.names())
        )
        assert not find_secrets(text.encode())
        assert PASSPHRASE not in text


async def test_desk_stores_vault_in_data_folder(tmp_path):
    environ = {"COPYDESK_HOME": str(tmp_path), "COPYDESK_SECRETS__KEYRING": "false", "COPYDESK_SECRETS__PLAIN": "true"}
    secrets = open_vault(load(environ), environ=environ)
    await secrets.save(SECRET_NAME, PLANTED_SECRETS)
    assert (tmp_path / "secrets/secrets.json").exists()
    assert (tmp_path / "secrets/.gitignore").read_text() == "*\n"


async def test_notes_are_stored_in_the_keyring_only(tmp_path):
    keyring = MemoryKeyring()
    vault = make_vault(tmp_path, keyring=keyring)
    await vault.save_note("note", "text")
    assert (keyring.passwords, await vault.load_note("note")) == ({}, None)
    await vault.save(SECRET_NAME, PLANTED_SECRETS)
    await vault.save_note("note", "text")
    assert (await vault.load_note("note"), await vault.names()) == ("text", (SECRET_NAME,))
