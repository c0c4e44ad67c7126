"""Tests for the vault's files: atomic writes, permissions, locks, and damaged content."""

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from copydesk.credentials import private_folder as folder_module
from copydesk.credentials.encryption import Passphrase, ScryptParameters
from copydesk.credentials.private_folder import MAX_FILE_SIZE, PrivateFolder
from copydesk.errors import CopydeskError, CredentialsError, WrongPassphraseError
from sampling import sample_size
from vault_fixtures import (
    CHEAP_SCRYPT,
    OTHER_NAME,
    PASSPHRASE,
    PLANTED_SECRETS,
    SECRET_NAME,
    make_encrypted_vault,
    make_vault,
    read_files,
)

SEALER = Passphrase(PASSPHRASE, parameters=CHEAP_SCRYPT)


@given(content=st.binary(max_size=200))
def test_encryption_round_trips(content):
    assert SEALER.decrypt(SEALER.encrypt(content), "it") == content


def test_encryption_is_randomized():
    first, second = SEALER.encrypt(b"same"), SEALER.encrypt(b"same")
    assert not set(first.split()[6:9]) & set(second.split()[6:9])


@given(data=st.data())
@settings(max_examples=sample_size(200))
def test_modified_file_is_detected(data):
    whole = SEALER.encrypt(b"content")
    position = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:position] + bytes([whole[position] ^ data.draw(st.integers(1, 255))]) + whole[position + 1 :]
    with pytest.raises(CredentialsError):
        SEALER.decrypt(changed, "it")


@given(cut=st.integers(0, 200))
@example(cut=len("COPYDESK-SEALED "))
@example(cut=len("COPYDESK-SEALED 1"))
def test_truncated_file_is_damaged(cut):
    whole = SEALER.encrypt(b"content")
    with pytest.raises(CredentialsError, match=r"damaged.*it\.1"):
        SEALER.decrypt(whole[: min(cut, len(whole) - 1)], "it")


def test_invalid_passphrase_is_distinguished_from_damage():
    whole = SEALER.encrypt(b"content")
    with pytest.raises(WrongPassphraseError):
        Passphrase("another one", parameters=CHEAP_SCRYPT).decrypt(whole, "it")
    with pytest.raises(CredentialsError, match="damaged"):
        SEALER.decrypt(whole[:-1] + bytes([whole[-1] ^ 1]), "it")


@pytest.mark.parametrize(
    "cost",
    [
        ScryptParameters(2**19, 8, 1),
        ScryptParameters(2**4, 8, 99),
        ScryptParameters(3, 8, 1),
        ScryptParameters(2, 0, 1),
        ScryptParameters(0, 8, 1),
    ],
)
def test_excessive_kdf_cost_is_refused(cost):
    header = SEALER.encrypt(b"").replace(b" 2 8 1 ", f" {cost.n} {cost.r} {cost.p} ".encode())
    with pytest.raises(CredentialsError, match="damaged"):
        SEALER.decrypt(header, "it")


def test_newer_version_is_not_called_damaged():
    with pytest.raises(CredentialsError, match="newer version"):
        SEALER.decrypt(b"COPYDESK-SEALED 2 argon2id\n", "it")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": {"b": 1}}', b"\xff", b"[" * 100_000])
async def test_damaged_file_is_reported_and_unchanged(tmp_path, content):
    await make_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)
    path = tmp_path / "secrets/secrets.json"
    path.write_bytes(content)
    secrets = make_vault(tmp_path)
    for operation in (
        secrets.load(SECRET_NAME),
        secrets.save(SECRET_NAME, PLANTED_SECRETS),
        secrets.remove(SECRET_NAME),
        secrets.names(),
    ):
        with pytest.raises(CredentialsError, match=r"is damaged.*\.1") as caught:
            await operation
        assert caught.value.__cause__ is caught.value.__context__ is None
    assert path.read_bytes() == content


async def test_previous_version_remains_as_backup(tmp_path):
    secrets = make_vault(tmp_path, plain=True)
    for refresh in ("first", "second", "third"):
        await secrets.save(SECRET_NAME, {"refresh": refresh})
    path = tmp_path / "secrets/secrets.json"
    path.with_name("secrets.json.1").rename(path)
    assert await make_vault(tmp_path).load(SECRET_NAME) == {"refresh": "second"}


async def test_world_readable_file_is_refused(tmp_path):
    await make_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)
    path = tmp_path / "secrets/secrets.json"
    path.chmod(0o640)
    with pytest.raises(CredentialsError, match=r"Others can read .*chmod 600"):
        await make_vault(tmp_path).load(SECRET_NAME)


async def test_open_folder_becomes_private(tmp_path):
    (tmp_path / "secrets").mkdir(mode=0o755)
    await make_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0


async def test_symlinks_are_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("{}")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/secrets.json").symlink_to(elsewhere)
    (tmp_path / "secrets/secrets.json.new").symlink_to(elsewhere)
    with pytest.raises(CredentialsError):
        await make_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)
    (tmp_path / "secrets/secrets.json").unlink()
    await make_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)
    assert elsewhere.read_text() == "{}"


