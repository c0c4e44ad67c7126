"""The vault: what is kept comes back, in one place, and never in a worse one than the user agreed to."""

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


async def test_what_is_kept_is_read_and_what_is_removed_is_not(tmp_path):
    for kept in each_place(tmp_path):
        assert await kept.read(NAME) is None
        await kept.keep(NAME, PLANTED)
        await kept.keep(OTHER, {"token": "another"})
        assert (await kept.read(NAME), await kept.names()) == (PLANTED, (NAME, OTHER))
        await kept.keep(NAME, {"password": "newer"})
        assert await kept.read(NAME) == {"password": "newer"}
        await kept.remove(NAME)
        await kept.remove(NAME)
        assert (await kept.read(NAME), await kept.names()) == (None, (OTHER,))
        await kept.remove(OTHER)
        assert await kept.names() == ()


@given(secrets=st.dictionaries(anything, anything, max_size=5), name=st.text(min_size=1))
@settings(max_examples=15)
def test_any_secrets_come_back_as_they_were(secrets, name):
    async def story(home: Path) -> None:
        for kept in each_place(home):
            await kept.keep(name, secrets)
            assert await kept.read(name) == secrets

    with tempfile.TemporaryDirectory() as home:
        asyncio.run(story(Path(home)))


async def test_the_next_run_reads_what_this_one_kept(tmp_path):
    await sealed(tmp_path).keep(NAME, PLANTED)
    assert await sealed(tmp_path).read(NAME) == PLANTED


async def test_no_secret_is_in_an_encrypted_file_nor_the_passphrase(tmp_path):
    kept = sealed(tmp_path)
    await kept.keep(NAME, PLANTED)
    await kept.keep(NAME, PLANTED | {"more": "than before"})
    files = bytes_of(tmp_path)
    assert {"secrets/secrets.sealed", "secrets/secrets.sealed.1"} <= set(files)
    for content in files.values():
        assert not traces(content)
        assert PASSPHRASE.encode() not in content
        assert b"did:plc" not in content


async def test_with_a_keyring_only_names_are_in_files(tmp_path):
    keyring = MemoryKeyring()
    await vault(tmp_path, keyring=keyring, plain=True).keep(NAME, PLANTED)
    assert all(not traces(content) for content in bytes_of(tmp_path).values())
    assert [service for service, _ in keyring.kept] == ["copydesk"]


async def test_files_and_folder_are_of_their_owner_alone(tmp_path):
    for kept in each_place(tmp_path):
        await kept.keep(NAME, PLANTED)
        await kept.keep(NAME, PLANTED)
    for path in tmp_path.rglob("*"):
        if path.name != ".gitignore":
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


async def test_no_plain_file_is_made_without_consent(tmp_path):
    with pytest.raises(SecretsError, match=r"no keyring .* COPYDESK_PASSPHRASE .* --plain"):
        await vault(tmp_path).keep(NAME, PLANTED)
    with pytest.raises(SecretsError):
        await vault(tmp_path, ask=Asked("")).keep(NAME, PLANTED)
    assert bytes_of(tmp_path) == {}


async def test_a_passphrase_of_the_environment_goes_before_consent(tmp_path):
    await sealed(tmp_path, plain=True).keep(NAME, PLANTED)
    assert not (tmp_path / "secrets/secrets.json").exists()


async def test_consent_is_remembered_until_the_last_key_is_removed(tmp_path):
    agreed = vault(tmp_path)
    agreed.allow_plain()
    await agreed.keep(NAME, PLANTED)
    await vault(tmp_path).keep(OTHER, {"token": "another"})
    for name in (NAME, OTHER):
        await vault(tmp_path).remove(name)
    with pytest.raises(SecretsError):
        await vault(tmp_path).keep(NAME, PLANTED)


async def test_what_is_removed_is_in_no_file_not_even_the_one_before(tmp_path):
    kept = vault(tmp_path, plain=True)
    await kept.keep(OTHER, {"token": "another"})
    await kept.keep(NAME, PLANTED)
    await kept.keep(OTHER, {"token": "a third"})
    await kept.remove(NAME)
    assert not traces(b"".join(bytes_of(tmp_path).values()))


async def test_what_is_removed_is_in_the_keyring_no_more(tmp_path):
    keyring = MemoryKeyring()
    kept = vault(tmp_path, keyring=keyring)
    await kept.keep(NAME, PLANTED)
    await kept.keep(NAME, PLANTED | {"more": "than before"})
    await kept.remove(NAME)
    assert keyring.kept == {}


async def test_keys_stay_where_the_first_one_went(tmp_path):
    await sealed(tmp_path).keep(NAME, PLANTED)
    keyring = MemoryKeyring()
    later = sealed(tmp_path, keyring=keyring, plain=True)
    await later.keep(OTHER, {"token": "another"})
    assert keyring.kept == {}
    assert (await later.where()).where is Where.SEALED


async def test_a_keyring_that_is_gone_is_no_reason_to_begin_elsewhere(tmp_path):
    await vault(tmp_path, keyring=MemoryKeyring()).keep(NAME, PLANTED)
    without = sealed(tmp_path, plain=True)
    before = bytes_of(tmp_path)
    for work in (without.read(NAME), without.keep(NAME, PLANTED), without.remove(NAME)):
        with pytest.raises(SecretsError, match="cannot be reached from here"):
            await work
    assert await without.names() == (NAME,)
    assert bytes_of(tmp_path) == before


