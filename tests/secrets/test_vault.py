"""Tests for the vault: values round-trip, in one backend, never in a weaker one than the user agreed to."""

import asyncio
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.errors import SecretsError, WrongPassphraseError
from copydesk.secrets.places import Where
from copydesk.secrets.vault import open_vault
from copydesk.settings import load
from vaults import NAME, OTHER, PASSPHRASE, PLANTED, Asked, MemoryKeyring, bytes_of, sealed, traces, vault

anything = st.text(st.characters(exclude_categories=()), max_size=40)


def each_place(home: Path):
    return [
        vault(home / "a", keyring=MemoryKeyring()),
        sealed(home / "b"),
        vault(home / "c", plain=True),
    ]


async def test_saved_secrets_are_read_until_removed(tmp_path):
    for secrets in each_place(tmp_path):
        assert await secrets.read(NAME) is None
        await secrets.keep(NAME, PLANTED)
        await secrets.keep(OTHER, {"token": "another"})
        assert (await secrets.read(NAME), await secrets.names()) == (PLANTED, (NAME, OTHER))
        await secrets.keep(NAME, {"password": "newer"})
        assert await secrets.read(NAME) == {"password": "newer"}
        await secrets.remove(NAME)
        await secrets.remove(NAME)
        assert (await secrets.read(NAME), await secrets.names()) == (None, (OTHER,))
        await secrets.remove(OTHER)
        assert await secrets.names() == ()


@given(secrets=st.dictionaries(anything, anything, max_size=5), name=st.text(min_size=1))
@settings(max_examples=15)
def test_any_secrets_round_trip(secrets, name):
    async def save_and_read(home: Path) -> None:
        for store in each_place(home):
            await store.keep(name, secrets)
            assert await store.read(name) == secrets

    with tempfile.TemporaryDirectory() as home:
        asyncio.run(save_and_read(Path(home)))


async def test_secrets_persist_across_runs(tmp_path):
    await sealed(tmp_path).keep(NAME, PLANTED)
    assert await sealed(tmp_path).read(NAME) == PLANTED


async def test_encrypted_file_contains_no_plaintext(tmp_path):
    secrets = sealed(tmp_path)
    await secrets.keep(NAME, PLANTED)
    await secrets.keep(NAME, PLANTED | {"more": "than before"})
    files = bytes_of(tmp_path)
    assert {"secrets/secrets.sealed", "secrets/secrets.sealed.1"} <= set(files)
    for content in files.values():
        assert not traces(content)
        assert PASSPHRASE.encode() not in content
        assert b"did:plc" not in content


async def test_keyring_backend_writes_only_names_to_files(tmp_path):
    keyring = MemoryKeyring()
    await vault(tmp_path, keyring=keyring, plain=True).keep(NAME, PLANTED)
    assert all(not traces(content) for content in bytes_of(tmp_path).values())
    assert [service for service, _ in keyring.kept] == ["copydesk"]


async def test_files_and_folder_are_private(tmp_path):
    for secrets in each_place(tmp_path):
        await secrets.keep(NAME, PLANTED)
        await secrets.keep(NAME, PLANTED)
    for path in tmp_path.rglob("*"):
        if path.name != ".gitignore":
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


async def test_plain_file_needs_consent(tmp_path):
    with pytest.raises(SecretsError, match=r"no keyring .* COPYDESK_PASSPHRASE .* --plain"):
        await vault(tmp_path).keep(NAME, PLANTED)
    with pytest.raises(SecretsError):
        await vault(tmp_path, ask=Asked("")).keep(NAME, PLANTED)
    assert bytes_of(tmp_path) == {}


async def test_passphrase_takes_precedence_over_consent(tmp_path):
    await sealed(tmp_path, plain=True).keep(NAME, PLANTED)
    assert not (tmp_path / "secrets/secrets.json").exists()


