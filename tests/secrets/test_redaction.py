"""Secrets that are known are in nothing that is logged, and in nothing that a crash leaves behind."""

import base64
import io
import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import quote, urlencode

import httpx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from copydesk.errors import CopydeskError
from copydesk.secrets import redaction as redaction_module
from copydesk.secrets.redaction import SHORTEST, SHOWN, RedactingFilter, Redaction, watch_crashes, watch_logs
from vaults import NAME, PASSPHRASE, PLANTED, sealed

SECRET = PLANTED["refresh"]


@pytest.fixture
def known():
    known = Redaction()
    known.add(*PLANTED.values())
    return known


@pytest.fixture
def log(known):
    """What every handler of every logger writes."""
    stop, root = watch_logs(known), logging.getLogger()
    written, level = io.StringIO(), root.level
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield written
    root.setLevel(level)
    root.removeHandler(handler)
    stop()


def basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


@given(secret=st.text(st.characters(exclude_categories=()), min_size=SHORTEST, max_size=30), around=st.text())
@settings(max_examples=60)
def test_a_secret_is_found_however_it_is_written(secret, around):
    assume(secret not in SHOWN * 3)
    known = Redaction()
    known.add(secret)
    raw = secret.encode(errors="surrogatepass")
    for written in (secret, quote(raw), quote(raw, safe=""), json.dumps(secret), repr(secret), repr(raw)):
        shown = known.redact(f"{around}{written}{around}")
        assert SHOWN in shown
        assert written.strip("'\"b") not in shown.replace(around, "") or not written.strip("'\"b")


@given(user=st.text(max_size=9), secret=st.text(min_size=SHORTEST, max_size=30), behind=st.text(max_size=3))
def test_a_secret_is_found_in_basic_authentication_whoever_the_user_is(user, secret, behind):
    known = Redaction()
    known.add(secret)
    header = basic(user, secret + behind)
    assert SHOWN in known.redact(f"Authorization: Basic {header}")


def test_what_is_shorter_than_six_characters_is_left_alone():
    known = Redaction()
    known.add("abc", "12345", "")
    assert known.redact("abc 12345") == "abc 12345"


def test_of_two_secrets_where_one_is_in_the_other_nothing_is_left():
    known = Redaction()
    known.add("secret-1")
    known.add("secret-1-and-more")
    assert known.redact("secret-1-and-more, secret-1") == f"{SHOWN}, {SHOWN}"


def test_what_is_logged_is_written_without_secrets(log):
    logger = logging.getLogger("copydesk.posting.x")
    logger.warning("token %s and %r, %d%%", SECRET, {"a": SECRET}, 5)
    logger.warning(f"in the message itself: {SECRET} 100%")
    logger.warning("by name %(token)s", {"token": SECRET})
    logger.warning(CopydeskError(f"not a text: {SECRET}"))
    logger.warning("too few %s %s", *[SECRET])
    logger.warning("stack", stack_info=True)
    logging.getLogger("another").error(urlencode({"token": SECRET}))
    written = log.getvalue()
    assert SECRET not in written
    assert quote(SECRET, safe="") not in written
    assert f"token {SHOWN} and {{'a': '{SHOWN}'}}, 5%" in written
    assert f"itself: {SHOWN} 100%" in written
    assert "Stack (most recent call last)" in written


def test_an_error_and_all_that_led_to_it_is_logged_without_secrets(log):
    try:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise httpx.ReadError(f"https://x.example/?access_token={quote(SECRET, safe='')}") from error
    except httpx.ReadError as error:
        error.add_note(f"a note of {SECRET}")
        logging.getLogger("copydesk").exception("it failed")
    written = log.getvalue()
    assert "it failed\nTraceback" in written
    assert "direct cause" in written
    assert f"a note of {SHOWN}" in written
    assert SECRET not in written
    assert quote(SECRET, safe="") not in written


async def test_httpx_at_debug_writes_no_secret(log, loopback_server):
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    async with httpx.AsyncClient(trust_env=False) as client:
        await client.get(
            loopback_server, params={"access_token": SECRET}, headers={"authorization": f"Bearer {SECRET}"}
        )
        answer = await client.get(loopback_server, auth=("me", PLANTED["password"]))
    logging.getLogger("httpcore").debug("%r", answer.request.headers.raw)
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    written = log.getvalue()
    assert "access_token=•••" in written
    assert "(b'Authorization', b'Basic " in written
    assert SECRET not in written
    assert basic("me", PLANTED["password"]) not in written
    assert base64.b64encode(PLANTED["password"].encode()).decode().rstrip("=")[:-1] not in written