async def test_symlinked_folder_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "secrets").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CredentialsError, match="not a folder you own"):
        await make_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)


async def test_full_disk_leaves_files_unchanged(tmp_path, monkeypatch):
    secrets = make_encrypted_vault(tmp_path)
    await secrets.save(SECRET_NAME, PLANTED_SECRETS)
    before = read_files(tmp_path)

    def fail_with_full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module.os, "fsync", fail_with_full_disk)
    with pytest.raises(CredentialsError, match="No space left on device"):
        await secrets.save(SECRET_NAME, {"password": "newer"})
    monkeypatch.undo()
    assert read_files(tmp_path) == before


def test_oversized_content_is_refused(tmp_path):
    folder = PrivateFolder(tmp_path)
    with pytest.raises(CredentialsError, match="larger"):
        folder.write("file", b"x" * (MAX_FILE_SIZE + 1))
    assert list(tmp_path.iterdir()) == []


def test_long_held_lock_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_module, "LOCK_TIMEOUT", 0.0)
    folder = PrivateFolder(tmp_path)
    with folder.lock(), pytest.raises(CredentialsError, match="Another Copydesk"), PrivateFolder(tmp_path).lock():
        pass


async def test_cancelled_caller_does_not_break_write_order(tmp_path):
    secrets = make_vault(tmp_path, plain=True)
    tasks = [asyncio.create_task(secrets.save(f"{number}", {"a": "b"})) for number in range(5)]
    await asyncio.sleep(0.001)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert {"1", "2", "3", "4"} <= set(await secrets.names())


WRITER_PROGRAM = """
import asyncio, sys
from pathlib import Path
from vault_fixtures import SECRET_NAME, make_encrypted_vault, make_vault

async def write():
    vault = {make}(Path(sys.argv[1]){more})
    await vault.save(SECRET_NAME, {{"refresh": "0", "same": "0"}})
    print("begun", flush=True)
    for number in range(1, 1_000_000):
        await vault.save(SECRET_NAME, {{"refresh": str(number), "same": str(number)}})
        print(number, flush=True)

asyncio.run(write())
"""


def start_process(home: Path, script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script, str(home)], stdout=subprocess.PIPE)


@pytest.mark.parametrize(("make", "more"), [("make_encrypted_vault", ""), ("make_vault", ", plain=True")])
def test_killed_writer_leaves_old_or_new_version(tmp_path, make, more):
    random = Random(7)
    for _ in range(3):
        writer = start_process(tmp_path, WRITER_PROGRAM.format(make=make, more=more))
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"begun\n"
        time.sleep(random.uniform(0, 0.03))
        writer.send_signal(signal.SIGKILL)
        printed = writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
        stored = asyncio.run(make_encrypted_vault(tmp_path).load(SECRET_NAME))
        last_printed = int(printed[-1]) if printed else 0
        assert stored is not None
        assert stored["refresh"] == stored["same"]
        assert int(stored["refresh"]) in (last_printed, last_printed + 1)


MULTI_WRITER_PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from vault_fixtures import make_encrypted_vault

async def write():
    vault = make_encrypted_vault(Path(sys.argv[1]))
    for number in range(8):
        await vault.save(f"{os.getpid()}-{number}", {"token": "x"})

asyncio.run(write())
"""


def test_concurrent_writers_lose_nothing(tmp_path):
    writers = [start_process(tmp_path, MULTI_WRITER_PROGRAM) for _ in range(2)]
    for writer in writers:
        assert writer.wait(60) == 0
        assert writer.stdout is not None
        writer.stdout.close()
    assert len(asyncio.run(make_encrypted_vault(tmp_path).names())) == 16


async def test_concurrent_first_writes_use_one_backend(tmp_path):
    first, second = make_vault(tmp_path, plain=True), make_encrypted_vault(tmp_path)
    backend = await second._open_backend(second._choose_kind(), new=True)
    await first.save(SECRET_NAME, PLANTED_SECRETS)
    with pytest.raises(CredentialsError, match="another credential store"):
        second._write_locked(backend, lambda: backend.save(OTHER_NAME, PLANTED_SECRETS))
    assert await make_vault(tmp_path).names() == (SECRET_NAME,)


async def test_file_at_folder_path_raises_own_error(tmp_path):
    (tmp_path / "secrets").write_text("a file in its place")
    with pytest.raises(CopydeskError):
        await make_vault(tmp_path, plain=True).save(SECRET_NAME, PLANTED_SECRETS)


def test_removal_that_cannot_be_synced_is_reported(tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(folder_module, "_fsync_directory", refuse)
    with pytest.raises(CredentialsError, match=r"secrets\.sealed could not be removed: Input/output error"):
        PrivateFolder(tmp_path).remove("secrets.sealed")
