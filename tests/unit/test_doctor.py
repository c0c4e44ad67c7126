"""Tests for the doctor's findings."""

import sqlite3
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from copydesk.desk import Desk, doctor
from copydesk.desk.doctor import Verdict, _database, examine
from copydesk.desk.keys import name_of
from copydesk.pictures.keep import keep
from copydesk.store import accounts
from desk_fixtures import ONE, TWO, add, open_at
from posting_fixtures import approved, connect, fake, open_posting
from some_pictures import drawing, photo
from sources_on_screen import small_web

SEALED = {"COPYDESK_SECRETS__KEYRING": "false"}
PLAIN = SEALED | {"COPYDESK_SECRETS__PLAIN": "true"}


@pytest.fixture(autouse=True)
def without_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COPYDESK_PASSPHRASE", raising=False)


async def found(desk: Desk, what: str) -> list[tuple[Verdict, str]]:
    """Return (verdict, text) of each finding on one topic of an open desk."""

    @asynccontextmanager
    async def use_open_desk():
        yield desk

    findings = await examine(desk.settings, use_open_desk)
    return [
        (finding.verdict, f"{finding.found} {finding.advice}".strip()) for finding in findings if finding.what == what
    ]


async def keep_key(desk: Desk) -> None:
    (account,) = await desk.accounts.list()
    await desk.ground.vault.keep(name_of(account.details), {"password": "planted-1"})


def test_database_path_with_special_characters_is_examined(tmp_path: Path) -> None:
    """Unquoted in a URI, another file was created and found intact, and the real database was never examined."""
    home = tmp_path / "a#b?c%41"
    home.mkdir()
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("CREATE TABLE t (c)")

    assert _database(home / "copydesk.db").verdict is Verdict.OK
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a#b?c%41"]
    (home / "copydesk.db").write_bytes(b"no database" * 1000)
    assert _database(home / "copydesk.db").verdict is Verdict.ERROR


async def test_failing_source_is_reported(tmp_path: Path) -> None:
    web = small_web()
    async with open_at(tmp_path, web) as desk:
        await add(desk, ONE, name="The Ferry Gazette")
        await add(desk, TWO, name="Harbours")
        assert await found(desk, "sources") == [(Verdict.OK, "2, none failing.")]
        web.cut(ONE)
        await desk.pipeline.run()
        message = "1 of 2 failing: The Ferry Gazette. `copydesk source show ID` says why."
        assert await found(desk, "sources") == [(Verdict.WARNING, message)]


async def test_missing_settings_file_is_reported(tmp_path: Path) -> None:
    async with open_at(tmp_path, small_web()) as desk:
        ((_, message),) = await found(desk, "settings")
    assert message.startswith("No settings file: what it would set is at its default.")


async def test_missing_account_is_reported_without_keys(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        message = "None is connected. To post, connect one: copydesk account connect bluesky"
        assert await found(desk, "accounts") == [(Verdict.OK, message)]
        assert await found(desk, "keys") == []


async def test_account_error_is_reported_with_hint(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake(), **SEALED) as desk:
        await connect(desk), await connect(desk, "you")
        _, you = await desk.accounts.list()
        assert await found(desk, "accounts") == [(Verdict.OK, "2, none in trouble.")]
        await desk.ground.write(accounts.set_trouble, you, "The key is not good any more. Connect it again.")
        message = "1 of 2 cannot be posted to. fake:you: The key is not good any more. Connect it again."
        assert await found(desk, "accounts") == [(Verdict.WARNING, message)]


async def test_unencrypted_keys_are_a_warning(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake(), **PLAIN) as desk:
        await connect(desk)
        ((verdict, message),) = await found(desk, "keys")
        assert (verdict, message.startswith("None is kept so far. The first goes to ")) == (Verdict.OK, True)
        await keep_key(desk)
        ((verdict, message),) = await found(desk, "keys")
    assert verdict is Verdict.WARNING
    assert "NOT encrypted. To encrypt them, remove the accounts" in message
    assert "planted-1" not in message


async def test_encrypted_keys_need_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDESK_PASSPHRASE", "four words are good")
    async with open_posting(tmp_path, fake(), **SEALED) as desk:
        await connect(desk)
        await keep_key(desk)
        path = tmp_path / "secrets" / "secrets.sealed"
        message = f"Kept in {path}, encrypted with a passphrase. The environment gives COPYDESK_PASSPHRASE."
        assert await found(desk, "keys") == [(Verdict.OK, message)]
    monkeypatch.delenv("COPYDESK_PASSPHRASE")
    async with open_posting(tmp_path, fake(), **SEALED) as desk:
        ((verdict, message),) = await found(desk, "keys")
    assert (verdict, "Set COPYDESK_PASSPHRASE" in message) == (Verdict.WARNING, True)


async def test_keys_in_two_backends_are_an_error(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake(), **PLAIN) as desk:
        await connect(desk)
        await keep_key(desk)
        (tmp_path / "secrets" / "secrets.sealed").write_bytes(b"x")
        ((verdict, message),) = await found(desk, "keys")
        assert (verdict, "Move away the one that you do not want" in message) == (Verdict.ERROR, True)
        assert len(await found(desk, "pictures")) == 1


async def test_unused_images_are_counted(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        assert await found(desk, "pictures") == [(Verdict.OK, "0 kept, 0.0 MiB.")]
        folder = desk.settings.pictures_folder
        url = keep(folder, drawing())
        (folder / ".begun").write_bytes(b"x")
        await approved(desk, images=[{"url": url, "source": "UPLOAD"}])
        assert await found(desk, "pictures") == [(Verdict.OK, "1 kept, 0.0 MiB.")]
        keep(folder, photo(800, 600))
        assert await found(desk, "pictures") == [
            (Verdict.OK, "2 kept, 0.1 MiB. No draft has 1 of them any more, 0.1 MiB.")
        ]


async def test_missing_pillow_is_reported_only_for_approved_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda _: None)
    picture = {"images": [{"url": "https://pictures.example/a.png", "source": "UPLOAD"}]}
    async with open_posting(tmp_path, fake()) as desk:
        await approved(desk)
        await desk.drafts.create({"text": "Not approved yet.", **picture})
        assert [verdict for verdict, _ in await found(desk, "pictures")] == [Verdict.OK]
        await approved(desk, **picture)
        ((verdict, message),) = await found(desk, "pictures")
    assert verdict is Verdict.WARNING
    assert "Pillow, which makes them fit, is not installed. Install it: pip install pillow" in message