@pytest.fixture
async def loopback_server():
    import asyncio

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    server.close()


def test_a_record_that_came_from_elsewhere_goes_through_the_filter(known):
    record = logging.makeLogRecord({"msg": SECRET, "exc_text": SECRET, "stack_info": SECRET})
    assert RedactingFilter(known).filter(record)
    assert SECRET not in str(vars(record))


def test_no_error_is_left_in_a_record_for_others_to_write_in_their_way(known):
    error = ValueError(SECRET)
    record = logging.makeLogRecord({"msg": "it failed", "exc_info": (ValueError, error, None)})
    RedactingFilter(known).filter(record)
    assert record.exc_info is None
    assert record.exc_text == f"ValueError: {SHOWN}"


def test_when_it_is_over_records_are_made_as_before(known):
    before = logging.getLogRecordFactory()
    watch_logs(known)()
    assert logging.getLogRecordFactory() is before


def test_a_crash_has_no_secret_and_no_local_variables(known):
    def fail(token: str) -> None:
        local = f"local {token}"
        raise ValueError(f"it was {token}") from KeyError(local)

    try:
        fail(SECRET)
    except ValueError as error:
        text = known.crash(error)
    assert f"ValueError: it was {SHOWN}" in text
    assert "in fail" in text
    assert SECRET not in text


def test_an_error_that_cannot_be_shown_ends_nothing(known):
    class OfflineError(Exception):
        def __str__(self) -> str:
            raise RuntimeError(SECRET)

    assert SECRET not in known.crash(OfflineError(SECRET))


def test_what_nobody_caught_is_written_without_secrets(known, monkeypatch, capsys):
    for owner, hook in ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook")):
        monkeypatch.setattr(owner, hook, getattr(owner, hook))
    watch_crashes(known)
    sys.excepthook(ValueError, ValueError(SECRET), None)
    thread = threading.Thread(target=lambda: json.loads(f"no JSON {SECRET}") or int(SECRET))
    thread.start()
    thread.join()
    written = capsys.readouterr().err
    assert f"ValueError: {SHOWN}" in written
    assert "JSONDecodeError" in written
    assert SECRET not in written


async def test_the_vault_makes_known_what_it_keeps_and_reads(tmp_path):
    keeping, reading = Redaction(), Redaction()
    await sealed(tmp_path, known=keeping).keep(NAME, PLANTED)
    await sealed(tmp_path, known=reading).read(NAME)
    for known in (keeping, reading):
        assert known.redact(f"{SECRET} {PLANTED['password']} {PASSPHRASE}") == f"{SHOWN} {SHOWN} {SHOWN}"


CRASHING = """
import asyncio, logging, os, sys
from pathlib import Path
from vaults import NAME, PLANTED, sealed
from copydesk.secrets.redaction import KNOWN, watch_crashes, watch_logs

async def main():
    watch_logs(), watch_crashes()
    logging.basicConfig(level=logging.DEBUG)
    kept = sealed(Path(sys.argv[1]), known=KNOWN)
    await kept.keep(NAME, PLANTED)
    read = await kept.read(NAME)
    logging.getLogger("any").warning("%s", dict(read))
    print(Path("/proc/self/cmdline").read_bytes() if Path("/proc/self").exists() else b"")
    try:
        raise ValueError(read["refresh"])
    except ValueError as error:
        raise RuntimeError(str(dict(read))) from error

asyncio.run(main())
"""


def test_a_process_that_crashes_with_secrets_leaves_none_anywhere(tmp_path):
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    command = [sys.executable, "-X", "dev", "-c", CRASHING, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, env=environ, timeout=60, check=False)
    said = (ended.stdout + ended.stderr).decode()
    assert ended.returncode == 1
    assert "RuntimeError" in said
    assert SHOWN in said
    files = [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    for secret in (*PLANTED.values(), PASSPHRASE):
        assert secret not in said
        assert all(secret.encode().decode("latin-1") not in each for each in files)


def test_what_is_known_is_of_the_whole_process():
    assert isinstance(redaction_module.KNOWN, Redaction)
