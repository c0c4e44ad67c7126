"""The files of the vault: whole after a kill, and left alone when they are not what they should be."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from copydesk.errors import CopydeskError, SecretsError, WrongPassphraseError
from copydesk.secrets import folder as folder_module
from copydesk.secrets.folder import LARGEST, PrivateFolder
from copydesk.secrets.seal import Cost, Passphrase
from vaults import CHEAP, NAME, OTHER, PASSPHRASE, PLANTED, bytes_of, sealed, vault

SEAL = Passphrase(PASSPHRASE, cost=CHEAP)


@given(content=st.binary(max_size=200))
def test_what_is_sealed_comes_back(content):
    assert SEAL.unseal(SEAL.seal(content), "it") == content


def test_no_two_sealings_are_alike():
    one, other = SEAL.seal(b"same"), SEAL.seal(b"same")
    assert not set(one.split()[6:9]) & set(other.split()[6:9])


@given(data=st.data())
@settings(max_examples=200)
def test_whatever_is_changed_in_a_sealed_file_is_noticed(data):
    whole = SEAL.seal(b"content")
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 255))]) + whole[place + 1 :]
    with pytest.raises(SecretsError):
        SEAL.unseal(changed, "it")


@given(cut=st.integers(0, 200))
@example(cut=len("COPYDESK-SEALED "))
@example(cut=len("COPYDESK-SEALED 1"))
def test_a_sealed_file_that_is_cut_is_damaged(cut):
    whole = SEAL.seal(b"content")
    with pytest.raises(SecretsError, match=r"damaged.*it\.1"):
        SEAL.unseal(whole[: min(cut, len(whole) - 1)], "it")


def test_a_wrong_passphrase_is_told_from_damage():
    whole = SEAL.seal(b"content")
    with pytest.raises(WrongPassphraseError):
        Passphrase("another one", cost=CHEAP).unseal(whole, "it")
    with pytest.raises(SecretsError, match="damaged"):
        SEAL.unseal(whole[:-1] + bytes([whole[-1] ^ 1]), "it")


@pytest.mark.parametrize("cost", [Cost(2**19, 8, 1), Cost(2**4, 8, 99), Cost(3, 8, 1), Cost(2, 0, 1), Cost(0, 8, 1)])
def test_a_file_cannot_ask_for_all_the_memory_there_is(cost):
    header = SEAL.seal(b"").replace(b" 2 8 1 ", f" {cost.n} {cost.r} {cost.p} ".encode())
    with pytest.raises(SecretsError, match="damaged"):
        SEAL.unseal(header, "it")


def test_a_file_of_a_newer_version_is_not_called_damaged():
    with pytest.raises(SecretsError, match="newer version"):
        SEAL.unseal(b"COPYDESK-SEALED 2 argon2id\n", "it")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": {"b": 1}}', b"\xff", b"[" * 100_000])
async def test_a_damaged_file_is_said_and_stays_as_it_is(tmp_path, content):
    await vault(tmp_path, plain=True).keep(NAME, PLANTED)
    path = tmp_path / "secrets/secrets.json"
    path.write_bytes(content)
    kept = vault(tmp_path)
    for work in (kept.read(NAME), kept.keep(NAME, PLANTED), kept.remove(NAME), kept.names()):
        with pytest.raises(SecretsError, match=r"is damaged.*\.1") as caught:
            await work
        assert caught.value.__cause__ is caught.value.__context__ is None
    assert path.read_bytes() == content


async def test_the_version_before_is_kept_until_the_next(tmp_path):
    kept = vault(tmp_path, plain=True)
    for refresh in ("first", "second", "third"):
        await kept.keep(NAME, {"refresh": refresh})
    path = tmp_path / "secrets/secrets.json"
    path.with_name("secrets.json.1").rename(path)
    assert await vault(tmp_path).read(NAME) == {"refresh": "second"}


async def test_a_file_that_others_can_read_is_refused(tmp_path):
    await vault(tmp_path, plain=True).keep(NAME, PLANTED)
    path = tmp_path / "secrets/secrets.json"
    path.chmod(0o640)
    with pytest.raises(SecretsError, match=r"can be read by others.*chmod 600"):
        await vault(tmp_path).read(NAME)


async def test_a_folder_that_others_can_enter_is_closed(tmp_path):
    (tmp_path / "secrets").mkdir(mode=0o755)
    await vault(tmp_path, plain=True).keep(NAME, PLANTED)
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0


async def test_no_link_is_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("{}")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/secrets.json").symlink_to(elsewhere)
    (tmp_path / "secrets/secrets.json.new").symlink_to(elsewhere)
    with pytest.raises(SecretsError):
        await vault(tmp_path, plain=True).keep(NAME, PLANTED)
    (tmp_path / "secrets/secrets.json").unlink()
    await vault(tmp_path, plain=True).keep(NAME, PLANTED)
    assert elsewhere.read_text() == "{}"


async def test_a_link_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "secrets").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SecretsError, match="not a folder of yours"):
        await vault(tmp_path, plain=True).keep(NAME, PLANTED)


async def test_a_full_disk_leaves_what_there_was(tmp_path, monkeypatch):
    kept = sealed(tmp_path)
    await kept.keep(NAME, PLANTED)
    before = bytes_of(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module.os, "fsync", full)
    with pytest.raises(SecretsError, match="No space left on device"):
        await kept.keep(NAME, {"password": "newer"})
    monkeypatch.undo()
    assert bytes_of(tmp_path) == before


def test_more_than_could_be_read_again_is_not_written(tmp_path):
    folder = PrivateFolder(tmp_path)
    with pytest.raises(SecretsError, match="larger"):
        folder.write("file", b"x" * (LARGEST + 1))
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_holds_the_lock_for_long_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_module, "LONGEST_WAIT", 0.0)
    folder = PrivateFolder(tmp_path)
    with folder.locked(), pytest.raises(SecretsError, match="Another Copydesk"), PrivateFolder(tmp_path).locked():
        pass


async def test_a_caller_that_is_cancelled_lets_nobody_in_between(tmp_path):
    kept = vault(tmp_path, plain=True)
    tasks = [asyncio.create_task(kept.keep(f"{number}", {"a": "b"})) for number in range(5)]
    await asyncio.sleep(0.001)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert {"1", "2", "3", "4"} <= set(await kept.names())


WRITER = """
import asyncio, sys
from pathlib import Path
from vaults import NAME, sealed, vault

