"""What the doctor says of a desk."""

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
    """What the doctor finds of one thing on an open desk."""

    @asynccontextmanager
    async def opened():
        yield desk

    every = await examine(desk.settings, opened)
    return [(each.verdict, f"{each.found} {each.advice}".strip()) for each in every if each.what == what]


async def keep_key(desk: Desk) -> None:
    (account,) = await desk.accounts.list()
    await desk.ground.vault.keep(name_of(account.details), {"password": "planted-1"})


def test_a_home_whose_name_means_something_in_an_address_is_examined_itself(tmp_path: Path) -> None:
    """Another file was made and found whole, while nobody looked at the database."""
    home = tmp_path / "a#b?c%41"
    home.mkdir()
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("CREATE TABLE t (c)")

    assert _database(home / "copydesk.db").verdict is Verdict.OK
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a#b?c%41"]
    (home / "copydesk.db").write_bytes(b"no database" * 1000)
    assert _database(home / "copydesk.db").verdict is Verdict.ERROR


async def test_a_source_that_failed_once_is_failing_as_the_screen_of_the_sources_says(tmp_path: Path) -> None:
    web = small_web()
    async with open_at(tmp_path, web) as desk:
        await add(desk, ONE, name="The Ferry Gazette")
        await add(desk, TWO, name="Harbours")
        assert await found(desk, "sources") == [(Verdict.OK, "2, none failing.")]
        web.cut(ONE)
        await desk.pipeline.run()
        says = "1 of 2 failing: The Ferry Gazette. `copydesk source show ID` says why."
        assert await found(desk, "sources") == [(Verdict.WARNING, says)]


async def test_without_a_settings_file_it_does_not_say_that_nothing_was_set(tmp_path: Path) -> None:
    async with open_at(tmp_path, small_web()) as desk:
        ((_, says),) = await found(desk, "settings")
    assert says.startswith("No settings file: what it would set is at its default.")


async def test_without_accounts_it_says_how_to_connect_one_and_looks_for_no_keys(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        says = "None is connected. To post, connect one: copydesk account connect bluesky"
        assert await found(desk, "accounts") == [(Verdict.OK, says)]
        assert await found(desk, "keys") == []


async def test_an_account_in_trouble_is_named_with_what_to_do(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake(), **SEALED) as desk:
        await connect(desk), await connect(desk, "you")
        _, you = await desk.accounts.list()
        assert await found(desk, "accounts") == [(Verdict.OK, "2, none in trouble.")]
        await desk.ground.write(accounts.set_trouble, you, "The key is not good any more. Connect it again.")
        says = "1 of 2 cannot be posted to. fake:you: The key is not good any more. Connect it again."
        assert await found(desk, "accounts") == [(Verdict.WARNING, says)]


async def test_keys_that_are_not_encrypted_are_a_warning(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake(), **PLAIN) as desk:
        await connect(desk)
        ((verdict, says),) = await found(desk, "keys")
        assert (verdict, says.startswith("None is kept so far. The first goes to ")) == (Verdict.OK, True)
        await keep_key(desk)
        ((verdict, says),) = await found(desk, "keys")
    assert verdict is Verdict.WARNING
    assert "NOT encrypted. To encrypt them, remove the accounts" in says
    assert "planted-1" not in says


async def test_keys_that_are_encrypted_are_well_while_there_is_a_passphrase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPYDESK_PASSPHRASE", "four words are good")
    async with open_posting(tmp_path, fake(), **SEALED) as desk:
        await connect(desk)
        await keep_key(desk)
        path = tmp_path / "secrets" / "secrets.sealed"
        says = f"Kept in {path}, encrypted with a passphrase. The environment gives COPYDESK_PASSPHRASE."
        assert await found(desk, "keys") == [(Verdict.OK, says)]
    monkeypatch.delenv("COPYDESK_PASSPHRASE")
    async with open_posting(tmp_path, fake(), **SEALED) as desk:
        ((verdict, says),) = await found(desk, "keys")
    assert (verdict, "Set COPYDESK_PASSPHRASE" in says) == (Verdict.WARNING, True)


async def test_keys_in_two_places_are_wrong_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake(), **PLAIN) as desk:
        await connect(desk)
        await keep_key(desk)
        (tmp_path / "secrets" / "secrets.sealed").write_bytes(b"x")
        ((verdict, says),) = await found(desk, "keys")
        assert (verdict, "Move away the one that you do not want" in says) == (Verdict.ERROR, True)
        assert len(await found(desk, "pictures")) == 1


async def test_pictures_that_no_draft_has_are_told_from_the_others(tmp_path: Path) -> None:
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


async def test_pillow_is_missed_only_where_pictures_are_to_be_posted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda _: None)
    picture = {"images": [{"url": "https://pictures.example/a.png", "source": "UPLOAD"}]}
    async with open_posting(tmp_path, fake()) as desk:
        await approved(desk)
        await desk.drafts.create({"text": "Not approved yet.", **picture})
        assert [verdict for verdict, _ in await found(desk, "pictures")] == [Verdict.OK]
        await approved(desk, **picture)
        ((verdict, says),) = await found(desk, "pictures")
    assert verdict is Verdict.WARNING
    assert "Pillow, which makes them fit, is not installed. Install it: pip install pillow" in says
