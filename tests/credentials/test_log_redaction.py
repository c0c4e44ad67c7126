"""Tests that known secrets appear in no log record and no crash report."""

import base64
import io
import json
import logging
import subprocess
import sys
import threading
from unittest.mock import Mock
from urllib.parse import quote, urlencode

import httpx
import pytest

from copydesk.credentials.log_redaction import RedactingFilter, redact_crashes, redact_logs, redact_secrets
from copydesk.errors import CopydeskError
from copydesk.settings import load
from copydesk.text.redaction import MASK, Redaction
from vault_fixtures import PASSPHRASE, PLANTED_SECRETS, SECRET_NAME, make_encrypted_vault

SECRET = PLANTED_SECRETS["refresh"]


@pytest.fixture
def redaction():
    redaction = Redaction()
    redaction.add(*PLANTED_SECRETS.values())
    return redaction


@pytest.fixture
def log_output(redaction):
    """The output of a handler on the root logger."""
    stop, root = redact_logs(redaction), logging.getLogger()
    output, level = io.StringIO(), root.level
    handler = logging.StreamHandler(output)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield output
    root.setLevel(level)
    root.removeHandler(handler)
    stop()


def basic_auth(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def test_log_messages_are_redacted(log_output):
    logger = logging.getLogger("copydesk.posting.x.platform")
    logger.warning("token %s and %r, %d%%", SECRET, {"a": SECRET}, 5)
    logger.warning(f"in the message itself: {SECRET} 100%")
    logger.warning("by name %(token)s", {"token": SECRET})
    logger.warning(CopydeskError(f"not a text: {SECRET}"))
    logger.warning("too few %s %s", *[SECRET])
    logger.warning("stack", stack_info=True)
    logging.getLogger("another").error(urlencode({"token": SECRET}))
    output = log_output.getvalue()
    assert SECRET not in output
    assert quote(SECRET, safe="") not in output
    assert f"token {MASK} and {{'a': '{MASK}'}}, 5%" in output
    assert f"itself: {MASK} 100%" in output
    assert "Stack (most recent call last)" in output


def test_logged_exception_chain_is_redacted(log_output):
    try:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise httpx.ReadError(f"https://x.example/?access_token={quote(SECRET, safe='')}") from error
    except httpx.ReadError as error:
        error.add_note(f"a note of {SECRET}")
        logging.getLogger("copydesk").exception("it failed")
    output = log_output.getvalue()
    assert "it failed\nTraceback" in output
    assert "direct cause" in output
    assert f"a note of {MASK}" in output
    assert SECRET not in output
    assert quote(SECRET, safe="") not in output


async def test_httpx_debug_log_is_redacted(log_output, loopback_server):
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    async with httpx.AsyncClient(trust_env=False) as client:
        await client.get(
            loopback_server, params={"access_token": SECRET}, headers={"authorization": f"Bearer {SECRET}"}
        )
        response = await client.get(loopback_server, auth=("me", PLANTED_SECRETS["password"]))
    logging.getLogger("httpcore").debug("%r", response.request.headers.raw)
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    output = log_output.getvalue()
    assert "access_token=•••" in output
    assert "(b'Authorization', b'Basic " in output
    assert SECRET not in output
    assert basic_auth("me", PLANTED_SECRETS["password"]) not in output
    assert base64.b64encode(PLANTED_SECRETS["password"].encode()).decode().rstrip("=")[:-1] not in output


@pytest.fixture
async def loopback_server():
    import asyncio

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    server.close()


def test_foreign_record_is_redacted_by_filter(redaction):
    record = logging.makeLogRecord({"msg": SECRET, "exc_text": SECRET, "stack_info": SECRET})
    assert RedactingFilter(redaction).filter(record)
    assert SECRET not in str(vars(record))


def test_filter_replaces_exc_info_with_text(redaction):
    """Other handlers could format the exception unredacted."""
    error = ValueError(SECRET)
    record = logging.makeLogRecord({"msg": "it failed", "exc_info": (ValueError, error, None)})
    RedactingFilter(redaction).filter(record)
    assert record.exc_info is None
    assert record.exc_text == f"ValueError: {MASK}"


def test_stopping_restores_record_factory(redaction):
    before = logging.getLogRecordFactory()
    redact_logs(redaction)()
    assert logging.getLogRecordFactory() is before


def test_crash_report_has_no_secret_and_no_locals(redaction):
    def fail(token: str) -> None:
        local = f"local {token}"
        raise ValueError(f"it was {token}") from KeyError(local)

    try:
        fail(SECRET)
    except ValueError as error:
        text = redaction.format_exception(error)
    assert f"ValueError: it was {MASK}" in text
    assert "in fail" in text
    assert SECRET not in text


def test_unprintable_error_is_reported(redaction):
    class OfflineError(Exception):
        def __str__(self) -> str:
            raise RuntimeError(SECRET)

    assert SECRET not in redaction.format_exception(OfflineError(SECRET))


HOOKS = ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook"))


def test_hooks_of_the_program_stay(redaction, monkeypatch):
    """Errors in threads and finalizers failed no test any more once a desk had been opened."""
    hooks = [Mock(), Mock(), Mock()]
    for (owner, name), hook in zip(HOOKS, hooks, strict=True):
        monkeypatch.setattr(owner, name, hook)
    redact_crashes(redaction)
    assert [getattr(owner, name) for owner, name in HOOKS] == hooks


def test_uncaught_errors_are_redacted(redaction, monkeypatch, capsys):
    for owner, name in HOOKS:
        monkeypatch.setattr(owner, name, getattr(owner, f"__{name}__"))
    redact_crashes(redaction)
    sys.excepthook(ValueError, ValueError(SECRET), None)
    thread = threading.Thread(target=lambda: json.loads(f"no JSON {SECRET}") or int(SECRET))
    thread.start()
    thread.join()
    output = capsys.readouterr().err
    assert f"ValueError: {MASK}" in output
    assert "JSONDecodeError" in output
    assert SECRET not in output


async def test_vault_registers_secrets_for_redaction(tmp_path):
    after_save, after_load = Redaction(), Redaction()
    await make_encrypted_vault(tmp_path, known=after_save).save(SECRET_NAME, PLANTED_SECRETS)
    await make_encrypted_vault(tmp_path, known=after_load).load(SECRET_NAME)
    for redaction in (after_save, after_load):
        assert redaction.redact(f"{SECRET} {PLANTED_SECRETS['password']} {PASSPHRASE}") == f"{MASK} {MASK} {MASK}"


CRASHING_PROGRAM = """
import asyncio, logging, os, sys
from pathlib import Path
from vault_fixtures import PLANTED_SECRETS, SECRET_NAME, make_encrypted_vault
from copydesk.credentials.log_redaction import redact_crashes, redact_logs
from copydesk.text.redaction import DEFAULT_REDACTION

async def main():
    redact_logs(), redact_crashes()
    logging.basicConfig(level=logging.DEBUG)
    vault = make_encrypted_vault(Path(sys.argv[1]), known=DEFAULT_REDACTION)
    await vault.save(SECRET_NAME, PLANTED_SECRETS)
    loaded = await vault.load(SECRET_NAME)
    logging.getLogger("any").warning("%s", dict(loaded))
    print(Path("/proc/self/cmdline").read_bytes() if Path("/proc/self").exists() else b"")
    try:
        raise ValueError(loaded["refresh"])
    except ValueError as error:
        raise RuntimeError(str(dict(loaded))) from error

asyncio.run(main())
"""


def test_crashing_process_leaks_no_secret(tmp_path):
    command = [sys.executable, "-X", "dev", "-c", CRASHING_PROGRAM, str(tmp_path)]
    process = subprocess.run(command, capture_output=True, timeout=60, check=False)
    output = (process.stdout + process.stderr).decode()
    assert process.returncode == 1
    assert "RuntimeError" in output
    assert MASK in output
    files = [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    for secret in (*PLANTED_SECRETS.values(), PASSPHRASE):
        assert secret not in output
        assert all(secret.encode().decode("latin-1") not in content for content in files)


OPENING_PROGRAM = """
import asyncio, logging, sys
from pathlib import Path
from copydesk.desk import open_desks
from copydesk.settings import load

async def main():
    logging.basicConfig()
    variables = {"COPYDESK_DATABASE__PASSWORD": "planted-password", "COPYDESK_IMAGES_A__KEY": "planted-key"}
    settings = load(variables, Path(sys.argv[1]))
    for factory in (logging.getLogRecordFactory(), logging.LogRecord):
        logging.setLogRecordFactory(factory)
        async with open_desks(settings):
            logging.getLogger("any").warning("%s %s", settings.database.password, settings.images_a.key)

asyncio.run(main())
"""


def test_secrets_of_the_settings_are_redacted_once_a_desk_is_open(tmp_path):
    command = [sys.executable, "-c", OPENING_PROGRAM, str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert process.stderr == f"WARNING:any:{MASK} {MASK}\n" * 2


CRASHING_DESK = """
import asyncio, sys
from pathlib import Path
from copydesk.desk import open_desks
from copydesk.settings import load

async def main():
    settings = load({"COPYDESK_DATABASE__PASSWORD": "planted-password"}, Path(sys.argv[1]))
    async with open_desks(settings):
        raise RuntimeError(settings.database.password)

asyncio.run(main())
"""


def test_crash_before_the_vault_is_opened_leaks_no_secret_of_the_settings(tmp_path):
    command = [sys.executable, "-c", CRASHING_DESK, str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 1
    assert process.stderr.endswith(f"RuntimeError: {MASK}\n")


@pytest.mark.parametrize("password", ["copydesk", "db.example"])
def test_password_that_is_a_word_of_the_product_or_url_is_left_in_messages(monkeypatch, tmp_path, password):
    redaction = Redaction()
    monkeypatch.setattr("copydesk.credentials.log_redaction.DEFAULT_REDACTION", redaction)
    url = "postgresql://ada@db.example/desk"
    redact_secrets(load({"COPYDESK_DATABASE__URL": url, "COPYDESK_DATABASE__PASSWORD": password}, tmp_path))
    message = f"Cannot reach {url}. Run: copydesk doctor"
    assert redaction.redact(message) == message


def test_crash_during_interpreter_shutdown_prints_no_other_error():
    # The interpreter clears a module's names one by one, those of the hook's own module among them.
    program = """
from copydesk.credentials import log_redaction

class Late:
    def __del__(self):
        raise ValueError("late")

log_redaction.redact_crashes()
log_redaction.late = Late()
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert process.stderr == ""


@pytest.mark.parametrize(
    ("user", "redacted"),
    [
        ("ada:correct:horse-battery", "http://ada:•••@proxy.example"),
        ("correct-horse-battery", "http:•••@proxy.example"),
    ],
)
def test_secret_of_a_proxy_is_redacted(tmp_path, monkeypatch, user, redacted):
    redaction = Redaction()
    monkeypatch.setattr("copydesk.credentials.log_redaction.DEFAULT_REDACTION", redaction)
    redact_secrets(load({"COPYDESK_NETWORK__PROXY": f"http://{user}@proxy.example:3128"}, tmp_path))
    assert redaction.redact(f"http://{user}@proxy.example") == redacted