async def test_a_locked_or_failing_keyring_is_said_and_what_it_raises_is_not_kept(tmp_path):
    keyring = MemoryKeyring()
    kept = vault(tmp_path, keyring=keyring, plain=True)
    await kept.keep(NAME, PLANTED)

    class LockedError(Exception):
        pass

    for failure, says in ((LockedError(*PLANTED.values()), "is locked"), (OSError(PLANTED["refresh"]), "OSError")):
        keyring.failing = failure
        for work in (kept.read(NAME), kept.keep(NAME, PLANTED), kept.remove(NAME)):
            with pytest.raises(SecretsError, match=says) as caught:
                await work
            assert caught.value.__cause__ is caught.value.__context__ is None
            assert not traces(str(caught.value).encode())
    keyring.failing = None
    assert await kept.read(NAME) == PLANTED


async def test_a_keyring_that_is_killed_between_removing_and_adding_has_the_one_before(tmp_path):
    keyring = MemoryKeyring()
    kept = vault(tmp_path, keyring=keyring)
    await kept.keep(NAME, {"refresh": "first"})
    await kept.keep(NAME, {"refresh": "second"})
    del keyring.kept["copydesk", NAME]
    assert await kept.read(NAME) == {"refresh": "first"}


async def test_what_somebody_else_wrote_into_the_keyring_is_not_taken_for_secrets(tmp_path):
    keyring = MemoryKeyring()
    kept = vault(tmp_path, keyring=keyring)
    await kept.keep(NAME, PLANTED)
    keyring.kept["copydesk", NAME] = '{"password": 1}'
    with pytest.raises(SecretsError, match="not written by Copydesk"):
        await kept.read(NAME)


async def test_the_passphrase_is_asked_for_once_a_run(tmp_path):
    asked = Asked(PASSPHRASE)
    kept = vault(tmp_path, ask=asked)
    await kept.keep(NAME, PLANTED)
    await asyncio.gather(*(kept.read(NAME) for _ in range(5)), kept.keep(OTHER, {}), kept.names())
    assert asked.questions == [True]
    again = Asked(PASSPHRASE)
    later = vault(tmp_path, ask=again)
    await asyncio.gather(*(later.read(NAME) for _ in range(5)))
    assert again.questions == [False]


async def test_nothing_is_asked_where_nothing_is_kept(tmp_path):
    asked = Asked()
    kept = vault(tmp_path, ask=asked)
    assert await kept.read(NAME) is None
    assert await kept.names() == ()
    await kept.remove(NAME)
    await kept.where()
    assert asked.questions == []
    assert bytes_of(tmp_path) == {}


async def test_a_wrong_passphrase_changes_nothing_and_is_asked_for_again(tmp_path):
    await sealed(tmp_path).keep(NAME, PLANTED)
    before = bytes_of(tmp_path)
    kept = vault(tmp_path, ask=Asked("wrong one", "wrong two", "wrong three", PASSPHRASE))
    for work in (kept.read(NAME), kept.keep(NAME, {"password": "lost"}), kept.remove(NAME)):
        with pytest.raises(WrongPassphraseError, match="Nothing was changed"):
            await work
    assert await kept.read(NAME) == PLANTED
    assert {name: before[name] for name in before} == {name: bytes_of(tmp_path)[name] for name in before}


async def test_a_passphrase_may_be_written_in_either_form_of_its_letters(tmp_path):
    await sealed(tmp_path, passphrase="café au lait").keep(NAME, PLANTED)
    assert await sealed(tmp_path, passphrase="cafe\N{COMBINING ACUTE ACCENT} au lait").read(NAME) == PLANTED


async def test_a_new_passphrase_is_no_single_word(tmp_path):
    with pytest.raises(SecretsError, match="at least 8"):
        await sealed(tmp_path, passphrase="letmein").keep(NAME, PLANTED)
    assert bytes_of(tmp_path) == {}


async def test_where_keys_are_is_said_before_and_after_the_first(tmp_path):
    for kept, where in zip(each_place(tmp_path), Where, strict=True):
        before = await kept.where()
        await kept.keep(NAME, PLANTED)
        after = await kept.where()
        assert (before.where, before.begun, after.where, after.begun) == (where, False, where, True)
        assert before.usable
        assert after.usable
        assert before.says == after.says
    assert (await vault(tmp_path / "c").where()).says.endswith("NOT encrypted")
    unreachable = await vault(tmp_path / "a").where()
    assert (unreachable.where, unreachable.usable) == (Where.KEYRING, False)
    assert not (await vault(tmp_path / "b").where()).usable


async def test_two_places_at_once_are_not_chosen_between(tmp_path):
    await vault(tmp_path, plain=True).keep(NAME, PLANTED)
    (tmp_path / "secrets/secrets.sealed").write_bytes(b"")
    with pytest.raises(SecretsError, match="Move away the one"):
        await sealed(tmp_path).read(NAME)


async def test_nothing_that_is_handed_out_shows_a_secret(tmp_path):
    for kept in each_place(tmp_path):
        await kept.keep(NAME, PLANTED)
        shown = repr((kept, vars(kept), await kept.read(NAME), await kept.where(), await kept.names()))
        assert not traces(shown.encode())
        assert PASSPHRASE not in shown


async def test_the_desk_has_its_vault_in_its_data_folder(tmp_path):
    environ = {"COPYDESK_HOME": str(tmp_path), "COPYDESK_SECRETS__KEYRING": "false", "COPYDESK_SECRETS__PLAIN": "true"}
    kept = open_vault(load(environ), environ=environ)
    await kept.keep(NAME, PLANTED)
    assert (tmp_path / "secrets/secrets.json").exists()
    assert (tmp_path / "secrets/.gitignore").read_text() == "*\n"