async def test_consent_lasts_until_last_key_is_removed(tmp_path):
    agreed = vault(tmp_path)
    agreed.allow_plain()
    await agreed.keep(NAME, PLANTED)
    await vault(tmp_path).keep(OTHER, {"token": "another"})
    for name in (NAME, OTHER):
        await vault(tmp_path).remove(name)
    with pytest.raises(SecretsError):
        await vault(tmp_path).keep(NAME, PLANTED)


async def test_removed_secret_is_in_no_file(tmp_path):
    secrets = vault(tmp_path, plain=True)
    await secrets.keep(OTHER, {"token": "another"})
    await secrets.keep(NAME, PLANTED)
    await secrets.keep(OTHER, {"token": "a third"})
    await secrets.remove(NAME)
    assert not traces(b"".join(bytes_of(tmp_path).values()))


async def test_removed_secret_is_not_in_keyring(tmp_path):
    keyring = MemoryKeyring()
    secrets = vault(tmp_path, keyring=keyring)
    await secrets.keep(NAME, PLANTED)
    await secrets.keep(NAME, PLANTED | {"more": "than before"})
    await secrets.remove(NAME)
    assert keyring.kept == {}


async def test_later_keys_use_the_first_keys_backend(tmp_path):
    await sealed(tmp_path).keep(NAME, PLANTED)
    keyring = MemoryKeyring()
    later = sealed(tmp_path, keyring=keyring, plain=True)
    await later.keep(OTHER, {"token": "another"})
    assert keyring.kept == {}
    assert (await later.where()).where is Where.SEALED


async def test_unreachable_keyring_is_not_replaced(tmp_path):
    await vault(tmp_path, keyring=MemoryKeyring()).keep(NAME, PLANTED)
    without_keyring = sealed(tmp_path, plain=True)
    before = bytes_of(tmp_path)
    for operation in (without_keyring.read(NAME), without_keyring.keep(NAME, PLANTED), without_keyring.remove(NAME)):
        with pytest.raises(SecretsError, match="cannot be reached from here"):
            await operation
    assert await without_keyring.names() == (NAME,)
    assert bytes_of(tmp_path) == before


async def test_keyring_error_is_reported_without_secrets(tmp_path):
    keyring = MemoryKeyring()
    secrets = vault(tmp_path, keyring=keyring, plain=True)
    await secrets.keep(NAME, PLANTED)

    class LockedError(Exception):
        pass

    for failure, message in ((LockedError(*PLANTED.values()), "is locked"), (OSError(PLANTED["refresh"]), "OSError")):
        keyring.failing = failure
        for operation in (secrets.read(NAME), secrets.keep(NAME, PLANTED), secrets.remove(NAME)):
            with pytest.raises(SecretsError, match=message) as caught:
                await operation
            assert caught.value.__cause__ is caught.value.__context__ is None
            assert not traces(str(caught.value).encode())
    keyring.failing = None
    assert await secrets.read(NAME) == PLANTED


async def test_keyring_update_killed_midway_keeps_previous(tmp_path):
    keyring = MemoryKeyring()
    secrets = vault(tmp_path, keyring=keyring)
    await secrets.keep(NAME, {"refresh": "first"})
    await secrets.keep(NAME, {"refresh": "second"})
    del keyring.kept["copydesk", NAME]
    assert await secrets.read(NAME) == {"refresh": "first"}


async def test_foreign_keyring_entry_is_refused(tmp_path):
    keyring = MemoryKeyring()
    secrets = vault(tmp_path, keyring=keyring)
    await secrets.keep(NAME, PLANTED)
    keyring.kept["copydesk", NAME] = '{"password": 1}'
    with pytest.raises(SecretsError, match="not written by Copydesk"):
        await secrets.read(NAME)