async def write():
    kept = {place}(Path(sys.argv[1]){more})
    await kept.keep(NAME, {{"refresh": "0", "same": "0"}})
    print("begun", flush=True)
    for number in range(1, 1_000_000):
        await kept.keep(NAME, {{"refresh": str(number), "same": str(number)}})
        print(number, flush=True)

asyncio.run(write())
"""


def started(home: Path, script: str) -> subprocess.Popen[bytes]:
    tests = str(Path(__file__).resolve().parents[1])
    environ = os.environ | {"PYTHONPATH": tests}
    return subprocess.Popen([sys.executable, "-c", script, str(home)], stdout=subprocess.PIPE, env=environ)


@pytest.mark.parametrize(("place", "more"), [("sealed", ""), ("vault", ", plain=True")])
def test_whoever_is_killed_leaves_the_old_or_the_new(tmp_path, place, more):
    random = Random(7)
    for _ in range(3):
        writer = started(tmp_path, WRITER.format(place=place, more=more))
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"begun\n"
        time.sleep(random.uniform(0, 0.03))
        writer.send_signal(signal.SIGKILL)
        said = writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
        found = asyncio.run(sealed(tmp_path).read(NAME))
        last = int(said[-1]) if said else 0
        assert found is not None
        assert found["refresh"] == found["same"]
        assert int(found["refresh"]) in (last, last + 1)


MANY = """
import asyncio, os, sys
from pathlib import Path
from vaults import sealed

async def write():
    kept = sealed(Path(sys.argv[1]))
    for number in range(8):
        await kept.keep(f"{os.getpid()}-{number}", {"token": "x"})

asyncio.run(write())
"""


def test_of_processes_that_write_at_once_none_loses_the_other_s(tmp_path):
    writers = [started(tmp_path, MANY) for _ in range(2)]
    for writer in writers:
        assert writer.wait(60) == 0
        assert writer.stdout is not None
        writer.stdout.close()
    assert len(asyncio.run(sealed(tmp_path).names())) == 16


async def test_two_who_begin_in_different_places_do_not_both_go_on(tmp_path):
    one, other = vault(tmp_path, plain=True), sealed(tmp_path)
    place = await other._place(other._choose(), new=True)
    await one.keep(NAME, PLANTED)
    with pytest.raises(SecretsError, match="another place"):
        other._change(place, lambda: place.keep(OTHER, PLANTED))
    assert await vault(tmp_path).names() == (NAME,)


async def test_every_error_is_ours_whatever_is_in_the_folder(tmp_path):
    (tmp_path / "secrets").write_text("a file in its place")
    with pytest.raises(CopydeskError):
        await vault(tmp_path, plain=True).keep(NAME, PLANTED)