async def test_passphrase_is_requested_once_per_run(tmp_path):
    prompt = Asked(PASSPHRASE)
    secrets = vault(tmp_path, ask=prompt)
    await secrets.keep(NAME, PLANTED)
    await asyncio.gather(*(secrets.read(NAME) for _ in range(5)), secrets.keep(OTHER, {}), secrets.names())
    assert prompt.questions == [True]
    later_prompt = Asked(PASSPHRASE)
    later = vault(tmp_path, ask=later_prompt)
    await asyncio.gather(*(later.read(NAME) for _ in range(5)))
    assert later_prompt.questions == [False]


async def test_empty_vault_requests_no_passphrase(tmp_path):
    prompt = Asked()
    secrets = vault(tmp_path, ask=prompt)
    assert await secrets.read(NAME) is None
    assert await secrets.names() == ()
    await secrets.remove(NAME)
    await secrets.where()
    assert prompt.questions == []
    assert bytes_of(tmp_path) == {}


async def test_invalid_passphrase_changes_nothing_and_is_retried(tmp_path):
    await sealed(tmp_path).keep(NAME, PLANTED)
    before = bytes_of(tmp_path)
    secrets = vault(tmp_path, ask=Asked("wrong one", "wrong two", "wrong three", PASSPHRASE))
    for operation in (secrets.read(NAME), secrets.keep(NAME, {"password": "lost"}), secrets.remove(NAME)):
        with pytest.raises(WrongPassphraseError, match="Nothing was changed"):
            await operation
    assert await secrets.read(NAME) == PLANTED
    assert {name: before[name] for name in before} == {name: bytes_of(tmp_path)[name] for name in before}


async def test_passphrase_is_unicode_normalized(tmp_path):
    await sealed(tmp_path, passphrase="café au lait").keep(NAME, PLANTED)
    assert await sealed(tmp_path, passphrase="cafe\N{COMBINING ACUTE ACCENT} au lait").read(NAME) == PLANTED


async def test_short_passphrase_is_refused(tmp_path):
    with pytest.raises(SecretsError, match="at least 8"):
        await sealed(tmp_path, passphrase="letmein").keep(NAME, PLANTED)
    assert bytes_of(tmp_path) == {}


async def test_status_names_backend_before_and_after_first_key(tmp_path):
    for secrets, backend in zip(each_place(tmp_path), Where, strict=True):
        before = await secrets.where()
        await secrets.keep(NAME, PLANTED)
        after = await secrets.where()
        assert (before.where, before.begun, after.where, after.begun) == (backend, False, backend, True)
        assert before.usable
        assert after.usable
        assert before.says == after.says
    assert (await vault(tmp_path / "c").where()).says.endswith("NOT encrypted")
    unreachable = await vault(tmp_path / "a").where()
    assert (unreachable.where, unreachable.usable) == (Where.KEYRING, False)
    assert not (await vault(tmp_path / "b").where()).usable


async def test_two_backends_at_once_are_an_error(tmp_path):
    await vault(tmp_path, plain=True).keep(NAME, PLANTED)
    (tmp_path / "secrets/secrets.sealed").write_bytes(b"")
    with pytest.raises(SecretsError, match="Move away the one"):
        await sealed(tmp_path).read(NAME)


async def test_repr_shows_no_secret(tmp_path):
    for secrets in each_place(tmp_path):
        await secrets.keep(NAME, PLANTED)
        text = repr((secrets, vars(secrets), await secrets.read(NAME), await secrets.where(), await secrets.names()))
        assert not traces(text.encode())
        assert PASSPHRASE not in text


async def test_desk_stores_vault_in_data_folder(tmp_path):
    environ = {"COPYDESK_HOME": str(tmp_path), "COPYDESK_SECRETS__KEYRING": "false", "COPYDESK_SECRETS__PLAIN": "true"}
    secrets = open_vault(load(environ), environ=environ)
    await secrets.keep(NAME, PLANTED)
    assert (tmp_path / "secrets/secrets.json").exists()
    assert (tmp_path / "secrets/.gitignore").read_text() == "*\n"
